import { DEFAULT_RUN_PERMISSIONS } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import type { Principal } from "./principal.ts";
import { findLeasedRun } from "./principal-reads.ts";
import type { RunLease } from "./run-token.ts";

/** The run of a lease while a worker holds the lease, with what its task or actor may do; null from then on. */
export async function findRunPrincipal(
  { db, deployments }: { db: Queryable; deployments: Pick<DeploymentCache, "byId"> },
  lease: RunLease,
): Promise<Principal | null> {
  const run = await findLeasedRun(db, lease);
  if (run === null) return null;
  const { entrypointKind, entrypoint, deploymentId, ...rest } = run;
  const deployment = await deployments.byId(run.environmentId, deploymentId);
  const declared = entrypointKind === "task" ? deployment?.tasks : deployment?.actors;
  const { declaration } = declared?.get(entrypoint) ?? {};
  return { kind: "run", ...rest, permissions: new Set(declaration?.permissions ?? DEFAULT_RUN_PERMISSIONS) };
}
