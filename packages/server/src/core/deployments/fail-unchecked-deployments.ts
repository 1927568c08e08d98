import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import { decideUnanswered, MAX_CHECKS } from "./deployment.ts";
import { lockUncheckedDeployments } from "./deployment-reads.ts";
import { appendDeploymentEvent, markDeploymentFailed } from "./deployment-writes.ts";

const LIMIT = 100;

/**
 * Fails deployments that no worker could answer for, so that a bundle that ends workers does not go round forever.
 */
export async function failUncheckedDeployments(context: ItemContext): Promise<void> {
  const { error, event } = decideUnanswered(MAX_CHECKS);
  await processInBatches(context, {
    loop: "offer-expired-checks",
    limit: LIMIT,
    take: async (tx, limit, now) => {
      const rows = await lockUncheckedDeployments(tx, now, MAX_CHECKS, limit);
      return { rows, more: rows.length === limit };
    },
    itemOf: ({ environmentId, id }) => ({ environmentId, itemId: id }),
    apply: async (tx, deployments, now) => {
      for (const { environmentId, id } of deployments) {
        await markDeploymentFailed(tx, environmentId, id, error, now);
        await appendDeploymentEvent(tx, environmentId, id, event, now);
      }
    },
  });
}
