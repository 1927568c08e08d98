import type { DeploymentManifest, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { syncSchedules } from "../schedules/sync-schedules.ts";
import { syncQueues } from "../queues/sync-queues.ts";
import { decidePromote } from "./deployment.ts";
import { lockCurrentDeployment, lockDeployment } from "./deployment-reads.ts";
import { appendDeploymentEvent, markDeploymentDemoted, markDeploymentPromoted } from "./deployment-writes.ts";

/**
 * Points the environment at a ready deployment and puts its queue limits and schedules in force. Promoting an older one is the rollback;
 * promoting the current one changes nothing.
 *
 * @returns whether this call changed the pointer.
 * @throws DomainError `not_found`, or `invalid_state` when the deployment is not ready.
 */
export async function promoteDeployment(
  tx: Tx,
  newUuid: NewUuid,
  environmentId: Uuid<"env">,
  deploymentId: Uuid<"dep">,
  now: number,
): Promise<boolean> {
  // The environment first: whoever locks both does it in this order.
  const environment = await lockCurrentDeployment(tx, environmentId);
  const deployment = await lockDeployment(tx, environmentId, deploymentId);
  if (environment === null || deployment === null) throw notFound();
  const { currentDeploymentId: previousId, workerGroupId } = environment;
  const decision = decidePromote(deployment.status, previousId === deploymentId);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: deployment.status });
  if (decision.kind === "none") return false;

  await markDeploymentPromoted(tx, environmentId, deploymentId, now);
  const promoted = {
    kind: "deployment.promoted",
    message: `Version ${deployment.version} is now the current deployment.`,
    attributes: { version: deployment.version },
  } as const;
  await appendDeploymentEvent(tx, environmentId, deploymentId, promoted, now);
  if (previousId !== null) {
    await markDeploymentDemoted(tx, environmentId, previousId, now);
    const demoted = {
      kind: "deployment.demoted",
      message: `Version ${deployment.version} took its place.`,
      attributes: { replaced_by: deployment.version },
    } as const;
    await appendDeploymentEvent(tx, environmentId, previousId, demoted, now);
  }
  const manifest = JSON.parse(deployment.manifest) as DeploymentManifest;
  const { queues } = manifest;
  // Schedules before queues: whoever locks both does it in this order.
  const place = { environmentId, projectId: deployment.projectId };
  await syncSchedules(tx, newUuid, place, { version: deployment.version, manifest }, now);
  const admittedRuns = await syncQueues(tx, environmentId, queues ?? []);
  if (admittedRuns > 0) tx.wake(wakeKeys.work(workerGroupId));
  return true;
}
