import type { Uuid } from "@keelson/contract";
import type { Tree } from "@keelson/workspace-tree";
import type { Database } from "../../db/pool.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { BlobContext } from "../blobs/store-blob.ts";
import { storeTree } from "../versions/store-tree.ts";
import type { TreeCache } from "../versions/tree-cache.ts";
import type { StoredTree } from "../versions/version.ts";
import { findVersion, type VersionRow } from "../versions/version-reads.ts";
import { commitVersion } from "./commit-version.ts";
import { lockActiveWorkspace, requireIdle, requireUsable, requireWorkspace } from "./require-workspace.ts";

export type ChangeContext = BlobContext & { db: Database; newUuid: NewUuid; trees: TreeCache };

/** Writers of one workspace that always come first are given up on after so many. */
const MAX_ATTEMPTS = 20;

/**
 * Commits a change of a workspace's current files as a version. The change is worked out and stored without a lock, and
 * worked out again when another version became current meanwhile: of racing changes each is applied to the other's result.
 *
 * @param change gives the new tree, or one that is stored already; it may refuse.
 * @throws DomainError `not_found`, `invalid_state`, `workspace_busy`, and what `change` throws.
 */
export async function changeFiles(
  context: ChangeContext,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  change: (current: Tree) => Promise<Tree | StoredTree>,
): Promise<{ version: VersionRow; created: boolean }> {
  const { db, newUuid, clock, trees } = context;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const seen = await requireWorkspace(db, environmentId, workspaceId);
    requireUsable(seen);
    requireIdle(seen);
    const current = await findVersion(db, environmentId, seen.currentVersionId);
    if (current === null) continue;
    const { tree } = await trees.load(environmentId, current.manifestDigest.toString("hex"));
    const changed = await change(tree);
    const stored = "entries" in changed ? await storeTree(context, environmentId, changed) : changed;
    const committed = await db.transaction(async (tx) => {
      const workspace = await lockActiveWorkspace(tx, environmentId, workspaceId);
      requireIdle(workspace);
      if (workspace.currentVersionId !== current.id) return null;
      const cause = { kind: "write", id: null } as const;
      const commit = { workspace, tree: stored, cause, commitId: null, now: clock() };
      const result = await commitVersion(tx, newUuid, commit);
      if (result.created) tx.wake(wakeKeys.workspace(workspaceId));
      return result;
    });
    if (committed !== null) return committed;
  }
  throw new DomainError(
    "workspace_busy",
    "Others are changing the workspace's files all the time. Try again in a moment.",
  );
}
