import assert from "node:assert/strict";
import { test } from "node:test";
import { MESSAGE_CONTENT_TYPE } from "@keelson/contract";
import { joinMessages, messageEndOf, type RecordOf, type StreamMessage } from "@keelson/sdk/client";

const record = (sequence: number, messageId: string | null, data: unknown): RecordOf<unknown> => ({
  id: `rec_${sequence}`,
  sessionId: "sess_1",
  stream: "output",
  sequence,
  data,
  contentType: null,
  correlationId: null,
  messageId,
  source: { kind: "run", id: "run_1" },
  runId: "run_1",
  attemptNumber: 1,
  createdAt: "2026-11-20T09:15:00.123Z",
});

async function join(...records: RecordOf<unknown>[]): Promise<StreamMessage[]> {
  async function* all() {
    yield* records;
  }
  const messages: StreamMessage[] = [];
  for await (const message of joinMessages(all())) messages.push(message);
  return messages;
}

test("the pieces of a message are joined as they come, also when another one is written at the same time", async () => {
  const messages = await join(
    record(1, "a", "Hel"),
    record(2, "b", "Good "),
    record(3, "a", "lo"),
    record(4, null, "by itself"),
    record(5, "b", "day"),
  );
  assert.deepEqual(
    messages.map(({ id, text, first, last }) => [id, text, first.sequence, last.sequence]),
    [
      ["a", "Hel", 1, 1],
      ["b", "Good ", 2, 2],
      ["a", "Hello", 1, 3],
      ["rec_4", "by itself", 4, 4],
      ["b", "Good day", 2, 5],
    ],
  );
});

test("a message is open until its end has come, which is no piece of it", async () => {
  const end = (sequence: number, messageId: string, status: string): RecordOf<unknown> => ({
    ...record(sequence, messageId, { event: "ended", message_id: messageId, status }),
    contentType: MESSAGE_CONTENT_TYPE,
  });
  const messages = await join(
    end(1, "before", "complete"),
    record(2, "a", "Hel"),
    record(3, "b", "x"),
    end(4, "a", "interrupted"),
    record(5, null, "alone"),
    end(6, "b", "complete"),
  );
  assert.deepEqual(
    messages.map(({ id, text, status, last }) => [id, text, status, last.sequence]),
    [
      ["a", "Hel", "open", 2],
      ["b", "x", "open", 3],
      ["a", "Hel", "interrupted", 2],
      ["rec_5", "alone", "complete", 5],
      ["b", "x", "complete", 3],
    ],
  );
  assert.deepEqual([end(1, "a", "failed"), record(2, "a", { status: "failed" })].map(messageEndOf), [
    "failed",
    null,
  ]);
});

test("a message with a piece that is no text has its pieces, and no text", async () => {
  const messages = await join(record(1, "a", { n: 1 }), record(2, "a", "x"));
  const last = messages.at(-1);
  assert.deepEqual([last?.text, last?.pieces], [null, [{ n: 1 }, "x"]]);
});

test("no more than a hundred messages are kept", async () => {
  const ids = Array.from({ length: 101 }, (_, index) => `m${index}`);
  const messages = await join(
    ...ids.map((id, index) => record(index + 1, id, "1")),
    record(102, "m1", "2"),
    record(103, "m0", "2"),
  );
  assert.deepEqual(
    messages.slice(-2).map(({ id, text }) => [id, text]),
    [
      ["m1", "12"],
      ["m0", "2"],
    ],
  );
});

test("pieces that count no more are left out", async () => {
  const told = (sequence: number, data: object): RecordOf<unknown> => ({
    ...record(sequence, "a", { message_id: "a", ...data }),
    contentType: MESSAGE_CONTENT_TYPE,
  });
  const messages = await join(
    told(1, { event: "started" }),
    record(2, "a", "Hel"),
    record(3, "a", { tool: 1 }),
    record(4, "a", "lo"),
    told(5, { event: "voided", from_sequence: 3, to_sequence: 3 }),
    record(6, "a", "!"),
    told(7, { event: "voided", from_sequence: 6, to_sequence: null }),
    told(8, { event: "something else" }),
    told(9, { event: "ended", status: "complete" }),
  );
  assert.deepEqual(
    messages.map(({ text, pieces, status }) => [text, pieces.length, status]),
    [
      ["Hel", 3, "open"],
      [null, 3, "open"],
      [null, 3, "open"],
      ["Hello", 3, "open"],
      ["Hello!", 3, "open"],
      ["Hello", 2, "open"],
      ["Hello", 2, "complete"],
    ],
  );
});
