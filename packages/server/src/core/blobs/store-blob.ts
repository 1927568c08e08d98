import { setTimeout as pause } from "node:timers/promises";
import { passing, type BlobSink, type BlobSource } from "@keelson/workspace-tree";
import { LIMITS, type Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import { DomainError } from "../../domain-error.ts";
import type { BlobStore } from "./blob.ts";
import { announceBlob, markBlobStored } from "./blob-writes.ts";

export type BlobContext = {
  db: Database;
  clock: Clock;
  /** The store of an environment's blobs: of its workspaces, logs and files of sessions. */
  workspaceBlobs: (environmentId: Uuid<"env">) => BlobStore;
};

/** A removal under way is over in milliseconds, unless its process died. */
const REMOVAL_CHECKS = 40;
const REMOVAL_PAUSE_MS = 50;

/**
 * Stores bytes for an environment: announced first, so that they are not removed as unneeded, then stored, then known.
 * Until something names them, such as a version or a file of a session, they are kept for the grace of the collection.
 *
 * @param bytes of an upload, whose memory nobody else uses: it is given back.
 * @throws DomainError `invalid_request` when they have another digest, `payload_too_large`, `unavailable`.
 */
export const storeBlob = (
  context: BlobContext,
  environmentId: Uuid<"env">,
  digest: string,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number = LIMITS.blobBytes,
): Promise<{ sizeBytes: number }> => store(context, environmentId, digest, passing(bytes), maxBytes);

async function store(
  { db, clock, workspaceBlobs }: BlobContext,
  environmentId: Uuid<"env">,
  digest: string,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ sizeBytes: number }> {
  const key = Buffer.from(digest, "hex");
  await announce(db, clock, environmentId, key);
  const sizeBytes = await workspaceBlobs(environmentId).put(digest, bytes, maxBytes);
  if (!(await markBlobStored(db, environmentId, key, sizeBytes, clock()))) throw beingRemoved();
  return { sizeBytes };
}

async function announce(
  db: Database,
  clock: Clock,
  environmentId: Uuid<"env">,
  key: Buffer,
): Promise<{ isStored: boolean }> {
  for (let check = 0; check < REMOVAL_CHECKS; check += 1) {
    const announced = await announceBlob(db, environmentId, key, clock());
    if (announced !== null) return announced;
    await pause(REMOVAL_PAUSE_MS);
  }
  throw beingRemoved();
}

const beingRemoved = (): DomainError =>
  new DomainError("unavailable", "The blob is just being removed as unneeded; store it again.");

/** For what the server itself writes: what is there already is not written again. */
export function blobSink(context: BlobContext, environmentId: Uuid<"env">): BlobSink {
  return {
    put: async (digest, bytes) => {
      const { isStored } = await announce(
        context.db,
        context.clock,
        environmentId,
        Buffer.from(digest, "hex"),
      );
      if (!isStored) await store(context, environmentId, digest, chunksOf(bytes), LIMITS.blobBytes);
    },
  };
}

/** Unchecked: the tree engine checks the digest of all it reads. */
export const blobSource = (context: BlobContext, environmentId: Uuid<"env">): BlobSource => ({
  get: (digest) => context.workspaceBlobs(environmentId).load(digest),
});

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
