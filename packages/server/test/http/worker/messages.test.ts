// Messages of runs: they begin with their first piece, and end once, whatever ends them.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { newMessageId } from "../../../../sdk/src/client/random.ts";
import { outlastLeases } from "../../support/outlast-leases.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { until } from "../../support/until.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, send, sessionKnows, startSession } from "../../support/session-scene.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const newId = newMessageId;

async function begun(body: object = {}): Promise<{ session: Json; lease: HeldLease }> {
  const session = await startSession(scene, { input: "hi", ...body });
  const lease = await scene.worker.takeOne();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return { session, lease };
}

type Fields = { begins?: true; ends?: string; stream?: string };
const write = (
  lease: HeldLease,
  id: string | undefined,
  pieces: unknown[],
  { begins, ends, stream = "output" }: Fields = {},
): Json =>
  lease.operation("outputs", {
    position: null,
    stream,
    ...(id !== undefined && {
      message: { id, ...(begins && { begins }), ...(ends !== undefined && { ends }) },
    }),
    records: pieces.map((data) => ({ data, correlation_id: "q" })),
  });

async function messagesOf(session: Json, query = ""): Promise<Json[]> {
  const { status, body, text } = await scene.call("GET", `/v1/sessions/${session.id}/messages${query}`);
  assert.equal(status, 200, text);
  return body.messages;
}

/** The records of a stream as `data`, ends of messages as `end of … status`. */
async function said(session: Json, stream = "output"): Promise<string[]> {
  const { body } = await scene.call("GET", `/v1/sessions/${session.id}/outputs/read?stream=${stream}`);
  return body.records.map(({ data, content_type, message_id }: Json) => {
    if (content_type !== "application/vnd.keelson.message+json") return JSON.stringify(data);
    assert.deepEqual([data.event, data.message_id], ["ended", message_id]);
    return `${message_id} ${data.status}`;
  });
}

describe("a message", () => {
  test("is open from its first piece to its end, and then has all of it", async () => {
    const { session, lease } = await begun();
    const id = newId();
    assert.deepEqual(await scene.worker.report(write(lease, id, ["It ", "is "], { begins: true })), [200]);
    const [open] = await messagesOf(session);
    assert.deepEqual(
      [
        open.id,
        open.status,
        open.data,
        open.first_sequence,
        open.last_sequence,
        open.ended_at,
        open.correlation_id,
      ],
      [id, "open", null, 1, null, null, "q"],
    );
    const other = write(lease, undefined, ["aside"]);
    const last = write(lease, id, ['"here".']);
    const ending = write(lease, id, [], { ends: "complete" });
    assert.deepEqual(await scene.worker.report(other, last, ending), [200, 200, 200]);
    assert.deepEqual(await scene.worker.report(ending), [200], "a repeat is answered, and does nothing");
    const [ended] = await messagesOf(session);
    assert.deepEqual(
      [
        ended.status,
        ended.data,
        ended.first_sequence,
        ended.last_sequence,
        ended.run_id,
        ended.attempt_number,
      ],
      ["complete", 'It is "here".', 1, 4, lease.runId, 1],
    );
    assert.deepEqual(await said(session), ['"It "', '"is "', '"aside"', '"\\"here\\"."', `${id} complete`]);
  });

  test("may begin and end in one report, in one operation, beside another", async () => {
    const { session, lease } = await begun();
    const [one, two] = [newId(), newId()];
    assert.deepEqual(
      await scene.worker.report(
        write(lease, one, [{ n: 1 }], { begins: true }),
        write(lease, two, ["a", "b"], { begins: true, ends: "failed" }),
        write(lease, one, [{ n: 2 }, "text"], { ends: "complete" }),
      ),
      [200, 200, 200],
    );
    const messages = new Map((await messagesOf(session)).map((message) => [message.id, message]));
    assert.deepEqual(
      [messages.get(one).status, messages.get(one).data],
      ["complete", [{ n: 1 }, { n: 2 }, "text"]],
    );
    assert.deepEqual([messages.get(two).status, messages.get(two).data], ["failed", "ab"]);
    assert.deepEqual((await said(session)).slice(-4), [
      `${two} failed`,
      '{"n":2}',
      '"text"',
      `${one} complete`,
    ]);
  });

  test("of too many bytes has no data of its own", async () => {
    const { session, lease } = await begun();
    const id = newId();
    const piece = "x".repeat(200 * 1024);
    await scene.worker.report(
      write(lease, id, [piece, piece], { begins: true }),
      write(lease, id, [piece], { ends: "complete" }),
    );
    const [message] = await messagesOf(session);
    assert.deepEqual([message.status, message.data], ["complete", null]);
  });

  test("that makes no sense is refused, and nothing of it is written", async () => {
    const { session, lease } = await begun();
    const id = newId();
    const refused = async (operation: Json, code: string): Promise<void> =>
      assert.deepEqual(await scene.worker.report(operation), [code]);
    // A refused operation takes no number: each is the next one.
    const next = (operation: Json): Json => ({ ...operation, sequence: 2 });
    await refused(next(write(lease, id, [], { ends: "complete" })), "invalid_state");
    await refused(next(write(lease, id, [])), "invalid_request");
    await refused(next(write(lease, id, [], { begins: true, ends: "complete" })), "invalid_request");
    assert.deepEqual(await scene.worker.report(next(write(lease, id, ["a"], { begins: true }))), [200]);
    await refused({ ...write(lease, id, ["a"], { begins: true }), sequence: 3 }, "invalid_state");
    assert.deepEqual(await said(session), ['"a"']);
  });

  test("whose id another one has takes nothing from that one", async () => {
    const { session, lease } = await begun();
    const id = newId();
    await scene.worker.report(write(lease, id, ["mine"], { begins: true }));
    const other = await begun();
    await scene.worker.report(
      write(other.lease, id, ["theirs"], { begins: true }),
      write(other.lease, id, [], { ends: "failed" }),
    );
    assert.deepEqual(
      (await messagesOf(session)).map(({ status }) => status),
      ["open"],
    );
    assert.deepEqual(await messagesOf(other.session), []);
  });
});

describe("a message that its code does not end", () => {
  const ends: [how: string, status: string, end: (lease: HeldLease) => Promise<unknown>][] = [
    [
      "ends as failed when its run fails",
      "failed",
      (lease) =>
        scene.worker.report(
          lease.operation("release", {
            outcome: "failed",
            failure: { kind: "application_error", message: "no", retryable: false },
          }),
        ),
    ],
    [
      "ends as failed when its run ends without it",
      "failed",
      (lease) => scene.worker.report(lease.operation("release", { outcome: "succeeded" })),
    ],
    [
      "ends as interrupted when its run is cancelled",
      "interrupted",
      async (lease) => {
        await scene.cancel(lease.runId);
        await scene.worker.report(lease.operation("release", { outcome: "cancelled" }));
      },
    ],
  ];
  for (const [how, status, end] of ends)
    test(how, async () => {
      const { session, lease } = await begun();
      const id = newId();
      await scene.worker.report(write(lease, id, ["half"], { begins: true }));
      await end(lease);
      await sessionKnows(scene, lease.runId);
      const [message] = await messagesOf(session);
      assert.deepEqual([message.status, message.data, message.last_sequence], [status, "half", 1]);
      assert.deepEqual(await said(session), ['"half"', `${id} ${status}`]);
    });

  test("ends before its stream is over, also when the session has been cancelled", async () => {
    const { session, lease } = await begun();
    const id = newId();
    await scene.worker.report(write(lease, id, ["half"], { begins: true }));
    const item = decodeId("run", lease.runId);
    // As if nobody had come to the end of the run yet.
    await scene.server.db.query(sql`
      INSERT INTO loop_failures (loop, environment_id, item_id, failures, cause, first_failed_at, last_failed_at, retry_at)
      SELECT 'settle-endings', environment_id, ${item}, 1, 'held', now(), now(), now() + interval '1 day'
      FROM runs WHERE id = ${item}::uuid`);
    await scene.call("POST", `/v1/sessions/${session.id}/cancel`);
    assert.deepEqual(await scene.worker.report(lease.operation("release", { outcome: "cancelled" })), [200]);
    const read = async (): Promise<Json> =>
      (await scene.call("GET", `/v1/sessions/${session.id}/outputs/read?wait=0s`)).body;
    const [before, { status }] = [await read(), await scene.get(lease.runId)];
    assert.deepEqual([status, before.records.length, before.ended], ["cancelled", 1, false]);
    await scene.server.db.query(sql`DELETE FROM loop_failures WHERE item_id = ${item}`);
    await until("the stream is over", 60_000, async () => (await read()).ended);
    assert.deepEqual(await said(session), ['"half"', `${id} interrupted`]);
  });

  test("ends before the next turn writes", async () => {
    const { session, lease } = await begun();
    const [first, second] = [newId(), newId()];
    await scene.worker.report(write(lease, first, ["half"], { begins: true }));
    assert.equal((await send(scene, session, "again")).status, 201);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, lease.runId);
    const next = await scene.worker.takeOne();
    await scene.worker.report(
      next.operation("start"),
      write(next, second, ["whole"], { begins: true, ends: "complete" }),
    );
    assert.deepEqual(await said(session), ['"half"', `${first} failed`, '"whole"', `${second} complete`]);
  });

  test("ends as failed when the next attempt begins one, after its worker was lost", async () => {
    const { session, lease } = await begun({ retry: { max_attempts: 3 } });
    const [lost, again] = [newId(), newId()];
    await scene.worker.report(write(lease, lost, ["half"], { begins: true }));
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    const next = await scene.worker.takeOne();
    assert.equal(next.runId, lease.runId);
    await scene.worker.report(next.operation("start"), write(next, again, ["whole"], { begins: true }));
    assert.deepEqual(await said(session), ['"half"', `${lost} failed`, '"whole"']);
    assert.deepEqual(
      (await messagesOf(session, "?status=open")).map(({ id, attempt_number: number }) => [id, number]),
      [[again, next.execution.run.attempt_number]],
    );
  });
});

describe("the messages of a session", () => {
  test("come newest first, by pages, of one stream or all", async () => {
    const { session, lease } = await begun();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      scene.clock.advance(10);
      const id = newId();
      ids.unshift(id);
      const stream = n % 2 === 0 ? "output" : "thoughts";
      await scene.worker.report(write(lease, id, [String(n)], { begins: true, ends: "complete", stream }));
    }
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body }: Json = await scene.call("GET", `/v1/sessions/${session.id}/messages?limit=2${cursor}`);
      seen.push(...body.messages.map(({ id }: Json) => id));
      cursor = body.next_cursor === null ? null : `&cursor=${encodeURIComponent(body.next_cursor)}`;
    }
    assert.deepEqual(seen, ids);
    const thoughts = await messagesOf(session, "?stream=thoughts");
    assert.deepEqual(
      thoughts.map(({ data }) => data),
      ["3", "1"],
    );
    assert.deepEqual(await messagesOf(session, "?status=open"), []);
    const refused = await scene.call("GET", `/v1/sessions/${session.id}/messages?status=done`);
    assert.equal(refused.status, 400);
  });

  test("come in the order in which they began, also those of one moment, over pages", async () => {
    const { session, lease } = await begun();
    const ids = Array.from({ length: 12 }, newId);
    // One report has one time.
    const all = ids.map((id) => write(lease, id, ["a"], { begins: true, ends: "complete" }));
    assert.deepEqual(
      await scene.worker.report(...all),
      all.map(() => 200),
    );
    const seen: string[] = [];
    let next: string | null = "";
    while (next !== null) {
      const { body } = await scene.call("GET", `/v1/sessions/${session.id}/messages?limit=5${next}`);
      seen.push(...body.messages.map(({ id }: Json) => id));
      next = body.next_cursor === null ? null : `&cursor=${body.next_cursor}`;
    }
    assert.deepEqual(seen, ids.toReversed());
  });

  test("are none of a run's that writes pieces as earlier SDKs do", async () => {
    const { session, lease } = await begun();
    const pieces = lease.operation("outputs", {
      ...{ position: null, stream: "output", message_id: newId() },
      records: [{ data: "a" }, { data: "b" }],
    });
    assert.deepEqual(await scene.worker.report(pieces), [200]);
    assert.deepEqual([await messagesOf(session), await said(session)], [[], ['"a"', '"b"']]);
    const rows = await scene.server.db.query(sql`SELECT FROM messages WHERE run_id IS NULL`);
    assert.deepEqual(rows, []);
  });
});
