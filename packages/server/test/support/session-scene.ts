// Sessions as a test holds them: started, fed, and told of the ends of their runs.

import assert from "node:assert/strict";
import { decodeId } from "@keelson/contract";
import type { Tx } from "../../src/db/queryable.ts";
import { sql } from "../../src/db/sql.ts";
import type { Answer } from "./api-server.ts";
import type { HeldLease } from "./raw-worker.ts";
import type { RunScene } from "./run-scene.ts";
import { until } from "./until.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** Creates a session, which must be new. */
export async function startSession(scene: RunScene, body: object = {}): Promise<Json> {
  const answer = await scene.call("POST", "/api/sessions", { body: { actor: "chat", ...body } });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

export async function getSession(scene: RunScene, id: string): Promise<Json> {
  const answer = await scene.call("GET", `/api/sessions/${id}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

export const send = (scene: RunScene, session: Json, data: unknown, extra: object = {}): Promise<Answer> =>
  scene.call("POST", `/api/sessions/${session.id}/inputs/input`, { body: { data, ...extra } });

export const emit = (
  scene: RunScene,
  session: Json,
  data: unknown,
  extra: object = {},
  stream = "output",
): Promise<Answer> =>
  scene.call("POST", `/api/sessions/${session.id}/outputs/${stream}`, { body: { data, ...extra } });

export async function records(scene: RunScene, path: string): Promise<Json> {
  const answer = await scene.call("GET", path);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

/** The runs of a session, the newest first. */
export const listRunsOf = async (scene: RunScene, session: Json): Promise<Json[]> =>
  (await records(scene, `/api/sessions/${session.id}/runs`)).runs;

/** Cancels what is open and live: a run that was only cancelled would leave input behind, which starts the next turn. */
export async function cancelSessions(scene: RunScene): Promise<void> {
  const { sessions } = await records(scene, "/api/sessions?status=open&limit=200");
  for (const { id } of sessions) await scene.call("POST", `/api/sessions/${id}/cancel`);
  await scene.cancelAll();
}

/** Waits until the session knows that its run has ended. */
export async function sessionKnows(scene: RunScene, runId: string): Promise<void> {
  await until("the session to know of the end", 60_000, async () => {
    const left = await scene.server.db.query(sql`
      SELECT FROM awaited_endings WHERE run_id = ${decodeId("run", runId)}`);
    return left.length === 0;
  });
}

/**
 * The run of a lease waits for input at these positions of its journal, and its code takes what comes of it.
 *
 * @returns the positions that have been given a record, each with its data
 */
export async function receiveInput(
  scene: RunScene,
  lease: HeldLease,
  ...positions: number[]
): Promise<[position: number, data: Json][]> {
  const waits = positions.map((position) => ({ position, name: "input", kind: "input", stream: "input" }));
  const [result] = await scene.worker.results(lease.operation("waits", { waits, parked: true }));
  assert.equal(result.status, 200, JSON.stringify(result));
  const settled: Json[] = result.result.waits;
  const entries = settled.map(({ position }) => ({ position, kind: "wait", name: "input" }));
  if (entries.length > 0)
    assert.deepEqual(await scene.worker.report(lease.operation("steps", { entries })), [200]);
  return settled.map(({ position, value }) => [position, value?.data]);
}

/** Keeps the session from learning of the end of its run, or from any other change of it, meanwhile. */
export const holdSession = (scene: RunScene, session: Json, work: (tx: Tx) => Promise<void>): Promise<void> =>
  scene.server.db.transaction(async (tx) => {
    await tx.query(sql`SELECT FROM sessions WHERE id = ${decodeId("sess", session.id)} FOR UPDATE`);
    await work(tx);
  });

/** Takes the session's run and ends it, and waits until the session knows. */
export async function endTurn(
  scene: RunScene,
  session: Json,
  outcome = "succeeded",
  extra: object = {},
): Promise<string> {
  const lease = await scene.worker.takeOne();
  assert.equal(lease.execution.run.session_id, session.id);
  await scene.worker.finish(lease, outcome, extra);
  await sessionKnows(scene, lease.runId);
  return lease.runId;
}
