// Runs that fail as a test says, and what became of their error groups.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { decodeId, encodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import type { ApiServer } from "./api-server.ts";
import type { RunScene } from "./run-scene.ts";

export type FailureText = { message: string; stack?: string | null; kind?: string };

/** What a worker reports of a failed attempt that is not tried again. */
export const releaseFailed = ({
  message,
  stack = null,
  kind = "application_error",
}: FailureText): object => ({
  outcome: "failed",
  failure: { kind, message, stack, retryable: false },
});

/** Starts a run of the task and fails it. @returns its id. */
export async function failRun(scene: RunScene, task: string, failure: FailureText): Promise<string> {
  const { id } = await scene.start(task);
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, id);
  const results = await scene.worker.report(
    lease.operation("start"),
    lease.operation("release", releaseFailed(failure)),
  );
  assert.deepEqual(results, [200, 200]);
  return id;
}

/** A group without runs, for tests of who may do what. @returns its id. */
export async function insertErrorGroup(server: ApiServer, environmentId: string): Promise<string> {
  const id = randomUUID();
  await server.db.query(sql`
    INSERT INTO error_groups (environment_id, id, kind, title, message, status, first_seen_at, last_seen_at, count, last_run_id)
    VALUES (${decodeId("env", environmentId)}, ${id}, 'application_error', 'Error: no', 'no', 'open', now(), now(), 1, ${randomUUID()})`);
  return encodeId("err", id);
}
