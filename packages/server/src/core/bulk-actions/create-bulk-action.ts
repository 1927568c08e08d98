import { LIMITS, type BulkActionKind, type Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { siftNewest } from "../run-search/sift-runs.ts";
import { isSifted, type RunFilter } from "../runs/run-filter.ts";
import { countListedRuns, listRunIds } from "../runs/run-list-reads.ts";
import { listKnownRuns } from "../runs/run-reads.ts";
import type { BulkAction } from "./bulk-action.ts";
import { targetsOf } from "./bulk-targets.ts";
import { insertBulkAction } from "./bulk-action-writes.ts";

/** Which runs: those of a filter, or those of ids without repeats. */
export type Selection = { filter: RunFilter } | { runIds: readonly Uuid<"run">[] };

export type Matches = { matched: number; moreMatched: boolean };

export type NewBulkAction = Pick<
  BulkAction,
  "createdByKind" | "createdById" | "deploymentVersion" | "reason"
> & {
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  action: BulkActionKind;
  selection: Selection;
};

/** How many runs are selected, up to a bound. Ids count that are the environment's. */
export async function countSelected(
  db: Queryable,
  environmentId: Uuid<"env">,
  selection: Selection,
  now: number,
): Promise<Matches> {
  if ("runIds" in selection) {
    const known = await listKnownRuns(db, environmentId, selection.runIds);
    return { matched: known.length, moreMatched: false };
  }
  const bound = LIMITS.bulkActionCount;
  const filter = targetsOf(selection.filter, now);
  if (isSifted(filter)) {
    const { ids, more } = await siftNewest(db, environmentId, filter, bound);
    return { matched: ids.length, moreMatched: more };
  }
  const count = await countListedRuns(db, environmentId, filter, bound + 1);
  return { matched: Math.min(count, bound), moreMatched: count > bound };
}

/** The newest of the selected runs. */
export async function sampleSelected(
  db: Queryable,
  environmentId: Uuid<"env">,
  selection: Selection,
  now: number,
): Promise<Uuid<"run">[]> {
  const limit = LIMITS.bulkActionSample;
  if ("filter" in selection) {
    const filter = targetsOf(selection.filter, now);
    if (isSifted(filter)) return (await siftNewest(db, environmentId, filter, limit)).ids;
    return listRunIds(db, environmentId, filter, null, limit);
  }
  return (await listKnownRuns(db, environmentId, selection.runIds)).slice(0, limit);
}

/** @throws DomainError `invalid_request` for a version that no replay could start. */
export async function checkVersion(
  tx: Tx,
  { deployments }: { deployments: DeploymentCache },
  environmentId: Uuid<"env">,
  version: string | null,
): Promise<void> {
  if (version === null || (await deployments.within(tx).byVersion(environmentId, version)) !== null) return;
  throw invalidRequest([
    {
      path: "deployment_version",
      message: `there is no ready deployment with version ${version} in this environment; see GET /v1/deployments`,
    },
  ]);
}

/** Stores the action. A loop of any server does it. */
export async function createBulkAction(
  tx: Tx,
  { newUuid }: { newUuid: NewUuid },
  request: NewBulkAction,
  now: number,
): Promise<Uuid<"bulk">> {
  const { selection, ...facts } = request;
  const id = newUuid<"bulk">();
  const counted = await countSelected(tx, request.environmentId, selection, now);
  await insertBulkAction(tx, {
    ...facts,
    ...counted,
    ...("runIds" in selection
      ? { runIds: selection.runIds, runFilter: null, matched: selection.runIds.length }
      : { runIds: null, runFilter: JSON.stringify(selection.filter) }),
    id,
    createdAt: now,
  });
  tx.wake(wakeKeys.bulkActions);
  return id;
}
