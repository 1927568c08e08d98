// The order and the joining of a conversation's records: no browser is needed for this.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { MESSAGE_CONTENT_TYPE, type StreamRecord } from "@keelson/contract";
import fc from "fast-check";
import { createConversation, type Conversation } from "../src/features/sessions/conversation.ts";
import { newSeed } from "../../server/test/support/seeded-random.ts";

fc.configureGlobal({ seed: newSeed() });

type Short = {
  stream?: string;
  sequence: number;
  at?: number;
  data?: unknown;
  correlation?: string | null;
  attempt?: number;
  message?: string | null;
};

const record = ({
  stream = "output",
  sequence,
  at = sequence,
  data = `${stream}${sequence}`,
  correlation = null,
  attempt = 1,
  message = null,
}: Short): StreamRecord => ({
  id: `rec_${stream}_${sequence}`,
  session_id: "sess_1",
  stream,
  sequence,
  data,
  content_type: null,
  correlation_id: correlation,
  message_id: message,
  source: { kind: "run", id: null },
  run_id: "run_1",
  attempt_number: attempt,
  created_at: new Date(at).toISOString(),
});

const INPUT = { name: "input", direction: "input" } as const;
const OUTPUT = { name: "output", direction: "output" } as const;
const HISTORY = { name: "history", direction: "output" } as const;

const keysOf = (conversation: Conversation): string[] =>
  conversation.view().rows.map(({ key }) => key.slice("rec_".length));
const textsOf = (conversation: Conversation): (string | null)[] =>
  conversation.view().rows.map(({ text }) => text);

describe("the order of a conversation", () => {
  test("keeps the place of a record that is no longer what it was", () => {
    const conversation = createConversation();
    conversation.append(INPUT, [
      record({ stream: "input", sequence: 1, at: 1 }),
      record({ stream: "input", sequence: 2, at: 2 }),
    ]);
    const before = conversation.view();
    const first = before.rows[0]?.first as StreamRecord;
    conversation.replace({ ...first, data: null, withdrawn_at: first.created_at });
    assert.deepEqual(keysOf(conversation), ["input_1", "input_2"]);
    assert.equal(conversation.view().rows[0]?.first.withdrawn_at, first.created_at);
    conversation.replace({ ...first, id: "rec_unknown" });
    assert.equal(conversation.view().records, before.records);
  });

  test("is the order of time over all streams, a question before its answer", () => {
    const conversation = createConversation();
    conversation.append(OUTPUT, [record({ sequence: 1, at: 5 }), record({ sequence: 2, at: 9 })]);
    conversation.append(INPUT, [
      record({ stream: "input", sequence: 1, at: 5 }),
      record({ stream: "input", sequence: 2, at: 7 }),
    ]);
    assert.deepEqual(keysOf(conversation), ["input_1", "output_1", "input_2", "output_2"]);
  });

  test("keeps each stream's own order when clocks disagree", () => {
    const conversation = createConversation();
    conversation.append(OUTPUT, [record({ sequence: 1, at: 50 }), record({ sequence: 2, at: 20 })]);
    conversation.append(INPUT, [record({ stream: "input", sequence: 1, at: 30 })]);
    assert.deepEqual(keysOf(conversation), ["input_1", "output_1", "output_2"]);
    conversation.append(OUTPUT, [record({ sequence: 3, at: 40 })]);
    assert.deepEqual(keysOf(conversation), ["input_1", "output_1", "output_2", "output_3"]);
  });

  test("is the same however the records come, each once, and of each stream as it was appended", () => {
    const streams = [INPUT, OUTPUT, HISTORY];
    const times = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 12 });
    fc.assert(
      fc.property(
        fc.tuple(times, times, times),
        fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 5 })), { maxLength: 40 }),
        (all, cuts) => {
          const records = all.map((ats, n) =>
            ats.map((at, index) => record({ stream: streams[n]!.name, sequence: index + 1, at })),
          );
          const whole = createConversation();
          for (const [n, stream] of streams.entries()) whole.append(stream, records[n]!);

          const inPieces = createConversation();
          const at = [0, 0, 0];
          for (const [n, size] of cuts) {
            // A reader that began again sends some of them again.
            inPieces.append(streams[n]!, records[n]!.slice(Math.max(0, at[n]! - 2), at[n]! + size));
            at[n] = Math.min(records[n]!.length, at[n]! + size);
          }
          for (const [n, stream] of streams.entries()) inPieces.append(stream, records[n]!);

          assert.deepEqual(keysOf(inPieces), keysOf(whole));
          for (const { name } of streams) {
            const own = keysOf(whole).filter((key) => key.startsWith(`${name}_`));
            assert.deepEqual(
              own,
              own.map((_, index) => `${name}_${index + 1}`),
            );
          }
        },
      ),
    );
  });

  test("takes up what was before, and says what is there and what is gone", () => {
    const conversation = createConversation();
    conversation.append(OUTPUT, [record({ sequence: 8, at: 80 }), record({ sequence: 9, at: 90 })]);
    conversation.append(INPUT, [record({ stream: "input", sequence: 1, at: 75 })]);
    conversation.prepend(OUTPUT, [
      record({ sequence: 6, at: 70 }),
      record({ sequence: 7, at: 95 }),
      record({ sequence: 8, at: 80 }),
    ]);
    assert.deepEqual(keysOf(conversation), ["output_6", "input_1", "output_7", "output_8", "output_9"]);
    conversation.noteGone(OUTPUT, 5);
    assert.deepEqual(conversation.view().held, [
      { stream: "output", direction: "output", first: 6, last: 9, goneUpTo: 5 },
      { stream: "input", direction: "input", first: 1, last: 1, goneUpTo: 0 },
    ]);
    assert.equal(conversation.lastOf(OUTPUT), 9);
    assert.equal(conversation.lastOf(HISTORY), null);
  });

  test("is told only when something has come", () => {
    const conversation = createConversation();
    let told = 0;
    const forget = conversation.subscribe(() => (told += 1));
    conversation.append(OUTPUT, [record({ sequence: 1 })]);
    const view = conversation.view();
    conversation.append(OUTPUT, [record({ sequence: 1 })]);
    assert.equal(conversation.view(), view);
    forget();
    conversation.append(OUTPUT, [record({ sequence: 2 })]);
    assert.equal(told, 1);
  });
});

describe("what is shown as one", () => {
  const pieces = (texts: readonly Short[]): (string | null)[] => {
    const conversation = createConversation();
    conversation.append(OUTPUT, texts.map(record));
    return textsOf(conversation);
  };
  const cases: [what: string, records: Omit<Short, "sequence">[], rows: (string | null)[]][] = [
    [
      "the texts of one correlation id",
      [
        { data: "Hel", correlation: "a" },
        { data: "lo", correlation: "a" },
      ],
      ["Hello"],
    ],
    [
      "the pieces of a message, whatever else it holds, and another try of it by itself",
      [
        { data: { type: "start" }, message: "one" },
        { data: { type: "text-delta", delta: "Hel" }, message: "one" },
        { data: "Hel", message: "two" },
        { data: { type: "tool", input: { deep: true } }, message: "one", attempt: 2 },
        { data: { type: "text-delta", delta: "lo" }, message: "one" },
        { data: "lo", message: "two" },
        { data: "lo" },
      ],
      ["Hello", "Hello", "lo"],
    ],
    [
      "a message without words",
      [
        { data: [1], message: "one" },
        { data: [2], message: "one" },
      ],
      [null],
    ],
    ["not texts without a correlation id", [{ data: "Hel" }, { data: "lo" }], ["Hel", "lo"]],
    [
      "two answers that are written at once, each",
      [
        { data: "A", correlation: "a" },
        { data: "B", correlation: "b" },
        { data: "a", correlation: "a" },
        { data: "b", correlation: "b" },
      ],
      ["Aa", "Bb"],
    ],
    [
      "not across another kind of record",
      [
        { data: "one", correlation: "a" },
        { data: { done: true }, correlation: "a" },
        { data: "two", correlation: "a" },
      ],
      ["one", null, "two"],
    ],
    [
      "not across attempts",
      [
        { data: "one", correlation: "a" },
        { data: "one", correlation: "a", attempt: 2 },
      ],
      ["one", "one"],
    ],
    [
      "objects that say they are pieces",
      [
        { data: { type: "answer" }, correlation: "a" },
        { data: { type: "piece", text: "I " }, correlation: "a" },
        { data: { type: "piece", text: "can." }, correlation: "a" },
        { data: { type: "answered" }, correlation: "a" },
      ],
      [null, "I can.", null],
    ],
    [
      "not objects that are messages of their own",
      [
        { data: { type: "message", text: "one" }, correlation: "a" },
        { data: { type: "message", text: "two" }, correlation: "a" },
      ],
      ["one", "two"],
    ],
    [
      "no other JSON",
      [
        { data: null, correlation: "a" },
        { data: 1, correlation: "a" },
        { data: ["x"], correlation: "a" },
        { data: { text: 1 }, correlation: "a" },
        { data: { text: "x", more: { deep: true } }, correlation: "a" },
      ],
      [null, null, null, null, null],
    ],
  ];
  for (const [what, records, rows] of cases)
    test(what, () => {
      assert.deepEqual(pieces(records.map((one, index) => ({ ...one, sequence: index + 1 }))), rows);
    });

  test("keeps what a message holds beside its words", () => {
    const conversation = createConversation();
    const tool = { type: "tool", input: { deep: true } };
    const all = ["Hel", tool, "lo"].map((data, index) => record({ sequence: index + 1, data, message: "m" }));
    // Its end is there before its begin, as when a page is opened and one goes back.
    conversation.append(OUTPUT, all.slice(1));
    conversation.prepend(OUTPUT, all.slice(0, 1));
    const [row] = conversation.view().rows;
    assert.deepEqual([row?.text, row?.others, row?.count], ["Hello", [tool], 3]);
  });

  test("leaves out what counts no more, whenever it is read", () => {
    const told = (sequence: number, data: object): StreamRecord => ({
      ...record({ sequence, data, message: "m" }),
      content_type: MESSAGE_CONTENT_TYPE,
    });
    const all = [
      told(1, { event: "started" }),
      record({ sequence: 2, data: "Hel", message: "m" }),
      record({ sequence: 3, data: { tool: 1 }, message: "m" }),
      record({ sequence: 4, data: "lo", message: "m" }),
      told(5, { event: "voided", from_sequence: 3, to_sequence: 3 }),
      record({ sequence: 6, data: "!", message: "m" }),
      told(7, { event: "voided", from_sequence: 6, to_sequence: null }),
      record({ sequence: 8, data: ".", message: "m" }),
      told(9, { event: "ended", status: "complete" }),
    ];
    for (let pages = 0; pages < all.length; pages += 1) {
      const conversation = createConversation();
      conversation.append(OUTPUT, all.slice(pages));
      if (pages > 0) conversation.prepend(OUTPUT, all.slice(0, pages));
      const [row, ...others] = conversation.view().rows;
      assert.deepEqual(
        [row?.text, row?.others, row?.count, row?.end, others],
        ["Hello.", [], 3, "complete", []],
      );
    }
  });

  test("is a chat's answer in its parts, and what was said in another way later is marked", () => {
    const conversation = createConversation();
    const question = (id: string, text: string): unknown => ({
      ...{ id, role: "user", parts: [{ type: "text", text }] },
    });
    const call = { toolCallId: "c" };
    const said: [message: string, data: unknown][] = [
      ["m1", question("a", "Is it up?")],
      ["m2", { type: "text-start", id: "0" }],
      ["m2", { type: "text-delta", id: "0", delta: "I " }],
      ["m2", { type: "text-delta", id: "0", delta: "look." }],
      ["m2", { type: "tool-input-available", ...call, toolName: "ping", input: {} }],
      ["m2", { type: "tool-output-available", ...call, output: "yes" }],
      ["m2", { type: "data-chart", data: [1] }],
      ["m3", question("a", "Is it down?")],
    ];
    conversation.append(
      OUTPUT,
      said.map(([message, data], index) => record({ sequence: index + 1, data, message })),
    );
    const shown = conversation.view().rows.map(({ text, parts, others, isReplaced }) => ({
      ...{ text, others, isReplaced },
      parts: parts.map((part) => (part.kind === "tool" ? [part.tool, part.state, part.output] : part.text)),
    }));
    assert.deepEqual(shown, [
      { text: "Is it up?", others: [], isReplaced: true, parts: [] },
      {
        ...{ text: null, others: [{ type: "data-chart", data: [1] }], isReplaced: true },
        parts: ["I look.", ["ping", "done", "yes"]],
      },
      { text: "Is it down?", others: [], isReplaced: false, parts: [] },
    ]);
  });

  test("stays together when something is said in between", () => {
    const conversation = createConversation();
    conversation.append(OUTPUT, [record({ sequence: 1, at: 1, data: "Hel", correlation: "a" })]);
    conversation.append(INPUT, [record({ stream: "input", sequence: 1, at: 2, data: "Stop" })]);
    conversation.append(OUTPUT, [record({ sequence: 2, at: 3, data: "lo", correlation: "a" })]);
    assert.deepEqual(textsOf(conversation), ["Hello", "Stop"]);
    assert.deepEqual(
      conversation.view().rows.map(({ count }) => count),
      [2, 1],
    );
  });

  test("is a new object when it goes on, and the same when it does not", () => {
    const conversation = createConversation();
    conversation.append(OUTPUT, [
      record({ sequence: 1, data: "x" }),
      record({ sequence: 2, data: "Hel", correlation: "a" }),
    ]);
    const [before, answer] = conversation.view().rows;
    conversation.append(OUTPUT, [record({ sequence: 3, data: "lo", correlation: "a" })]);
    const [same, grown] = conversation.view().rows;
    assert.equal(same, before);
    assert.notEqual(grown, answer);
    assert.equal(grown?.key, answer?.key);
  });

  test("inputs are messages of their own, with the same correlation id too", () => {
    const conversation = createConversation();
    conversation.append(
      INPUT,
      [1, 2].map((sequence) => record({ stream: "input", sequence, data: `${sequence}`, correlation: "a" })),
    );
    assert.deepEqual(textsOf(conversation), ["1", "2"]);
  });
});
