import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { needBlobs, releaseBlobs } from "../blobs/need-blobs.ts";
import type { VersionRow } from "./version-reads.ts";
import { deleteVersions, insertVersion, type VersionInsert } from "./version-writes.ts";

/**
 * Makes a version of a locked workspace, once everything that its tree is in is known to be there. Pointing the
 * workspace at it is the caller's, in the same transaction.
 *
 * @throws DomainError `invalid_state` with `missing_blobs`.
 */
export async function recordVersion(tx: Tx, version: VersionInsert): Promise<VersionRow> {
  const { environmentId, workspaceId, tree } = version;
  // A machine has all that it commits. A change by the server leaves the other files as they are, lost ones too.
  const checksKnown = version.cause.kind !== "write";
  await needBlobs(tx, environmentId, workspaceId, [tree.manifestDigest, ...tree.blobs], checksKnown);
  return insertVersion(tx, version);
}

/** The workspace is deleted: its versions go, and what they needed when nothing else does. */
export async function dropVersions(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<void> {
  await releaseBlobs(tx, environmentId, workspaceId, now);
  await deleteVersions(tx, environmentId, workspaceId);
}
