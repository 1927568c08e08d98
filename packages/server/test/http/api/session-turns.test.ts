import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import {
  cancelSessions,
  endTurn,
  getSession,
  holdSession,
  listRunsOf,
  records,
  send,
  sessionKnows,
  startSession,
} from "../../support/session-scene.ts";

const MANIFEST = {
  tasks: [{ id: "plain" }],
  actors: [
    { id: "chat", retry: { max_attempts: 1 } },
    { id: "strict", payload_schema: { type: "object", required: ["topic"] } },
  ],
  queues: [{ name: "narrow", concurrency_limit: 1 }],
};

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

describe("a turn", () => {
  test("is started by input to an idle session, once, however many inputs come at once", async () => {
    const session = await startSession(scene, {
      tags: ["old"],
      priority: 7,
      payload: { a: 1 },
      metadata: { b: 2 },
    });
    await endTurn(scene, session);
    assert.equal((await getSession(scene, session.id)).activity, "idle");
    assert.deepEqual((await listRunsOf(scene, session)).length, 1);
    await scene.call("PATCH", `/api/sessions/${session.id}`, { body: { tags: ["new"] } });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        send(scene, session, n, n % 3 === 0 ? { idempotency_key: `k${n}` } : {}),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.deepEqual(
      answers.map(({ body }) => body.sequence).sort((a: number, b: number) => a - b),
      Array.from({ length: 40 }, (_, n) => n + 1),
    );
    const runs = await listRunsOf(scene, session);
    assert.deepEqual(
      runs.map(({ turn, tags, priority, payload, metadata }) => [turn, tags, priority, payload, metadata]),
      [
        [2, ["new"], 7, null, {}],
        [1, ["old"], 7, { a: 1 }, {}],
      ],
    );
    const now = await getSession(scene, session.id);
    assert.deepEqual([now.turn, now.current_run_id, now.activity], [2, runs[0].id, "queued"]);
  });

  test("takes what it did not receive no further, but what came during it starts the next", async () => {
    const session = await startSession(scene, { input: "first" });
    await endTurn(scene, session);
    assert.equal(
      (await getSession(scene, session.id)).turn,
      1,
      "the input of the turn does not start another",
    );
    await send(scene, session, "second");
    const lease = await scene.worker.takeOne();
    assert.equal((await send(scene, session, "during")).status, 201);
    assert.equal((await getSession(scene, session.id)).turn, 2);
    await scene.worker.finish(lease);
    await sessionKnows(scene, lease.runId);
    const third = await getSession(scene, session.id);
    assert.deepEqual([third.turn, third.activity], [3, "queued"]);
    assert.notEqual(third.current_run_id, lease.runId);
    await endTurn(scene, session);
    const rested = await getSession(scene, session.id);
    assert.deepEqual([rested.turn, rested.activity, rested.status], [3, "idle", "open"]);
  });

  test("begins with input that came between the end of the run and the session's knowing of it", async () => {
    for (const end of [
      (lease: HeldLease) => scene.worker.finish(lease),
      async (lease: HeldLease) => {
        assert.equal((await scene.cancel(lease.runId)).status, 200);
        assert.deepEqual(
          await scene.worker.report(lease.operation("release", { outcome: "cancelled" })),
          [200],
        );
      },
    ]) {
      const session = await startSession(scene, { input: "first" });
      const lease = await scene.worker.takeOne();
      await holdSession(scene, session, async () => {
        await end(lease);
        assert.equal((await send(scene, session, "between")).status, 201);
        assert.equal((await getSession(scene, session.id)).turn, 1);
      });
      await sessionKnows(scene, lease.runId);
      assert.equal((await getSession(scene, session.id)).turn, 2);
      await cancelSessions(scene);
    }
  });

  test("that fails ends the session, with the words of the failure, also when input has come", async () => {
    const session = await startSession(scene, { external_id: "failing", input: "first" });
    const lease = await scene.worker.takeOne();
    await holdSession(scene, session, async () => {
      await scene.worker.finish(lease, "failed", {
        failure: { kind: "application_error", message: "no model", retryable: false },
      });
      assert.equal((await send(scene, session, "too late to tell")).status, 201);
    });
    await sessionKnows(scene, lease.runId);
    const failed = await getSession(scene, session.id);
    assert.deepEqual([failed.status, failed.close_reason, failed.turn], ["failed", "no model", 1]);
    assert.equal((await send(scene, session, 1)).body.error.code, "session_closed");
    await startSession(scene, { external_id: "failing" });
  });

  test("is ended by a late or double word of its run only while it is the newest", async () => {
    const session = await startSession(scene);
    const first = await endTurn(scene, session);
    await send(scene, session, 1);
    const before = await getSession(scene, session.id);
    assert.equal(before.turn, 2);
    for (let again = 0; again < 2; again += 1) {
      await scene.server.db.query(sql`
        INSERT INTO awaited_endings SELECT environment_id, id FROM runs WHERE id = ${decodeId("run", first)}`);
      await sessionKnows(scene, first);
      assert.deepEqual(await getSession(scene, session.id), before);
    }
  });

  test("that is cancelled leaves the session open and idle", async () => {
    const session = await startSession(scene, { input: "first" });
    await scene.cancel(session.current_run_id);
    await sessionKnows(scene, session.current_run_id);
    const idle = await getSession(scene, session.id);
    assert.deepEqual([idle.status, idle.activity, idle.turn], ["open", "idle", 1]);
    await send(scene, session, "next");
    assert.equal((await getSession(scene, session.id)).turn, 2);
  });

  test("that is cancelled leaves no input behind: what came during it begins the next", async () => {
    const session = await startSession(scene, { input: "first" });
    await send(scene, session, "during");
    await scene.cancel(session.current_run_id);
    await sessionKnows(scene, session.current_run_id);
    const next = await getSession(scene, session.id);
    assert.deepEqual([next.status, next.activity, next.turn], ["open", "queued", 2]);
  });

  test("runs the deployment that is current, or the one that the session was pinned to", async () => {
    const pinned = await startSession(scene, {
      deployment_version: (await scene.call("GET", "/v1/deployments/current")).body.version,
    });
    await endTurn(scene, pinned);
    const session = await startSession(scene);
    await endTurn(scene, session);
    const next = await scene.deploy(MANIFEST);
    for (const [one, version] of [
      [session, next.version],
      [pinned, undefined],
    ] as const) {
      await send(scene, one, "go");
      const [latest, first] = await listRunsOf(scene, one);
      assert.equal(latest.deployment_version, version ?? first.deployment_version);
    }
  });

  test("that cannot be started refuses its input and says why, and a later one goes on", async () => {
    const session = await startSession(scene);
    await endTurn(scene, session);
    await scene.deploy({ tasks: [{ id: "plain" }], actors: [] });
    const refused = await send(scene, session, 1, { idempotency_key: "again" });
    assert.deepEqual([refused.status, refused.body.error.code], [409, "invalid_state"]);
    assert.match(refused.body.error.message, /There is no actor "chat" in deployment/);
    assert.deepEqual((await records(scene, `/api/sessions/${session.id}/inputs/input`)).records, []);
    await scene.deploy(MANIFEST);
    const taken = await send(scene, session, 1, { idempotency_key: "again" });
    assert.deepEqual([taken.status, taken.body.sequence], [201, 1]);
    assert.equal((await getSession(scene, session.id)).turn, 2);
  });

  test("needs no payload, which is the first run's, and keeps to the queue's limit", async () => {
    const first = await startSession(scene, { actor: "strict", payload: { topic: 1 }, queue: "narrow" });
    await endTurn(scene, first);
    const other = await startSession(scene, { queue: "narrow" });
    await send(scene, first, "next");
    const item = await getSession(scene, first.id);
    assert.deepEqual([item.turn, item.status_reason.kind], [2, "queue_limit"]);
    await endTurn(scene, other);
    assert.equal((await getSession(scene, first.id)).status_reason.kind, "worker_busy");
  });

  test("started by racing inputs while its session is closed leaves no run behind a refused input", async () => {
    for (let round = 0; round < 8; round += 1) {
      const session = await startSession(scene);
      await endTurn(scene, session);
      const [closed, ...sent] = await Promise.all([
        scene.call("POST", `/api/sessions/${session.id}/close`),
        ...Array.from({ length: 6 }, (_, n) => send(scene, session, n)),
      ]);
      assert.equal(closed.status, 200);
      const taken = sent.filter(({ status }) => status === 201).length;
      assert.deepEqual(
        sent.filter(({ status }) => status !== 201).map(({ body }) => body.error.code),
        Array.from({ length: 6 - taken }, () => "session_closed"),
      );
      const page = await records(scene, `/api/sessions/${session.id}/inputs/input`);
      assert.equal(page.records.length, taken);
      assert.equal((await listRunsOf(scene, session)).length, taken > 0 ? 2 : 1);
      await cancelSessions(scene);
    }
  });
});
