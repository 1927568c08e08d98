import { ArchiveError, LIMITS, parseArchive, type Archive, type Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { BlobStore } from "../blobs/blob.ts";
import { findBundle } from "./bundle-reads.ts";

/**
 * What is to be uploaded before a deployment can be made of it.
 *
 * @param noWorker why no worker could run it, for those who would rather not upload it then
 */
export const bundleMissing = (
  bundleDigest: string,
  missing: readonly string[],
  noWorker: string | null = null,
): DomainError =>
  new DomainError(
    "bundle_missing",
    `${missing.length === 1 ? `The bundle ${missing[0]} has` : `${missing.length} files of the bundle have`} not been uploaded to this environment. PUT the bytes of each to deployment-bundles/{sha256} first.`,
    { bundle_digest: bundleDigest, missing, no_worker: noWorker },
  );

/**
 * The index of an archive that the environment has uploaded, read and checked.
 *
 * @param findNoWorker asked only when the index is missing
 * @throws DomainError `bundle_missing`, or `invalid_request` when it is no index.
 */
export async function readArchive(
  db: Queryable,
  blobs: BlobStore,
  environmentId: Uuid<"env">,
  digest: string,
  findNoWorker: () => Promise<string | null>,
): Promise<Archive> {
  const bundle = await findBundle(db, environmentId, Buffer.from(digest, "hex"));
  if (bundle === null) throw bundleMissing(digest, [digest], await findNoWorker());
  const refuse = (message: string): never => {
    throw invalidRequest([{ path: "bundle_digest", message }]);
  };
  if (bundle.sizeBytes > LIMITS.archiveIndexBytes)
    refuse(`names ${bundle.sizeBytes} bytes; an archive's index has at most ${LIMITS.archiveIndexBytes}`);
  const bytes = await blobs.load(digest);
  if (bytes === null) throw bundleMissing(digest, [digest], await findNoWorker());
  try {
    return parseArchive(bytes);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    return refuse(error.message);
  }
}
