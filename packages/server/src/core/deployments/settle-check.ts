import type { DeploymentManifest, DeploymentStatus, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { decideCheck, type CheckAnswer } from "./deployment.ts";
import { lockCheckedDeployment } from "./deployment-reads.ts";
import {
  appendDeploymentEvent,
  markCheckInterrupted,
  markDeploymentFailed,
  markDeploymentReady,
} from "./deployment-writes.ts";

export type CheckToSettle = {
  workerId: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  deploymentId: Uuid<"dep">;
  checkId: string;
  answer: CheckAnswer;
  now: number;
};

export type SettledCheck = { environmentId: Uuid<"env">; status: DeploymentStatus };

/**
 * Makes a deployment ready or failed by what a worker found, or lets it be checked again. A repeat of the answer changes nothing.
 * A late answer counts while no other worker was given the check.
 *
 * @throws DomainError `not_found`, or `invalid_state` when another check has replaced this one.
 */
export async function settleCheck(tx: Tx, check: CheckToSettle): Promise<SettledCheck> {
  const { deploymentId, now } = check;
  const deployment = await lockCheckedDeployment(tx, check.workerGroupId, deploymentId);
  if (deployment === null) throw notFound();
  if (deployment.checkId !== check.checkId || deployment.checkWorkerId !== check.workerId) {
    throw new DomainError(
      "invalid_state",
      "Another check of this deployment has replaced this one; drop the answer.",
      {
        status: deployment.status,
      },
    );
  }
  const { environmentId } = deployment;
  const decision = decideCheck(
    deployment.status,
    JSON.parse(deployment.manifest) as DeploymentManifest,
    check.answer,
    { isHeld: deployment.checkIsHeld, interruptions: deployment.checkInterruptions },
  );
  switch (decision.kind) {
    case "none":
      return { environmentId, status: deployment.status };
    case "again":
      await markCheckInterrupted(
        tx,
        environmentId,
        deploymentId,
        decision.error,
        now + decision.delayMs,
        now,
      );
      return { environmentId, status: deployment.status };
    case "ready":
      await markDeploymentReady(tx, environmentId, deploymentId, now);
      break;
    case "failed":
      await markDeploymentFailed(tx, environmentId, deploymentId, decision.error, now);
      break;
  }
  await appendDeploymentEvent(tx, environmentId, deploymentId, decision.event, now);
  return { environmentId, status: decision.kind };
}
