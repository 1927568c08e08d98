// The state of a session as its run reads and sets it: once, and only under its lease.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, LIMITS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { recordQueries } from "../../support/record-queries.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, holdSession, startSession } from "../../support/session-scene.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

async function begun(): Promise<{ session: Json; lease: HeldLease }> {
  const session = await startSession(scene);
  const lease = await scene.worker.takeOne();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return { session, lease };
}

const get = (lease: HeldLease, position: number): Json =>
  lease.operation("states", { position, action: "get" });
const set = (lease: HeldLease, position: number, state: unknown, expected?: number): Json =>
  lease.operation("states", {
    ...{ position, action: "set", state },
    ...(expected === undefined ? {} : { expected }),
  });

const outcomes = async (...operations: Json[]): Promise<Json[]> =>
  (await scene.worker.results(...operations)).map(({ status, error, result }) => {
    assert.equal(status, 200, JSON.stringify(error));
    return result.error === null ? result.value : [result.error.code, result.value];
  });

const stateOf = async (session: Json): Promise<Json> =>
  (await scene.call("GET", `/api/sessions/${session.id}/state`)).body;
const setByCaller = (session: Json, body: object): Promise<Json> =>
  scene.call("PUT", `/api/sessions/${session.id}/state`, { body });

/** Sets the state while the report of a run waits for that. */
async function holdAndSet(session: Json, state: string, report: () => Promise<Json[]>): Promise<Json[]> {
  const { db } = scene.server;
  let reported: Promise<Json[]> | undefined;
  await holdSession(scene, session, async (tx) => {
    await tx.query(sql`
      UPDATE session_states SET value = ${JSON.stringify(state)}, version = version + 1
      WHERE session_id = ${decodeId("sess", session.id)}`);
    reported = report();
    await until("the report waits", 60_000, async () => {
      const waiting = await db.query(sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      return waiting.length > 0;
    });
  });
  return (await reported) ?? [];
}

describe("the state of its session", () => {
  test("is read and set by a run in the order of its calls, also in one report", async () => {
    const { session, lease } = await begun();
    assert.deepEqual(
      await outcomes(get(lease, 1), set(lease, 2, { n: 1 }, 0), get(lease, 3), set(lease, 4, { n: 2 })),
      [{ state: null, version: 0 }, { version: 1 }, { state: { n: 1 }, version: 1 }, { version: 2 }],
    );
    const { state, version, source, run_id, attempt_number } = await stateOf(session);
    assert.deepEqual([state, version, run_id, attempt_number], [{ n: 2 }, 2, lease.runId, 1]);
    assert.deepEqual(source, { kind: "run", id: lease.runId });
    const { calls } = (await scene.call("GET", `/v1/runs/${lease.runId}/calls`)).body;
    assert.deepEqual(
      calls.map(({ kind, name, value }: Json) => [kind, name, value]),
      [
        ["state", "get", { state: null, version: 0 }],
        ["state", "set", { version: 1 }],
        ["state", "get", { state: { n: 1 }, version: 1 }],
        ["state", "set", { version: 2 }],
      ],
    );
    const kinds = await scene.eventKinds(lease.runId);
    assert.equal(kinds.filter((kind) => kind === "state.updated").length, 2);
  });

  test("is set once by a report that comes twice, which is answered as the first time", async () => {
    const { session, lease } = await begun();
    const report = [get(lease, 1), set(lease, 2, "run", 0), set(lease, 3, "late", 7)];
    const first = await outcomes(...report);
    assert.deepEqual(first, [
      { state: null, version: 0 },
      { version: 1 },
      ["state_conflict", { version: 1 }],
    ]);
    assert.equal((await setByCaller(session, { state: "caller", if_version: 1 })).status, 200);
    assert.deepEqual(await outcomes(...report), first);
    const { state, version } = await stateOf(session);
    assert.deepEqual([state, version], ["caller", 2]);
  });

  test("is compared with what others have set, also with what they are setting meanwhile", async () => {
    const { session, lease } = await begun();
    assert.equal((await setByCaller(session, { state: "before" })).status, 200);
    assert.deepEqual(await outcomes(set(lease, 1, "run", 0)), [["state_conflict", { version: 1 }]]);
    const [reported] = await holdAndSet(session, "meanwhile", () => outcomes(set(lease, 2, "run", 1)));
    assert.deepEqual(reported, ["state_conflict", { version: 2 }]);
    assert.deepEqual(await outcomes(set(lease, 3, "run")), [{ version: 3 }]);
  });

  test("is not set by a lease that was lost, nor read again by the next one", async () => {
    const { session, lease } = await begun();
    assert.deepEqual(await outcomes(get(lease, 1), set(lease, 2, "first")), [
      { state: null, version: 0 },
      { version: 1 },
    ]);
    await scene.worker.report(lease.operation("release", { outcome: "rejected" }));
    const late = await scene.worker.report(set(lease, 3, "late"));
    assert.deepEqual(late, ["lease_lost"]);
    assert.equal((await stateOf(session)).state, "first");
    const next = await scene.worker.takeOne();
    assert.deepEqual(await scene.worker.report(set(lease, 3, "late")), ["lease_lost"]);
    assert.deepEqual(
      next.execution.journal.map(({ kind, name, value }: Json) => [kind, name, value]),
      [
        ["state", "get", { state: null, version: 0 }],
        ["state", "set", { version: 1 }],
      ],
    );
    assert.equal((await stateOf(session)).version, 1);
  });

  test("is set by a run that finishes after its session was closed", async () => {
    const { session, lease } = await begun();
    await scene.call("POST", `/api/sessions/${session.id}/close`);
    assert.deepEqual(await outcomes(set(lease, 1, "at the end")), [{ version: 1 }]);
    assert.equal((await stateOf(session)).state, "at the end");
  });

  test("is not there for a run without a session, and not larger than its limit", async () => {
    const plain = await scene.leased();
    await scene.worker.report(plain.operation("start"));
    assert.deepEqual(await scene.worker.report(get(plain, 1)), ["invalid_state"]);
    await scene.worker.report(plain.operation("release", { outcome: "succeeded" }));
    const { session, lease } = await begun();
    const report = await scene.worker.report(set(lease, 1, "x".repeat(LIMITS.sessionStateBytes - 1)));
    assert.deepEqual(report, ["payload_too_large"]);
    assert.equal((await stateOf(session)).version, 0);
  });

  test("costs reports without it no statement", async () => {
    const { lease } = await begun();
    const queries = await recordQueries(async () => {
      await scene.worker.report(
        lease.operation("steps", { entries: [{ position: 1, kind: "step", name: "a", value: 1 }] }),
        lease.operation("outputs", { position: 2, stream: "output", records: [{ data: 1 }] }),
      );
    });
    assert.deepEqual(
      queries.filter(({ text }) => text.includes("session_states")),
      [],
    );
  });
});
