import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { deleteWorkspaceBlobs, insertWorkspaceBlobs } from "./blob-writes.ts";

/**
 * From here on the workspace needs the blobs: they stay as long as it does.
 *
 * @param digests lower-case hexadecimal.
 * @param checksKnown also of those that it needs already.
 * @throws DomainError `invalid_state` with `missing_blobs` when some are not there.
 */
export async function needBlobs(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  digests: readonly string[],
  checksKnown: boolean,
): Promise<void> {
  const keys = digests.map((digest) => Buffer.from(digest, "hex"));
  const missing = await insertWorkspaceBlobs(tx, environmentId, workspaceId, keys, checksKnown);
  if (missing.length === 0) return;
  throw new DomainError(
    "invalid_state",
    `${missing.length} of the blobs that the manifest names are not stored. Store them, then commit again.`,
    { missing_blobs: missing.map((digest) => digest.toString("hex")) },
  );
}

/** The workspace needs nothing any more; what nobody else needs is collected after the grace. */
export function releaseBlobs(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  now: number,
): Promise<void> {
  return deleteWorkspaceBlobs(tx, environmentId, workspaceId, null, now);
}

/**
 * As `releaseBlobs`, of some blobs.
 *
 * @param digests lower-case hexadecimal.
 */
export function releaseSomeBlobs(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  digests: readonly string[],
  now: number,
): Promise<void> {
  const keys = digests.map((digest) => Buffer.from(digest, "hex"));
  return deleteWorkspaceBlobs(tx, environmentId, workspaceId, keys, now);
}
