import {
  API_VERSION,
  requirementOf,
  type Archive,
  type CreateDeployment,
  type Uuid,
} from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { requireBundle } from "../bundles/require-bundle.ts";
import { registerEntrypoints } from "../entrypoints/register-entrypoints.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { registerSandboxes } from "../sandboxes/register-sandboxes.ts";
import { findUnable } from "../workers/requirement-reads.ts";
import { deploymentVersion, entrypointsOf } from "./deployment.ts";
import { findDeployment, type DeploymentRow } from "./deployment-reads.ts";
import {
  appendDeploymentEvent,
  countDeployment,
  insertDeployment,
  noteRequirement,
} from "./deployment-writes.ts";

export type DeploymentCreation = {
  /** Already checked by `checkManifest`. */
  request: CreateDeployment;
  /** The bundle's index; null for a bundle of format 1. */
  archive: Archive | null;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
  now: number;
};

/** Where it is made, and whose workers boot it. */
type Place = { environmentId: Uuid<"env">; projectId: Uuid<"proj">; workerGroupId: Uuid<"wgrp"> };

/**
 * Creates a pending deployment; a worker of the environment's group is to boot it. Creating does not promote.
 *
 * @throws DomainError `bundle_missing` when the environment has not uploaded the bundle, or files of it.
 */
export async function createDeployment(
  tx: Tx,
  newUuid: NewUuid,
  { environmentId, projectId, workerGroupId }: Place,
  creation: DeploymentCreation,
): Promise<DeploymentRow> {
  const { request, archive, now } = creation;
  const bundleDigest = Buffer.from(request.bundle_digest, "hex");
  const requirement = archive === null ? null : requirementOf(archive);
  const noWorker = requirement === null ? null : await findUnable(tx, environmentId, requirement, now);
  const bundleSizeBytes = await requireBundle(tx, environmentId, request.bundle_digest, archive, noWorker);
  if (requirement !== null) await noteRequirement(tx, requirement);
  const id = newUuid<"dep">();
  const version = deploymentVersion(now, await countDeployment(tx, environmentId));
  await insertDeployment(tx, {
    environmentId,
    id,
    projectId,
    version,
    apiVersion: API_VERSION,
    cliVersion: creation.cliVersion,
    sdkVersion: creation.sdkVersion,
    clientVersion: creation.clientVersion,
    bundleFormatVersion: request.bundle_format_version,
    workerProtocolVersion: request.worker_protocol_version,
    bundleDigest,
    bundleSizeBytes,
    requirement,
    error: noWorker === null ? null : JSON.stringify({ message: noWorker, stack: null }),
    nodeVersion: archive?.node_version ?? null,
    platform: archive?.platform ? JSON.stringify(archive.platform) : null,
    manifest: JSON.stringify(request.manifest),
    git: request.git ? JSON.stringify(request.git) : null,
    createdAt: now,
  });
  const created = {
    kind: "deployment.created",
    message: `Version ${version} was created.`,
    attributes: { version },
  } as const;
  await appendDeploymentEvent(tx, environmentId, id, created, now);
  await registerEntrypoints(tx, newUuid, environmentId, entrypointsOf(request.manifest));
  const sandboxes = (request.manifest.sandboxes ?? []).map((sandbox) => sandbox.id);
  await registerSandboxes(tx, newUuid, environmentId, sandboxes);
  const deployment = await findDeployment(tx, environmentId, id);
  if (deployment === null) throw new Error("A deployment is not there after its insert.");
  tx.wake(wakeKeys.work(workerGroupId));
  return deployment;
}
