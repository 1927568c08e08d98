import { LIMITS } from "@keelson/contract";
import {
  findEntry,
  putFile,
  removeEntry,
  storeContent,
  type Tree,
  type TreeEntry,
} from "@keelson/workspace-tree";
import { blobSink } from "../blobs/store-blob.ts";
import type { StorageQuota } from "../quotas/storage-quota.ts";
import type { VersionRow } from "../versions/version-reads.ts";
import { changeFiles, type ChangeContext } from "./change-files.ts";
import type { WorkspacePlace } from "./read-version.ts";
import { noFile } from "./require-file.ts";
import { requireIdle, requireUsable, requireWorkspace } from "./require-workspace.ts";

export type FileContent = { path: string; mode: number | null; bytes: AsyncIterable<Uint8Array> };

/**
 * Stores a file and commits it as a version.
 *
 * @param check refuses a change of the files as they are
 * @throws DomainError as `changeFiles`, `payload_too_large`, and what `check` throws.
 */
export async function writeFile(
  context: ChangeContext & { storageQuota: StorageQuota },
  { environmentId, workspaceId }: WorkspacePlace,
  { path, mode, bytes }: FileContent,
  check: (tree: Tree) => void,
): Promise<{ version: VersionRow; created: boolean; digest: string; entry: TreeEntry | null }> {
  // What would be refused is refused before its bytes are stored.
  const workspace = await requireWorkspace(context.db, environmentId, workspaceId);
  requireUsable(workspace);
  requireIdle(workspace);
  await context.storageQuota.admit(environmentId);
  const stored = await storeContent(bytes, blobSink(context, environmentId), LIMITS.workspaceFileBytes);
  const file = { path, modifiedAt: context.clock(), ...stored, ...(mode === null ? {} : { mode }) };
  const { version, created } = await changeFiles(context, environmentId, workspaceId, async (tree) => {
    check(tree);
    return putFile(tree, file);
  });
  context.storageQuota.noteStored(environmentId, stored.size);
  const { tree } = await context.trees.load(environmentId, version.manifestDigest.toString("hex"));
  return { version, created, digest: stored.digest, entry: findEntry(tree, path) };
}

/** Commits a version without a file. @throws DomainError as `changeFiles`, `not_found`, and what `check` throws. */
export async function removeFile(
  context: ChangeContext,
  { environmentId, workspaceId }: WorkspacePlace,
  path: string,
  check: (tree: Tree) => void,
): Promise<VersionRow> {
  const { version } = await changeFiles(context, environmentId, workspaceId, async (tree) => {
    check(tree);
    const without = removeEntry(tree, path);
    if (without === null) throw noFile(path);
    return without;
  });
  return version;
}
