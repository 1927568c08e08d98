import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { Answer } from "../../support/api-server.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import {
  cancelSessions,
  emit,
  endTurn,
  getSession,
  holdSession,
  receiveInput,
  records,
  send,
  sessionKnows,
  startSession,
} from "../../support/session-scene.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** A session whose turn has begun, with what its worker holds. */
async function liveSession(body: object = {}): Promise<{ session: Json; lease: HeldLease }> {
  const session = await startSession(scene, body);
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, session.current_run_id);
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return { session, lease };
}

const receive = (lease: HeldLease, ...positions: number[]): Promise<Json[]> =>
  receiveInput(scene, lease, ...positions);

const withdraw = (session: Json, sequence: number | string, stream = "input"): Promise<Answer> =>
  scene.call("DELETE", `/api/sessions/${session.id}/inputs/${stream}/${sequence}`);

async function unreceived(session: Json): Promise<unknown[]> {
  const page = await records(scene, `/api/sessions/${session.id}/inputs/input?received=false`);
  return page.records.map(({ data }: Json) => data);
}

const codeOf = ({ status, body }: Answer): string => (status < 400 ? String(status) : body.error.code);

describe("the disposition of an input", () => {
  test("is queued while a turn is live, delivered to a run that waits, and started when it begins a turn", async () => {
    const { session, lease } = await liveSession();
    assert.equal((await send(scene, session, "one")).body.disposition, "queued");
    assert.deepEqual(await receive(lease, 1), [[1, "one"]]);
    assert.deepEqual(await receive(lease, 2), []);
    assert.equal((await send(scene, session, "two")).body.disposition, "delivered");
    assert.equal((await send(scene, session, "three")).body.disposition, "queued");
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, lease.runId);
    await endTurn(scene, session);
    assert.equal((await send(scene, session, "four")).body.disposition, "started");
    assert.equal((await send(scene, session, "five")).body.disposition, "queued");
  });

  test("is each record's own in a batch, and on both families by id and external id", async () => {
    const { session, lease } = await liveSession({ external_id: "batched" });
    assert.deepEqual(await receive(lease, 1, 2), []);
    const batch = { records: [{ data: 1 }, { data: 2 }, { data: 3 }] };
    const sent = await scene.call("POST", `/v1/sessions/by-external-id/inputs?external_id=batched`, {
      body: batch,
    });
    assert.deepEqual(
      sent.body.records.map(({ disposition }: Json) => disposition),
      ["delivered", "delivered", "queued"],
    );
    const one = await scene.call("POST", `/v1/sessions/${session.id}/inputs`, { body: { data: 4 } });
    assert.equal(one.body.disposition, "queued");
    assert.equal("disposition" in (await emit(scene, session, "answer")).body, false);
    const page = await records(scene, `/api/sessions/${session.id}/inputs/input`);
    assert.equal(
      page.records.some((record: Json) => "disposition" in record),
      false,
    );
  });

  test("of a repeat says started when the first did, and otherwise what the record is now", async () => {
    const session = await startSession(scene);
    await endTurn(scene, session);
    const again = async (data: string): Promise<string> =>
      (await send(scene, session, data, { idempotency_key: `of ${data}` })).body.disposition;
    assert.deepEqual([await again("one"), await again("one")], ["started", "started"]);
    assert.deepEqual([await again("more"), await again("more")], ["queued", "queued"]);
    const lease = await scene.worker.takeOne();
    assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
    assert.deepEqual(await receive(lease, 1), [[1, "one"]]);
    assert.deepEqual(await receive(lease, 2), [[2, "more"]]);
    assert.deepEqual([await again("one"), await again("more")], ["started", "delivered"]);
    const { body } = await send(scene, session, "two", { idempotency_key: "other" });
    assert.equal((await withdraw(session, body.sequence)).status, 200);
    const repeat = await send(scene, session, "two", { idempotency_key: "other" });
    assert.deepEqual([repeat.body.data, "disposition" in repeat.body], [null, false]);
    assert.match(repeat.body.withdrawn_at, /^20/);
  });
});

describe("withdrawn input", () => {
  test("stays with its number and without data, and no run receives it", async () => {
    const { session, lease } = await liveSession({ input: "one" });
    for (const data of ["two", "three", "four"]) await send(scene, session, data);
    assert.deepEqual(await unreceived(session), ["one", "two", "three", "four"]);
    const gone = await withdraw(session, 2);
    assert.equal(gone.status, 200, gone.text);
    assert.partialDeepStrictEqual(gone.body, { sequence: 2, data: null, stream: "input" });
    assert.match(gone.body.withdrawn_at, /^20/);
    assert.deepEqual((await withdraw(session, 2)).body, gone.body);
    assert.deepEqual(await unreceived(session), ["one", "three", "four"]);

    assert.deepEqual(await receive(lease, 1), [[1, "one"]]);
    assert.equal(codeOf(await withdraw(session, 1)), "already_received");
    assert.deepEqual(await receive(lease, 2, 3), [
      [2, "three"],
      [3, "four"],
    ]);
    assert.deepEqual((await withdraw(session, 2)).body, gone.body);
    assert.deepEqual(await unreceived(session), []);
    const page = await records(scene, `/api/sessions/${session.id}/inputs/input`);
    assert.deepEqual(
      page.records.map(({ sequence, data, withdrawn_at }: Json) => [sequence, data, withdrawn_at]),
      [
        [1, "one", undefined],
        [2, null, gone.body.withdrawn_at],
        [3, "three", undefined],
        [4, "four", undefined],
      ],
    );
  });

  test("is passed over by a run that begins to wait, and by one that waits for what comes next", async () => {
    const { session, lease } = await liveSession();
    await send(scene, session, "one");
    await send(scene, session, "two");
    assert.equal((await withdraw(session, 1)).status, 200);
    assert.equal((await withdraw(session, 2)).status, 200);
    assert.deepEqual(await receive(lease, 1), []);
    assert.equal((await send(scene, session, "three")).body.disposition, "delivered");
    const { resumptions } = await scene.worker.lease({ limit: 0, wait: "2s" });
    assert.deepEqual(
      resumptions[0].waits.map(({ value }: Json) => [value.sequence, value.data]),
      [[3, "three"]],
    );
  });

  test("starts no turn", async () => {
    const { session, lease } = await liveSession();
    await send(scene, session, "during");
    assert.equal((await withdraw(session, 1)).status, 200);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, lease.runId);
    const idle = await getSession(scene, session.id);
    assert.deepEqual([idle.turn, idle.activity], [1, "idle"]);
    await send(scene, session, "next");
    const next = await scene.worker.takeOne();
    assert.deepEqual(await scene.worker.report(next.operation("start")), [200]);
    assert.deepEqual(await receive(next, 1), [[1, "next"]]);
  });

  test("starts none beside input that the turn had from its beginning, and other input does", async () => {
    const { session, lease } = await liveSession({ input: "of the turn" });
    await send(scene, session, "during");
    await send(scene, session, "during as well");
    assert.equal((await withdraw(session, 2)).status, 200);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, lease.runId);
    assert.equal((await getSession(scene, session.id)).turn, 2);
    const second = await scene.worker.takeOne();
    assert.equal((await withdraw(session, 3)).status, 200);
    await scene.worker.finish(second);
    await sessionKnows(scene, second.runId);
    assert.equal((await getSession(scene, session.id)).activity, "idle");
  });

  test("is named by stream, on both families and by external id", async () => {
    const { session } = await liveSession({ external_id: "withdrawing" });
    for (const data of [1, 2, 3, 4]) await send(scene, session, data);
    await scene.call("POST", `/api/sessions/${session.id}/inputs/notes`, { body: { data: "note" } });
    const named = "external_id=withdrawing";
    const paths = [
      `/api/sessions/by-external-id/inputs/input/1?${named}`,
      `/v1/sessions/${session.id}/inputs/2`,
      `/v1/sessions/by-external-id/inputs/3?${named}`,
      `/v1/sessions/by-external-id/inputs/1?${named}&stream=notes`,
    ];
    for (const path of paths) assert.equal((await scene.call("DELETE", path)).status, 200, path);
    assert.deepEqual(await unreceived(session), [4]);
    const notes = await records(scene, `/v1/sessions/${session.id}/inputs?stream=notes&received=false`);
    assert.deepEqual(notes.records, []);
    const later = await records(scene, `/api/sessions/${session.id}/inputs/input?received=false&cursor=4`);
    assert.deepEqual([later.records, later.next_cursor], [[], "4"]);
  });

  test("is 404 where nothing is, and 409 on a stream of the other direction", async () => {
    const { session } = await liveSession({ input: 1 });
    await emit(scene, session, "answer");
    assert.equal(codeOf(await withdraw(session, 2)), "not_found");
    for (const sequence of ["0", "-1", "x", "1.5", "9999999999"])
      assert.equal((await withdraw(session, sequence)).status, 404, sequence);
    assert.equal(codeOf(await withdraw(session, 1, "unknown")), "not_found");
    assert.equal(codeOf(await withdraw(session, 1, "output")), "stream_direction_mismatch");
    assert.equal(codeOf(await withdraw({ id: session.id.replace("sess_0", "sess_1") }, 1)), "not_found");
    const bad = await scene.call("GET", `/api/sessions/${session.id}/inputs/input?received=true`);
    assert.equal(bad.status, 400);
  });
});

describe("input that is not to be queued", () => {
  const rejecting = (session: Json, data: unknown, extra: object = {}): Promise<Answer> =>
    send(scene, session, data, { while_busy: "reject", ...extra });

  test("is refused while a turn is live and nobody waits, and appended by nobody", async () => {
    const { session, lease } = await liveSession();
    const busy = await rejecting(session, "no", { idempotency_key: "k" });
    assert.deepEqual([busy.status, busy.body.error.code], [409, "session_busy"]);
    assert.match(busy.body.error.message, /Turn 1 of the session is live/);
    assert.deepEqual((await records(scene, `/api/sessions/${session.id}/inputs/input`)).records, []);
    assert.deepEqual(await receive(lease, 1), []);
    const taken = await rejecting(session, "yes", { idempotency_key: "k2" });
    assert.deepEqual([taken.status, taken.body.sequence, taken.body.disposition], [201, 1, "delivered"]);
    assert.equal((await rejecting(session, "yes", { idempotency_key: "k2" })).body.sequence, 1);
    assert.equal(codeOf(await rejecting(session, "again")), "session_busy");
    assert.equal((await send(scene, session, "queued", { while_busy: "enqueue" })).status, 201);
    const other = await scene.call("POST", `/api/sessions/${session.id}/inputs/notes`, {
      body: { data: 1, while_busy: "reject" },
    });
    assert.equal(codeOf(other), "session_busy");
  });

  test("starts a turn of an idle session, once of many at once", async () => {
    const session = await startSession(scene);
    await endTurn(scene, session);
    const sent = await Promise.all(Array.from({ length: 8 }, (_, n) => rejecting(session, n)));
    assert.deepEqual(sent.map(codeOf).sort(), ["201", ...Array.from({ length: 7 }, () => "session_busy")]);
    assert.equal(sent.find(({ status }) => status === 201)?.body.disposition, "started");
    assert.equal((await getSession(scene, session.id)).turn, 2);
    assert.equal((await unreceived(session)).length, 1);
  });

  test("is taken between the end of a run and the session's knowing of it: the next turn begins with it", async () => {
    const { session, lease } = await liveSession();
    let sent: Promise<Answer> | null = null;
    await holdSession(scene, session, async () => {
      await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
      sent = rejecting(session, "next");
    });
    const answer = (await (sent as Promise<Answer> | null)) as Answer;
    assert.equal(answer.status, 201, answer.text);
    await sessionKnows(scene, lease.runId);
    assert.equal((await getSession(scene, session.id)).turn, 2);
  });

  test("is of inputs alone", async () => {
    const { session } = await liveSession();
    assert.equal((await emit(scene, session, 1, { while_busy: "reject" })).status, 400);
    assert.equal((await send(scene, session, 1, { while_busy: "stop" })).status, 400);
  });
});
