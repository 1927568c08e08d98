import type { Tx } from "../../db/queryable.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import { decideInterruption, SILENCE } from "./deployment.ts";
import { lockSilentChecks, type SilentCheck } from "./deployment-reads.ts";
import { appendDeploymentEvent, markCheckInterrupted, markDeploymentFailed } from "./deployment-writes.ts";

const LIMIT = 100;

/** Counts the checks whose worker fell silent as interrupted: they are offered again, and fail the deployment when there were too many. */
export async function interruptSilentChecks(context: ItemContext): Promise<void> {
  await processInBatches(context, {
    loop: "offer-expired-checks",
    limit: LIMIT,
    take: async (tx, limit, now) => {
      const rows = await lockSilentChecks(tx, now, limit);
      return { rows, more: rows.length === limit };
    },
    itemOf: ({ environmentId, id }) => ({ environmentId, itemId: id }),
    apply: async (tx, checks, now) => {
      for (const check of checks) await interrupt(tx, check, now);
    },
  });
}

async function interrupt(tx: Tx, check: SilentCheck, now: number): Promise<void> {
  const { environmentId, id, checkInterruptions } = check;
  const decision = decideInterruption(SILENCE, checkInterruptions);
  if (decision.kind === "again")
    return markCheckInterrupted(tx, environmentId, id, decision.error, now + decision.delayMs, now);
  await markDeploymentFailed(tx, environmentId, id, decision.error, now);
  await appendDeploymentEvent(tx, environmentId, id, decision.event, now);
}
