import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import type { LiveIds } from "../../live-ids.ts";
import { renewWorkerLeases, type HeldLease } from "../executions/renew-worker-leases.ts";
import type { WrittenExecutions } from "../executions/written-executions.ts";
import { listResumptions, type LeasedWaits } from "../waits/wait-reads.ts";
import { listRequestedEnds, type RequestedEnds } from "./requested-end-reads.ts";

export type Renewal = RequestedEnds & {
  expiresAt: number;
  /** Ids of the leases that are the worker's still; the others are lost. */
  renewed: Set<string>;
  /** Settled waits that the worker may not have been told of. */
  resumptions: LeasedWaits[];
};

export type RenewalContext = {
  db: Database;
  clock: Clock;
  leaseDurationMs: number;
  liveLeases: Pick<LiveIds, "of">;
  writtenExecutions: Pick<WrittenExecutions, "forget">;
};

/**
 * Renews all leases of a worker at once and tells it which it has lost and which runs to cancel. A renewal moves only
 * the lease's end, never the attempt's deadline, unless the lease had ended.
 */
export async function renewExecutions(
  context: RenewalContext,
  workerId: Uuid<"wkr">,
  leases: readonly HeldLease[],
): Promise<Renewal> {
  const now = context.clock();
  const expiresAt = now + context.leaseDurationMs;
  const live = context.liveLeases.of(workerId);
  const renewed = await renewWorkerLeases(context.db, workerId, leases, { now, expiresAt });
  context.writtenExecutions.forget(leases);
  return {
    expiresAt,
    renewed,
    ...(await listRequestedEnds(context.db, workerId, live)),
    resumptions: await listResumptions(context.db, workerId, live),
  };
}
