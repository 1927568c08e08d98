import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { recordVersion } from "../versions/record-version.ts";
import type { StoredTree, VersionCause, VersionNotes } from "../versions/version.ts";
import { findVersion, type VersionRow } from "../versions/version-reads.ts";
import type { WorkspaceRow } from "./workspace-reads.ts";
import { pointAtNewVersion } from "./workspace-writes.ts";

export type VersionCommit = {
  /** Locked by this transaction. */
  workspace: WorkspaceRow;
  tree: StoredTree;
  cause: VersionCause;
  commitId: string | null;
  notes?: VersionNotes | null;
  now: number;
};

/**
 * Makes a stored tree the current version of a locked workspace. The tree that is current already makes no version.
 *
 * @throws DomainError `invalid_state` with `missing_blobs` when something that the tree is in is not there.
 */
export async function commitVersion(
  tx: Tx,
  newUuid: NewUuid,
  { workspace, tree, cause, commitId, notes = null, now }: VersionCommit,
): Promise<{ version: VersionRow; created: boolean }> {
  const { environmentId, id: workspaceId, currentVersionId } = workspace;
  const current = await findVersion(tx, environmentId, currentVersionId);
  if (current === null) throw new Error(`The current version of workspace ${workspaceId} is gone.`);
  if (current.digest.toString("hex") === tree.digest) return { version: current, created: false };
  const id = newUuid<"wsv">();
  const number = await pointAtNewVersion(tx, environmentId, workspaceId, id, now);
  const insert = {
    environmentId,
    id,
    workspaceId,
    number,
    parentVersionId: currentVersionId,
    cause,
    commitId,
    tree,
    notes,
  };
  const version = await recordVersion(tx, { ...insert, createdAt: now });
  return { version, created: true };
}
