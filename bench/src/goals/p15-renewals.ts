import { randomUUID } from "node:crypto";
import { arch, platform } from "node:os";
import type { LeaseResponse, Renew, RenewResponse } from "@keelson/contract";
import { WORKER_PROTOCOL_VERSION } from "@keelson/contract";
import { median } from "../harness/statistics.ts";
import { openApi, startMany, type Api } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

/** As many as one request may take. */
const LEASE_BATCH = 500;
const RENEW_BATCH = 10_000;
const ROUNDS = 5;

type Leases = Renew["leases"];

/**
 * P15: microseconds for each lease to renew so many that one worker holds, by each number of them. The worker is one that
 * speaks the protocol and runs nothing. Expects no agent.
 *
 * @param held in ascending order.
 */
export async function measureRenewals(
  keelson: Keelson,
  held: readonly number[],
): Promise<Map<number, number>> {
  const worker = await enrollWorker(keelson, held.at(-1) ?? 0);
  const leases: Leases = [];
  const perLease = new Map<number, number>();
  for (const count of held) {
    await startMany(keelson.api, "noop", null, count - leases.length);
    while (leases.length < count) leases.push(...(await lease(worker, count - leases.length)));
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const from = performance.now();
      await renewAll(worker, leases);
      times.push(performance.now() - from);
    }
    perLease.set(count, (median(times) * 1_000) / count);
  }
  return perLease;
}

async function enrollWorker(keelson: Keelson, executions: number): Promise<Api> {
  const enrollment = openApi(keelson.url, keelson.enrollmentToken);
  const { token } = await enrollment.call<{ token: string }>("POST", "/worker/v1/auth/token", {
    enrollment_token: keelson.enrollmentToken,
    worker_protocol_version: WORKER_PROTOCOL_VERSION,
  });
  const worker = openApi(keelson.url, token);
  await worker.call("POST", "/worker/v1/register", {
    capacity: { executions, workspaces: 0 },
    worker_protocol_version: WORKER_PROTOCOL_VERSION,
    node_version: process.versions.node,
    platform: { os: platform(), arch: arch(), libc: "glibc" },
  });
  await worker.call("POST", "/worker/v1/activate", {});
  return worker;
}

async function lease(worker: Api, wanted: number): Promise<Leases> {
  const { executions } = await worker.call<LeaseResponse>("POST", "/worker/v1/executions/lease", {
    lease_request_id: randomUUID(),
    limit: Math.min(LEASE_BATCH, wanted),
    wait: "5s",
  });
  return executions.map(({ run, lease_id, epoch }) => ({
    ...{ run_id: run.id, environment_id: run.environment_id },
    ...{ lease_id, epoch },
  }));
}

async function renewAll(worker: Api, leases: Leases): Promise<void> {
  for (let from = 0; from < leases.length; from += RENEW_BATCH) {
    const part = leases.slice(from, from + RENEW_BATCH);
    const { renewed } = await worker.call<RenewResponse>("POST", "/worker/v1/executions/renew", {
      leases: part,
    });
    if (renewed.length !== part.length)
      throw new Error(`${renewed.length} of ${part.length} leases are renewed`);
  }
}
