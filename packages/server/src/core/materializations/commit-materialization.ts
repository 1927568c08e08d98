import { decodeId, encodeId, type CommitWorkspace, type Uuid } from "@keelson/contract";
import { TreeError } from "@keelson/workspace-tree";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { keepBase } from "../sandboxes/keep-base.ts";
import { toStoredTree } from "../versions/store-tree.ts";
import type { TreeCache } from "../versions/tree-cache.ts";
import type { StoredTree } from "../versions/version.ts";
import { endCommitted } from "../processes/report-process.ts";
import { findCommit, type VersionRow } from "../versions/version-reads.ts";
import { leaseLost } from "../workspaces/lease-lost.ts";
import { commitVersion } from "../workspaces/commit-version.ts";
import { endSetup } from "../workspaces/end-setup.ts";
import type { WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { commitLive, type LiveCommitContext } from "./commit-live.ts";
import { lockHeldMaterialization, requireHeld } from "./lock-held-materialization.ts";
import { decideCommit } from "./materialization.ts";
import { findMaterialization } from "./materialization-reads.ts";
import { markCommitted } from "./materialization-writes.ts";

export type CommitContext = LiveCommitContext & { trees: TreeCache };

export type Committed = { version: VersionRow; created: boolean };

/**
 * Makes what a worker stored the current version of its workspace, under its epoch. The manifest is read and checked
 * before the transaction; the counts of the version are what it says, not what the worker says. A repeat with the same
 * `commit_id` is given the version of the first.
 *
 * @throws DomainError `lease_lost`; `invalid_state` with `missing_blobs`, or with `current_version_id` when the tree was
 * changed from another version; `invalid_request` for a manifest that is none.
 */
export async function commitMaterialization(
  context: CommitContext,
  workerId: Uuid<"wkr">,
  request: CommitWorkspace,
): Promise<Committed> {
  const environmentId = decodeId("env", request.environment_id);
  const id = decodeId("mat", request.materialization_id);
  const seen =
    environmentId === null || id === null ? null : await findMaterialization(context.db, environmentId, id);
  // Nobody else's manifest is read.
  if (seen === null || seen.workerId !== workerId || seen.epoch !== request.epoch) throw leaseLost();
  const tree = await loadManifest(context.trees, seen.environmentId, request.manifest_digest);
  const version = await commitLive(context, { ...seen, workerId }, request, tree);
  if (version !== null) return { version, created: true };
  return context.db.transaction((tx) => commitTree(tx, context, workerId, request, tree));
}

async function loadManifest(
  trees: TreeCache,
  environmentId: Uuid<"env">,
  digest: string,
): Promise<StoredTree> {
  try {
    const { tree, blobs } = await trees.load(environmentId, digest);
    return toStoredTree(tree, digest, blobs);
  } catch (cause) {
    if (!(cause instanceof TreeError)) throw cause;
    if (cause.code === "missing_blob") {
      throw new DomainError(
        "invalid_state",
        "The manifest is not stored. Store it, then commit again.",
        { missing_blobs: [digest] },
        { cause },
      );
    }
    throw invalidRequest([{ path: "manifest_digest", message: cause.message }]);
  }
}

async function commitTree(
  tx: Tx,
  { newUuid, clock }: CommitContext,
  workerId: Uuid<"wkr">,
  request: CommitWorkspace,
  tree: StoredTree,
): Promise<Committed> {
  const now = clock();
  const { materialization, workspace } = await lockHeldMaterialization(tx, workerId, request);
  requireHeld(decideCommit(materialization.status));
  const { environmentId } = workspace;
  tx.wake(wakeKeys.workspace(workspace.id));
  const first = await findCommit(tx, environmentId, workspace.id, request.commit_id);
  if (first !== null) return { version: first, created: true };
  requireParent(workspace, request.parent_version_id);
  const cause = { kind: request.cause.kind, id: request.cause.id ?? null };
  const commitId = request.commit_id;
  const notes = request.notes ?? null;
  const committed = await commitVersion(tx, newUuid, { workspace, tree, cause, commitId, notes, now });
  await markCommitted(tx, environmentId, materialization.id, now);
  const place = { materialization_id: request.materialization_id, environment_id: request.environment_id };
  const ended = (request.ended ?? []).map((end) => ({ ...end, ...place, epoch: request.epoch }));
  await endCommitted(tx, workerId, ended, committed.version.id, now);
  if (workspace.setupDigest !== null && request.setup_digest === workspace.setupDigest.toString("hex")) {
    await endSetup(tx, environmentId, workspace.id);
    await keepBase(tx, environmentId, workspace.setupDigest, committed.version.id, now);
  }
  return committed;
}

function requireParent({ currentVersionId }: WorkspaceRow, parent: string): void {
  if (decodeId("wsv", parent) === currentVersionId) return;
  throw new DomainError(
    "invalid_state",
    "The tree was changed from another version than the current one. Repeat the commit whose answer was lost, then commit again.",
    { current_version_id: encodeId("wsv", currentVersionId) },
  );
}
