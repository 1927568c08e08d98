// Messages that go on over attempts: their parts, and how a run hears that one was interrupted.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { newMessageId } from "../../../../sdk/src/client/random.ts";
import { sql } from "../../../src/db/sql.ts";
import { outlastLeases, passHeard } from "../../support/outlast-leases.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, send, sessionKnows, startSession } from "../../support/session-scene.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const outputs = (lease: HeldLease, message: object, pieces: unknown[], position: number | null): Json =>
  lease.operation("outputs", {
    ...{ position, stream: "output", message },
    records: pieces.map((data) => ({ data })),
  });
const begin = (lease: HeldLease, id: string, position = 1): Json =>
  outputs(lease, { id, begins: true, spans: true, correlation_id: "q" }, [], position);
const part = (lease: HeldLease, id: string, call: string, ...pieces: unknown[]): Json =>
  outputs(lease, { id, part: call }, pieces, null);
const more = (lease: HeldLease, id: string, ...pieces: unknown[]): Json =>
  outputs(lease, { id }, pieces, null);
const voids = (lease: HeldLease, id: string, step: string): Json =>
  outputs(lease, { id, voids: step }, [], null);
const end = (lease: HeldLease, id: string, position: number, fields: object = {}): Json =>
  outputs(lease, { id, ends: "complete", ...fields }, [], position);
const hear = (lease: HeldLease, id: string, position = 2): Json =>
  lease.operation("waits", {
    waits: [{ position, name: "output", kind: "message", message_id: id, stream: "output" }],
    parked: false,
  });

async function begun(body: object = {}): Promise<{ session: Json; lease: HeldLease; id: string }> {
  const session = await startSession(scene, { input: "hi", ...body });
  const lease = await scene.worker.takeOne();
  const id = newMessageId();
  const [, opened] = await scene.worker.results(lease.operation("start"), begin(lease, id), hear(lease, id));
  assert.deepEqual(opened.result, { value: { message_id: id }, error: null });
  return { session, lease, id };
}

const messagesOf = async (session: Json): Promise<Json[]> =>
  (await scene.call("GET", `/v1/sessions/${session.id}/messages`)).body.messages;

async function interrupt(session: Json, id: string): Promise<string> {
  const { status, body, text } = await scene.call("POST", `/v1/sessions/${session.id}/interrupt`, {
    body: { message_id: id },
  });
  assert.equal(status, 200, text);
  return body.status;
}

/** What the stream says: of what is no piece, its event with what it says besides the message. */
async function said(session: Json): Promise<unknown[]> {
  const { body } = await scene.call("GET", `/v1/sessions/${session.id}/outputs/read?stream=output`);
  return body.records.map(({ data }: Json) => {
    if (typeof data === "string") return data;
    const { event, message_id: _, ...rest } = data;
    return [event, ...Object.values(rest)];
  });
}

const ENDED = { value: { ended: true }, error: null };
const heardIn = (resumptions: Json[]): Json[] =>
  resumptions.flatMap(({ waits }) => waits.map(({ kind, status, value }: Json) => [kind, status, value]));

describe("a message that spans", () => {
  test("begins without a piece, and is open over attempts", async () => {
    const { session, lease, id } = await begun({ retry: { max_attempts: 3 } });
    await scene.worker.report(part(lease, id, "say:1", "a", "b"));
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    const next = await scene.worker.takeOne();
    await scene.worker.report(
      next.operation("start"),
      outputs(next, { id: newMessageId(), begins: true }, ["beside"], null),
      part(next, id, "more:1", "c"),
    );
    const [ended] = await scene.worker.results(end(next, id, 3));
    assert.deepEqual(ended.result, { value: { status: "complete" }, error: null });
    const message = (await messagesOf(session)).find((one) => one.id === id);
    assert.deepEqual([message.status, message.data, message.correlation_id], ["complete", "abc", "q"]);
    assert.deepEqual(await said(session), [["started"], "a", "b", "beside", "c", ["ended", "complete"]]);
    const left = await scene.server.db.query(sql`SELECT FROM message_parts`);
    assert.equal(left.length, 0);
  });

  test("counts no more what another try of a step writes anew, and says so once", async () => {
    const { session, lease, id } = await begun();
    await scene.worker.report(part(lease, id, "a:1", "1", "2"), part(lease, id, "b:1", "3"));
    await scene.worker.report(voids(lease, id, "a"), part(lease, id, "a:1", "4"));
    await scene.worker.report(voids(lease, id, "nothing"), voids(lease, id, "a"));
    await scene.worker.report(part(lease, id, "a:1", "5"), more(lease, id, "6"), end(lease, id, 3));
    const [message] = await messagesOf(session);
    assert.equal(message.data, "356");
    assert.deepEqual(await said(session), [
      ...[["started"], "1", "2", "3", ["voided", 2, 3], "4", ["voided", 6, null], "5", "6"],
      ["ended", "complete"],
    ]);
  });

  test("voids a part only up to the next one, also when that came with the same report", async () => {
    const { session, lease, id } = await begun();
    await scene.worker.report(part(lease, id, "a:1", "1"));
    await scene.worker.report(
      ...[part(lease, id, "b:1", "2", "3"), voids(lease, id, "a"), more(lease, id, "4")],
      ...[part(lease, id, "a:1", "5"), voids(lease, id, "b"), voids(lease, id, "a")],
      ...[part(lease, id, "b:1", "6"), end(lease, id, 3)],
    );
    assert.deepEqual(
      (await said(session)).filter((one) => Array.isArray(one)),
      [["started"], ["voided", 2, 2], ["voided", 3, 6], ["voided", 7, null], ["ended", "complete"]],
    );
    assert.equal((await messagesOf(session))[0].data, "6");
  });

  test("keeps what its end gives", async () => {
    const { session, lease, id } = await begun();
    await scene.worker.report(part(lease, id, "a:1", "x"), end(lease, id, 3, { data: { parts: [1] } }));
    assert.deepEqual((await messagesOf(session))[0].data, { parts: [1] });
  });

  test("ends once, and a repeated report is answered the same", async () => {
    const { session, lease, id } = await begun();
    const report = [part(lease, id, "a:1", "x"), end(lease, id, 3), part(lease, id, "late:1", "y")];
    for (let time = 1; time <= 2; time += 1) {
      const [, ended] = await scene.worker.results(...report);
      assert.deepEqual(ended.result, { value: { status: "complete" }, error: null });
    }
    const [late, again] = await scene.worker.results(part(lease, id, "late:2", "z"), end(lease, id, 4));
    assert.deepEqual(late.result, ENDED);
    assert.deepEqual(again.result, { value: { status: "interrupted" }, error: null });
    assert.deepEqual(await said(session), [["started"], "x", ["ended", "complete"]]);
  });

  test("is no wait that a run is seen in", async () => {
    const { lease } = await begun();
    const wait = { position: 3, name: "for", kind: "timer", timeout: "1h" };
    await scene.worker.report(lease.operation("waits", { waits: [wait], parked: true }));
    const { body } = await scene.call("GET", `/v1/runs/${lease.execution.run.id}`);
    assert.deepEqual([body.status, body.pending_wait.kind], ["waiting", "timer"]);
    const events = (await scene.call("GET", `/v1/runs/${lease.execution.run.id}/events`)).body.events;
    const waits = events.filter(({ kind }: Json) => kind.startsWith("wait."));
    assert.deepEqual(
      waits.map(({ attributes }: Json) => attributes.kind),
      ["timer"],
    );
  });
});

describe("an interrupt of a message that spans", () => {
  test("is heard once by its run, as a settled wait, until the journal has it", async () => {
    const { session, lease, id } = await begun();
    const polled = scene.worker.lease({ wait: "30s" });
    assert.equal(await interrupt(session, id), "interrupting");
    const heard = [["message", "resolved", { interrupted: true }]];
    const { resumptions, interrupts } = await polled;
    assert.deepEqual([heardIn(resumptions), interrupts], [heard, []]);
    assert.equal(await interrupt(session, id), "interrupting");
    assert.deepEqual(heardIn((await scene.worker.renew(lease)).resumptions), heard);
    const accepted = lease.operation("steps", { entries: [{ position: 2, kind: "wait", name: "output" }] });
    await scene.worker.report(accepted, end(lease, id, 3, { ends: "interrupted" }));
    assert.deepEqual((await scene.worker.renew(lease)).resumptions, []);
    assert.equal(await interrupt(session, id), "ended");
    assert.equal((await messagesOf(session))[0].status, "interrupted");
  });

  test("makes a run go on that waits for something else, also in no process", async () => {
    for (const released of [false, true]) {
      const { session, lease, id } = await begun();
      const wait = { position: 3, name: "for", kind: "timer", timeout: "1h" };
      await scene.worker.report(lease.operation("waits", { waits: [wait], parked: true }));
      if (released) await scene.worker.report(lease.operation("release", { outcome: "suspended" }));
      assert.equal(await interrupt(session, id), "interrupting");
      const { execution } = released ? await scene.worker.takeOne() : lease;
      const told = released ? execution.waits : (await scene.worker.renew(lease)).resumptions[0].waits;
      assert.deepEqual(
        told.filter(({ kind }: Json) => kind === "message").map(({ value }: Json) => value),
        [{ interrupted: true }],
      );
      assert.equal((await scene.call("GET", `/v1/runs/${execution.run.id}`)).body.status, "running");
    }
  });

  test("that came before the run asked for it is answered at once", async () => {
    const session = await startSession(scene, { input: "hi" });
    const lease = await scene.worker.takeOne();
    const id = newMessageId();
    await scene.worker.report(lease.operation("start"), begin(lease, id));
    await interrupt(session, id);
    await scene.worker.report(hear(lease, id));
    assert.deepEqual(heardIn((await scene.worker.renew(lease)).resumptions), [
      ["message", "resolved", { interrupted: true }],
    ]);
  });

  test("that the code does not answer ends it after ten seconds, and nothing more of it is taken", async () => {
    const { session, lease, id } = await begun();
    await scene.worker.report(part(lease, id, "a:1", "x"));
    await interrupt(session, id);
    await passHeard(scene, 11_000);
    await until("the message is ended without its code", 60_000, async () =>
      (await messagesOf(session)).every(({ status }) => status !== "open"),
    );
    const results = await scene.worker.results(
      ...[more(lease, id, "late"), part(lease, id, "b:1", "later"), voids(lease, id, "a"), end(lease, id, 3)],
    );
    assert.deepEqual(
      results.map(({ result }) => result.value),
      [{ ended: true }, { ended: true }, { ended: true }, { status: "interrupted" }],
    );
    assert.deepEqual(await said(session), [["started"], "x", ["ended", "interrupted"]]);
    assert.equal((await messagesOf(session))[0].data, "x");
  });

  test("by input stops it, and the input is received", async () => {
    const { session, lease, id } = await begun();
    const sent = await send(scene, session, "no, this", { while_busy: "interrupt" });
    assert.equal(sent.body.disposition, "queued");
    assert.deepEqual(heardIn((await scene.worker.renew(lease)).resumptions), [
      ["message", "resolved", { interrupted: true }],
    ]);
    await scene.worker.report(end(lease, id, 3, { ends: "interrupted" }));
    assert.equal((await messagesOf(session))[0].status, "interrupted");
  });
});

test("the end of its run ends it: interrupted when that was cancelled, else failed", async () => {
  for (const [outcome, status] of [
    ["succeeded", "failed"],
    ["cancelled", "interrupted"],
  ] as const) {
    const { session, lease, id } = await begun();
    await scene.worker.report(part(lease, id, "a:1", "x"));
    if (outcome === "cancelled") await scene.call("POST", `/v1/runs/${lease.execution.run.id}/cancel`);
    await scene.worker.report(lease.operation("release", { outcome }));
    await sessionKnows(scene, lease.runId);
    const [message] = await messagesOf(session);
    assert.deepEqual([message.status, message.data], [status, "x"]);
  }
});

describe("what makes no sense is refused, and changes nothing", () => {
  type Made = (lease: HeldLease, id: string) => Json;
  const spans = { id: newMessageId(), begins: true, spans: true };
  const refused: [string, Made, string][] = [
    ["a beginning that no journal has", (lease) => outputs(lease, spans, [], null), "invalid_request"],
    ["a beginning with a piece", (lease) => outputs(lease, spans, ["x"], 5), "invalid_request"],
    ["no beginning", (lease) => outputs(lease, { ...spans, begins: undefined }, [], 5), "invalid_request"],
    ["a part without a piece", (lease, id) => part(lease, id, "a:1"), "invalid_request"],
    [
      "a void with a piece",
      (lease, id) => outputs(lease, { id, voids: "a" }, ["x"], null),
      "invalid_request",
    ],
    ["data before the end", (lease, id) => outputs(lease, { id, data: 1 }, ["x"], null), "invalid_request"],
    ["another beginning", (lease, id) => begin(lease, id, 6), "invalid_state"],
    [
      "a wait for no message",
      (lease) =>
        lease.operation("waits", { waits: [{ position: 8, name: "m", kind: "message" }], parked: false }),
      "invalid_request",
    ],
  ];
  for (const [what, make, code] of refused)
    test(what, async () => {
      const { session, lease, id } = await begun();
      assert.deepEqual(await scene.worker.report(make(lease, id)), [code]);
      assert.deepEqual(await said(session), [["started"]]);
    });

  for (const [what, make] of [
    ["a part", (lease, id) => part(lease, id, "a:1", "x")],
    ["an end that the journal has", (lease, id) => end(lease, id, 5)],
  ] satisfies [string, Made][])
    test(`${what} of a message that is one pipe`, async () => {
      const { lease } = await begun();
      const other = newMessageId();
      await scene.worker.report(outputs(lease, { id: other, begins: true }, ["one pipe"], null));
      assert.deepEqual(await scene.worker.report(make(lease, other)), ["invalid_state"]);
    });
});
