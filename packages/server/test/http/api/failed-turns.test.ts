import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import {
  cancelSessions,
  endTurn,
  getSession,
  holdSession,
  listRunsOf,
  receiveInput,
  records,
  send,
  sessionKnows,
  startSession,
} from "../../support/session-scene.ts";
import { until } from "../../support/until.ts";

const RETRY = { max_attempts: 1 };
const MANIFEST = {
  tasks: [{ id: "plain", retry: RETRY }],
  actors: [
    { id: "chat", retry: RETRY, session_on_failure: "keep_open" },
    { id: "strict", retry: RETRY, session_on_failure: "end" },
    { id: "old", retry: RETRY },
  ],
};

const FAILURE = {
  failure: { kind: "application_error", message: "The model provider is down.", retryable: false },
};

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const lastFailure = (runId: string, run: Json) => ({
  run_id: runId,
  code: "application_error",
  message: "The model provider is down.",
  at: run.finished_at,
});

describe("a failed turn of an actor that keeps its sessions open", () => {
  test("leaves the session idle with its last failure, until a later turn succeeds", async () => {
    const session = await startSession(scene, { input: "first" });
    assert.equal(session.last_failure, null);
    const failedId = await endTurn(scene, session, "failed", FAILURE);
    const [failed] = await listRunsOf(scene, session);
    const idle = await getSession(scene, session.id);
    assert.deepEqual([idle.status, idle.activity, idle.close_reason], ["open", "idle", null]);
    assert.deepEqual(idle.last_failure, lastFailure(failedId, failed));

    assert.equal((await send(scene, session, "again")).status, 201);
    const next = await getSession(scene, session.id);
    assert.deepEqual([next.turn, next.activity, next.last_failure], [2, "queued", idle.last_failure]);
    await scene.cancel(next.current_run_id);
    await sessionKnows(scene, next.current_run_id);
    assert.deepEqual((await getSession(scene, session.id)).last_failure, idle.last_failure);

    await send(scene, session, "once more");
    await endTurn(scene, session);
    const well = await getSession(scene, session.id);
    assert.deepEqual([well.turn, well.activity, well.last_failure], [3, "idle", null]);
  });

  test("runs once for each input, and not again without one", async () => {
    const session = await startSession(scene, { input: "first" });
    await endTurn(scene, session, "failed", FAILURE);
    for (let turn = 2; turn <= 4; turn += 1) {
      await send(scene, session, turn);
      await endTurn(scene, session, "failed", FAILURE);
      const idle = await getSession(scene, session.id);
      assert.deepEqual([idle.status, idle.activity, idle.turn], ["open", "idle", turn]);
    }
    assert.equal((await listRunsOf(scene, session)).length, 4);
  });

  test("starts the next turn at once for input that came during it, for all of that together", async () => {
    const session = await startSession(scene, { input: "first" });
    const lease = await scene.worker.takeOne();
    await send(scene, session, "during");
    await send(scene, session, "during it as well");
    await scene.worker.finish(lease, "failed", FAILURE);
    await sessionKnows(scene, lease.runId);
    const second = await getSession(scene, session.id);
    assert.deepEqual([second.turn, second.activity], [2, "queued"]);
    await endTurn(scene, session, "failed", FAILURE);
    const idle = await getSession(scene, session.id);
    assert.deepEqual(
      [idle.turn, idle.activity, idle.last_failure.run_id],
      [2, "idle", second.current_run_id],
    );
  });

  test("starts the next turn for what it left, if it received something of that stream", async () => {
    const session = await startSession(scene, { input: "first" });
    const lease = await scene.worker.takeOne();
    for (const data of ["second", "third"]) await send(scene, session, data);
    const typing = `/api/sessions/${session.id}/inputs/typing`;
    assert.equal((await scene.call("POST", typing, { body: { data: "nobody reads this" } })).status, 201);
    await scene.worker.finish(lease, "failed", FAILURE);
    await sessionKnows(scene, lease.runId);
    for (const [at, data] of ["first", "second", "third"].entries()) {
      const live = await getSession(scene, session.id);
      assert.deepEqual([live.turn, live.activity], [at + 2, "queued"], data);
      const turn = await scene.worker.takeOne();
      assert.deepEqual(await scene.worker.report(turn.operation("start")), [200]);
      assert.deepEqual(await receiveInput(scene, turn, 1), [[1, data]]);
      // A turn that succeeds leaves what it did not receive as one that fails does.
      await scene.worker.report(
        turn.operation("release", at === 1 ? { outcome: "succeeded" } : { outcome: "failed", ...FAILURE }),
      );
      await sessionKnows(scene, turn.runId);
    }
    const idle = await getSession(scene, session.id);
    assert.deepEqual([idle.turn, idle.activity], [4, "idle"]);
  });

  test("that no worker took in time says so", async () => {
    const session = await startSession(scene, { ttl: "1s" });
    scene.clock.advance(2_000);
    await until(
      "the session says why",
      10_000,
      async () => (await getSession(scene, session.id)).last_failure !== null,
    );
    const idle = await getSession(scene, session.id);
    assert.deepEqual([idle.status, idle.activity, idle.last_failure.code], ["open", "idle", "expired"]);
    assert.match(idle.last_failure.message, /No worker took the run/);
  });

  test("is told of late or twice, and counts once", async () => {
    const session = await startSession(scene, { input: "first" });
    const lease = await scene.worker.takeOne();
    await holdSession(scene, session, async () => {
      await scene.worker.finish(lease, "failed", FAILURE);
      assert.equal((await send(scene, session, "between")).status, 201);
      assert.equal((await getSession(scene, session.id)).turn, 1);
    });
    await sessionKnows(scene, lease.runId);
    const second = await getSession(scene, session.id);
    assert.deepEqual([second.turn, second.last_failure.run_id], [2, lease.runId]);
    await endTurn(scene, session);
    const well = await getSession(scene, session.id);
    for (const runId of [lease.runId, second.current_run_id]) {
      await scene.server.db.query(sql`
        INSERT INTO awaited_endings SELECT environment_id, id FROM runs WHERE id = ${decodeId("run", runId)}`);
      await sessionKnows(scene, runId);
      assert.deepEqual(await getSession(scene, session.id), well);
    }
  });

  test("of a session that was closed meanwhile is its last failure as well", async () => {
    const session = await startSession(scene, { input: "first" });
    const lease = await scene.worker.takeOne();
    await scene.call("POST", `/api/sessions/${session.id}/close`);
    await scene.worker.finish(lease, "failed", FAILURE);
    await sessionKnows(scene, lease.runId);
    const closed = await getSession(scene, session.id);
    assert.deepEqual([closed.status, closed.last_failure.run_id], ["closed", lease.runId]);
  });
});

describe("a failed turn ends the session", () => {
  const isEnded = async (session: Json, runId: string): Promise<void> => {
    const ended = await getSession(scene, session.id);
    assert.deepEqual(
      [ended.status, ended.close_reason, ended.last_failure.run_id],
      ["failed", "The model provider is down.", runId],
    );
    assert.equal((await send(scene, session, 1)).body.error.code, "session_closed");
  };

  for (const start of [{ actor: "strict" }, { actor: "old" }, { actor: undefined, task: "plain" }])
    test(`of ${start.actor ?? "a task"}`, async () => {
      const session = await startSession(scene, start);
      await isEnded(session, await endTurn(scene, session, "failed", FAILURE));
    });

  test("as the deployment of its run declares, and not the one that is current by then", async () => {
    const [old, kept] = [await startSession(scene, { actor: "old" }), await startSession(scene)];
    const leases = [await scene.worker.takeOne(), await scene.worker.takeOne()];
    const actors = MANIFEST.actors.map(({ id }) => ({
      id,
      retry: RETRY,
      session_on_failure: id === "chat" ? "end" : "keep_open",
    }));
    await scene.deploy({ ...MANIFEST, actors });
    for (const lease of leases) {
      await scene.worker.finish(lease, "failed", FAILURE);
      await sessionKnows(scene, lease.runId);
    }
    await isEnded(old, old.current_run_id);
    assert.equal((await getSession(scene, kept.id)).status, "open");
    await send(scene, kept, "next");
    await isEnded(kept, await endTurn(scene, kept, "failed", FAILURE));
    await scene.deploy(MANIFEST);
  });

  test("and only actors declare what it does", async () => {
    const refused = await scene.call("POST", "/v1/deployments", {
      body: {
        manifest: { tasks: [{ id: "plain", session_on_failure: "keep_open" }] },
        bundle_digest: "0".repeat(64),
        bundle_format_version: 1,
        worker_protocol_version: 1,
      },
    });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /manifest\.tasks\.0\.session_on_failure/);
    const { actors } = await records(scene, "/api/actors");
    assert.deepEqual(
      Object.fromEntries(actors.map((one: Json) => [one.declared_id, one.session_on_failure])),
      { chat: "keep_open", strict: "end", old: "end" },
    );
  });
});
