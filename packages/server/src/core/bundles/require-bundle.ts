import { archiveBytes, type Archive, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { insertBundleFiles, lockBundle } from "./bundle-writes.ts";
import { bundleMissing } from "./read-archive.ts";

/** All bytes of a bundle, which stays with its files from here on as long as the deployment does. @throws DomainError `bundle_missing` */
export async function requireBundle(
  tx: Tx,
  environmentId: Uuid<"env">,
  digest: string,
  archive: Archive | null,
  noWorker: string | null,
): Promise<number> {
  const key = Buffer.from(digest, "hex");
  const bundle = await lockBundle(tx, environmentId, key);
  if (bundle === null) throw bundleMissing(digest, [digest]);
  if (archive === null) return bundle.sizeBytes;
  const digests = archive.files.map((file) => Buffer.from(file.digest, "hex"));
  const missing = await insertBundleFiles(tx, environmentId, key, digests);
  if (missing.length > 0)
    throw bundleMissing(
      digest,
      missing.map((file) => file.toString("hex")),
      noWorker,
    );
  return bundle.sizeBytes + archiveBytes(archive.files);
}
