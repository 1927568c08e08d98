// Runs that workers hold while the authorization matrix is gone through, for the sake of their tokens.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Permission } from "@keelson/contract";
import type { ApiServer } from "../../support/api-server.ts";
import type { RunTokens } from "./callers.ts";

/** The task whose runs may do little. */
export const NARROW = "narrow";
export const NARROW_PERMISSIONS: readonly Permission[] = ["runs.read", "sessions.read", "tokens.create"];

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** Starts a run of the task that no other worker may take, and leases all there is until it comes. */
async function leaseRun(view: ApiServer, worker: string, task: string): Promise<Json> {
  const started = await view.call("POST", `/v1/tasks/${task}/start`, { body: { priority: 100 } });
  assert.equal(started.status, 201, started.text);
  const body = { lease_request_id: randomUUID(), limit: 1, wait: "10s" };
  const { body: leased } = await view.call("POST", "/worker/v1/executions/lease", { as: worker, body });
  assert.equal(leased.executions[0]?.run.id, started.body.id);
  return leased.executions[0];
}

async function endRun(view: ApiServer, worker: string, execution: Json): Promise<void> {
  const { lease_id, epoch, run } = execution;
  const fields = { run_id: run.id, environment_id: run.environment_id, lease_id, epoch, at: run.created_at };
  const operations = [
    { kind: "start", ...fields, sequence: 1 },
    { kind: "release", ...fields, sequence: 2, outcome: "succeeded" },
  ];
  const { body } = await view.call("POST", "/worker/v1/executions/report", {
    as: worker,
    body: { operations },
  });
  assert.deepEqual(
    body.results.map(({ status }: { status: number }) => status),
    [200, 200],
  );
}

export async function leaseRuns(
  server: ApiServer,
  worker: string,
  foreign: ApiServer,
  foreignWorker: string,
): Promise<RunTokens> {
  const ended = await leaseRun(server, worker, "report");
  await endRun(server, worker, ended);
  const own = await leaseRun(server, worker, "report");
  const narrow = await leaseRun(server, worker, NARROW);
  const elsewhere = await leaseRun(foreign, foreignWorker, "report");
  return {
    own: own.run_token,
    foreign: elsewhere.run_token,
    narrow: { credential: narrow.run_token, permissions: NARROW_PERMISSIONS },
    ended: ended.run_token,
  };
}
