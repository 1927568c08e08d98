import { API_VERSION, type CreateDeployment } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { findBundle } from "../bundles/bundle-reads.ts";
import { registerEntrypoints } from "../entrypoints/register-entrypoints.ts";
import { registerSandboxes } from "../sandboxes/register-sandboxes.ts";
import { deploymentVersion, entrypointsOf } from "./deployment.ts";
import { findDeployment, type DeploymentRow } from "./deployment-reads.ts";
import { appendDeploymentEvent, countDeployment, insertDeployment } from "./deployment-writes.ts";

export type DeploymentCreation = {
  environmentId: string;
  projectId: string;
  /** Already checked by `checkManifest`. */
  request: CreateDeployment;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
  now: number;
};

/**
 * Creates a pending deployment; a worker of the environment's group is to boot it. Creating does not promote.
 *
 * @throws DomainError `bundle_missing` when the environment has not uploaded the bundle.
 */
export async function createDeployment(
  tx: Tx,
  newUuid: NewUuid,
  creation: DeploymentCreation,
): Promise<DeploymentRow> {
  const { environmentId, request, now } = creation;
  const bundleDigest = Buffer.from(request.bundle_digest, "hex");
  const bundle = await findBundle(tx, environmentId, bundleDigest);
  if (bundle === null) {
    throw new DomainError(
      "bundle_missing",
      `The bundle ${request.bundle_digest} has not been uploaded to this environment. PUT its bytes to deployment-bundles/${request.bundle_digest} first.`,
      { bundle_digest: request.bundle_digest },
    );
  }
  const id = newUuid();
  const version = deploymentVersion(now, await countDeployment(tx, environmentId));
  await insertDeployment(tx, {
    environmentId,
    id,
    projectId: creation.projectId,
    version,
    apiVersion: API_VERSION,
    cliVersion: creation.cliVersion,
    sdkVersion: creation.sdkVersion,
    clientVersion: creation.clientVersion,
    bundleFormatVersion: request.bundle_format_version,
    workerProtocolVersion: request.worker_protocol_version,
    bundleDigest,
    bundleSizeBytes: bundle.sizeBytes,
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
  return deployment;
}
