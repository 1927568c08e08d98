import { setTimeout as pause } from "node:timers/promises";
import { LIMITS, type Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { DomainError } from "../../domain-error.ts";
import type { BlobStore } from "../blobs/blob.ts";
import { shareCollectionLock } from "./bundle-collection-writes.ts";
import { announceBundle, insertBundle } from "./bundle-writes.ts";

export type BundleUpload = { environmentId: Uuid<"env">; digest: string; bytes: AsyncIterable<Uint8Array> };

export type UploadContext = { db: Database; clock: Clock; blobs: BlobStore };

/** A removal under way is over in milliseconds, unless its process died. */
const REMOVAL_CHECKS = 40;
const REMOVAL_PAUSE_MS = 50;

/**
 * Stores a bundle and records that the environment has it: announced first, so that the bytes are not removed as unneeded,
 * then stored, then recorded: a record is never without its bytes. Every environment uploads its own, even bytes that the
 * store has, so that knowing a digest gives nobody another's code.
 *
 * @throws DomainError `invalid_request` when the bytes have another digest, `payload_too_large`, `unavailable`.
 */
export async function uploadBundle(
  { db, clock, blobs }: UploadContext,
  { environmentId, digest, bytes }: BundleUpload,
): Promise<{ digest: string; sizeBytes: number }> {
  const key = Buffer.from(digest, "hex");
  await announce(db, clock, environmentId, key);
  const sizeBytes = await blobs.put(digest, bytes, LIMITS.bundleBytes);
  if (!(await insertBundle(db, environmentId, key, sizeBytes, clock()))) throw beingRemoved();
  return { digest, sizeBytes };
}

async function announce(db: Database, clock: Clock, environmentId: Uuid<"env">, key: Buffer): Promise<void> {
  for (let check = 0; check < REMOVAL_CHECKS; check += 1) {
    const announced = await db.transaction(async (tx) => {
      await shareCollectionLock(tx);
      return announceBundle(tx, environmentId, key, clock());
    });
    if (announced) return;
    await pause(REMOVAL_PAUSE_MS);
  }
  throw beingRemoved();
}

const beingRemoved = (): DomainError =>
  new DomainError("unavailable", "The bundle is just being removed as unneeded; upload it again.");
