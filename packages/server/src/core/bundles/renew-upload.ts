import type { Archive, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { touchBundleCandidates } from "./bundle-writes.ts";

/** No file is written more often than that. */
const RENEWED_AFTER_MS = 3_600_000;

/**
 * Keeps what of an archive was uploaded for another grace, because its deployment is about to be created. Before that
 * transaction: a refusal that lists what is missing rolls it back.
 */
export function renewUpload(
  db: Queryable,
  environmentId: Uuid<"env">,
  bundleDigest: string,
  { files }: Archive,
  now: number,
): Promise<void> {
  const digests = new Set([bundleDigest, ...files.map(({ digest }) => digest)]);
  const keys = [...digests].map((digest) => Buffer.from(digest, "hex"));
  return touchBundleCandidates(db, environmentId, keys, now - RENEWED_AFTER_MS, now);
}
