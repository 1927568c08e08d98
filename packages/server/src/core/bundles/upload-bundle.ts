import { LIMITS } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import type { BlobStore } from "../blobs/blob.ts";
import { insertBundle } from "./bundle-writes.ts";

export type BundleUpload = { environmentId: string; digest: string; bytes: AsyncIterable<Uint8Array> };

/**
 * Stores a bundle and records that the environment has it. The bytes first: a record is never without them. Every
 * environment uploads its own, even bytes that the store has, so that knowing a digest gives nobody another's code.
 *
 * @throws DomainError `invalid_request` when the bytes have another digest, `payload_too_large`.
 */
export async function uploadBundle(
  db: Queryable,
  blobs: BlobStore,
  { environmentId, digest, bytes }: BundleUpload,
): Promise<{ digest: string; sizeBytes: number }> {
  const sizeBytes = await blobs.put(digest, bytes, LIMITS.bundleBytes);
  await insertBundle(db, environmentId, Buffer.from(digest, "hex"), sizeBytes);
  return { digest, sizeBytes };
}
