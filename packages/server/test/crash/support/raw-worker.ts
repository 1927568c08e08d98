// A worker that speaks the protocol and runs nothing, so that a test decides each word of it.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Execution, LeaseResponse } from "@keelson/contract";
import { THIS_MACHINE } from "../../support/raw-worker.ts";
import type { Answer } from "./caller.ts";
import type { ServerProcess, Site } from "./site.ts";
import { until } from "../../support/until.ts";

export interface Lease {
  readonly runId: string;
  readonly attemptNumber: number;
  /** As every operation names it. */
  readonly fields: { run_id: string; environment_id: string; lease_id: string; epoch: number };
}

export interface RawWorker {
  readonly id: string;
  post(path: string, body: object, options?: { server?: ServerProcess; timeoutMs?: number }): Promise<Answer>;
  /** One lease call. */
  lease(limit: number, wait: string, server?: ServerProcess): Promise<Lease[]>;
  /** Says that a deployment's bundle boots and registers these tasks. */
  passCheck(tasks: readonly string[], actors?: readonly string[]): Promise<void>;
}

const OUTAGE_MS = 60_000;

const toLease = ({ run, lease_id, epoch }: Execution): Lease => ({
  runId: run.id,
  attemptNumber: run.attempt_number,
  fields: { run_id: run.id, environment_id: run.environment_id, lease_id, epoch },
});

export async function enrollRawWorker(
  site: Site,
  server: ServerProcess,
  name: string,
  workspaces = 0,
): Promise<RawWorker> {
  const { enrollment_token } = site.credentials;
  const minted = await site.call(server.url, "POST", "/worker/v1/auth/token", {
    body: { enrollment_token, name, worker_protocol_version: 1 },
  });
  assert.equal(minted.status, 200, JSON.stringify(minted.body));
  const post: RawWorker["post"] = (path, body, options = {}) =>
    site.call((options.server ?? server).url, "POST", `/worker/v1/${path}`, {
      as: minted.body.token as string,
      body,
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    });
  const capacity = { executions: 10_000, workspaces };
  const registration = { name, capacity, worker_protocol_version: 1, ...THIS_MACHINE };
  assert.equal((await post("register", registration)).status, 200);
  assert.equal((await post("activate", {})).status, 200);

  const poll = async (limit: number, wait: string, at = server): Promise<LeaseResponse> => {
    // The same request until it is answered: what an answer that was lost had leased comes again.
    const request = { lease_request_id: randomUUID(), limit, wait };
    const leased: LeaseResponse[] = [];
    await until("a request for leases is answered", OUTAGE_MS, async () => {
      const answer = await post("executions/lease", request, { server: at, timeoutMs: 60_000 });
      if (answer.status === 503) return false;
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return leased.push(answer.body as LeaseResponse) > 0;
    });
    return leased[0] as LeaseResponse;
  };

  return {
    id: minted.body.worker.id as string,
    post,
    lease: async (limit, wait, at) => (await poll(limit, wait, at)).executions.map(toLease),
    passCheck: async (tasks, actors = []) => {
      const [check] = (await poll(0, "5s")).deployment_checks;
      assert.ok(check, "there is no deployment to check");
      const { deployment_id, check_id } = check;
      const entrypoints = [
        ...tasks.map((declared_id) => ({ kind: "task", declared_id })),
        ...actors.map((declared_id) => ({ kind: "actor", declared_id })),
      ];
      const answer = await post("deployments/checked", {
        deployment_id,
        check_id,
        status: "ready",
        entrypoints,
      });
      assert.equal(answer.body.status, "ready", JSON.stringify(answer.body));
    },
  };
}
