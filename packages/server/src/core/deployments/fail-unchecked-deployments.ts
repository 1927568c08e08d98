import type { Tx } from "../../db/queryable.ts";
import { decideUnanswered } from "./deployment.ts";
import { lockUncheckedDeployments } from "./deployment-reads.ts";
import { appendDeploymentEvent, markDeploymentFailed } from "./deployment-writes.ts";
import { MAX_CHECKS } from "./lease-checks.ts";

/** Fails deployments that no worker could answer for, so that a bundle that ends workers does not go round for ever. */
export async function failUncheckedDeployments(tx: Tx, now: number): Promise<string[]> {
  const deployments = await lockUncheckedDeployments(tx, now, MAX_CHECKS);
  const { error, event } = decideUnanswered(MAX_CHECKS);
  for (const { environmentId, id } of deployments) {
    await markDeploymentFailed(tx, environmentId, id, error, now);
    await appendDeploymentEvent(tx, environmentId, id, event, now);
  }
  return deployments.map(({ id }) => id);
}
