import { decodeId, type Renew } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { listCancellations } from "./execution-reads.ts";
import { listResumptions, type LeasedWaits } from "../waits/wait-reads.ts";
import { renewLeases } from "./execution-writes.ts";

export type Renewal = {
  expiresAt: number;
  renewed: string[];
  /** As the worker wrote them: what could not be decoded is lost too. */
  lost: string[];
  cancellations: { runId: string; leaseId: string; epoch: number }[];
  /** Settled waits that the worker may not have been told of. */
  resumptions: LeasedWaits[];
};

/**
 * Renews all leases of a worker at once and tells it which it has lost and which runs to cancel. A renewal moves only
 * the lease's end, never the attempt's deadline. It is not flushed: after a crash of PostgreSQL a lease merely ends earlier.
 */
export async function renewExecutions(
  context: { db: Database; clock: Clock; leaseDurationMs: number },
  workerId: string,
  leases: Renew["leases"],
): Promise<Renewal> {
  const expiresAt = context.clock() + context.leaseDurationMs;
  const known = leases.flatMap((lease) => {
    const environmentId = decodeId("env", lease.environment_id);
    const runId = decodeId("run", lease.run_id);
    const leaseId = decodeId("lease", lease.lease_id);
    if (environmentId === null || runId === null || leaseId === null) return [];
    return [{ environmentId, runId, leaseId, epoch: lease.epoch, wire: lease.lease_id }];
  });
  const renewed = await context.db.transaction((tx) => renewLeases(tx, workerId, known, expiresAt), {
    durability: "relaxed",
  });
  const held = new Set(renewed.map((row) => row.leaseId));
  const heldOnWire = new Set(known.filter((lease) => held.has(lease.leaseId)).map((lease) => lease.wire));
  return {
    expiresAt,
    renewed: [...held],
    lost: leases.map((lease) => lease.lease_id).filter((leaseId) => !heldOnWire.has(leaseId)),
    cancellations: await listCancellations(context.db, workerId),
    resumptions: await listResumptions(context.db, workerId),
  };
}
