// A worker that does nothing by itself: a test speaks the protocol through it, one call at a time.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { platformOf } from "@keelson/contract";
import type { Answer, ApiServer } from "./api-server.ts";
import { untilClaimed } from "./seen-claims.ts";
import { until } from "./until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** What a worker says of the machine that the tests run on. */
export const THIS_MACHINE = { node_version: process.versions.node, platform: platformOf(process) };

export interface HeldLease {
  readonly runId: string;
  /** The execution as it was leased. */
  readonly execution: Json;
  /** What every call about the lease carries. */
  readonly fields: { run_id: string; environment_id: string; lease_id: string; epoch: number };
  /** An operation with the lease's next sequence. */
  operation(kind: string, extra?: object): Json;
}

/** When a worker says that all happened. */
export const REPORTED_AT = "2026-11-20T09:15:00.123Z";

/** What a run wrote, as a worker reports it. */
export const logChunk = (data: Buffer | string, stream = "stdout"): object => ({
  stream,
  data: Buffer.from(data as string).toString("base64"),
  at: REPORTED_AT,
});

export interface RawWorker {
  readonly token: string;
  readonly id: string;
  /** Takes a new token for the one it has, which ends after an hour. */
  renewToken(): Promise<void>;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** One lease call; by default it does not wait. */
  lease(options?: { limit?: number; wait?: string; requestId?: string }): Promise<Json>;
  /** Waits until the server has looked for work for that lease call. */
  seesRequest(requestId: string): Promise<void>;
  hold(execution: Json): HeldLease;
  /** Gives back what was held and not released, as cancelled. */
  releaseAll(): Promise<void>;
  /** Leases that many runs, which must be ready, or born while it waits. */
  take(count?: number): Promise<HeldLease[]>;
  /** Leases one run. */
  takeOne(): Promise<HeldLease>;
  /** @returns the status or error code of each operation. */
  report(...operations: Json[]): Promise<(number | string)[]>;
  /** @returns the results as they were answered. */
  results(...operations: Json[]): Promise<Json[]>;
  /** Reports the start of an attempt, then its end. */
  finish(lease: HeldLease, outcome?: string, extra?: object): Promise<void>;
  renew(...leases: HeldLease[]): Promise<Json>;
}

export function heldLease(execution: Json): HeldLease {
  let sequence = 0;
  const fields = {
    run_id: execution.run.id,
    environment_id: execution.run.environment_id,
    lease_id: execution.lease_id,
    epoch: execution.epoch,
  };
  return {
    runId: execution.run.id,
    execution,
    fields,
    operation: (kind, extra = {}) => {
      sequence += 1;
      return { kind, ...fields, sequence, at: REPORTED_AT, ...extra };
    },
  };
}

async function mintToken(
  server: ApiServer,
  mount: string,
  by: object = { enrollment_token: server.credentials.enrollment_token },
): Promise<{ token: string; id: string }> {
  const { status, body } = await server.call("POST", `${mount}/auth/token`, {
    as: null,
    body: { ...by, worker_protocol_version: 1 },
  });
  assert.equal(status, 200, JSON.stringify(body));
  return { token: body.token, id: body.worker.id };
}

/** Enrolls a worker of the default group; `active` unless it is told to stop before. */
/** Leases until there are so many. */
async function leaseAll(lease: RawWorker["lease"], count: number): Promise<Json[]> {
  const leased: Json[] = [];
  await until(`${count} runs are leased`, 60_000, async () => {
    leased.push(...(await lease({ limit: count - leased.length, wait: "10s" })).executions);
    return leased.length === count;
  });
  return leased;
}

export async function enrollWorker(
  server: ApiServer,
  options: { mount?: string; activate?: boolean; workspaces?: number } = {},
): Promise<RawWorker> {
  const mount = options.mount ?? "/worker/v1";
  const { id, ...minted } = await mintToken(server, mount);
  let { token } = minted;

  const call: RawWorker["call"] = (method, path, body) =>
    server.call(method, mount + path, { as: token, ...(body === undefined ? {} : { body }) });
  const lease: RawWorker["lease"] = async ({ limit = 1, wait = "0s", requestId = randomUUID() } = {}) => {
    const answer = await call("POST", "/executions/lease", { lease_request_id: requestId, limit, wait });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const held: HeldLease[] = [];
  const hold = (execution: Json): HeldLease => {
    const lease = heldLease(execution);
    held.push(lease);
    return lease;
  };
  const take: RawWorker["take"] = async (count = 1) => (await leaseAll(lease, count)).map(hold);
  const results: RawWorker["results"] = async (...operations) => {
    const answer = await call("POST", "/executions/report", { operations });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.results;
  };
  const report: RawWorker["report"] = async (...operations) =>
    (await results(...operations)).map(({ status, error }: Json) => (error === null ? status : error.code));

  const worker: RawWorker = {
    get token() {
      return token;
    },
    id,
    renewToken: async () => {
      ({ token } = await mintToken(server, mount, { worker_id: id, token }));
    },
    call,
    lease,
    hold,
    releaseAll: async () => {
      const operations = held.splice(0).map((lease) => lease.operation("release", { outcome: "cancelled" }));
      if (operations.length > 0) await report(...operations);
    },
    seesRequest: untilClaimed,
    take,
    results,
    takeOne: async () => (await take(1))[0] as HeldLease,
    report,
    finish: async (lease, outcome = "succeeded", extra = {}) => {
      const operations = [lease.operation("start"), lease.operation("release", { outcome, ...extra })];
      assert.deepEqual(await report(...operations), [200, 200]);
    },
    renew: async (...leases) => {
      const answer = await call("POST", "/executions/renew", { leases: leases.map(({ fields }) => fields) });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
  };
  const capacity = { executions: 100, workspaces: options.workspaces ?? 0 };
  const registration = { capacity, worker_protocol_version: 1, ...THIS_MACHINE };
  assert.equal((await call("POST", "/register", registration)).status, 200);
  if (options.activate !== false) assert.equal((await call("POST", "/activate")).status, 200);
  return worker;
}
