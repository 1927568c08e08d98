import { randomBytes, createHash } from "node:crypto";
import type { BlobStore } from "../../core/blobs/blob.ts";
import { isDatabaseDiskFull } from "../../db/disk-full.ts";
import type { Database } from "../../db/pool.ts";
import { sql } from "../../db/sql.ts";
import { DomainError } from "../../domain-error.ts";

/** Where bytes are kept, each on a disk of its own maybe. */
export type Store = "database" | "blobs";

/** Which disks are full, as far as it was met: asked for by probes. */
export type StorageSpace = {
  /** A write was refused for want of room there. */
  isFull(store: Store): void;
  /** Those that were full, and still have no room for a little. */
  fullStores(): Promise<Store[]>;
};

/** More than is left over in files and pages that are there already. */
const PROBE_BYTES = 256 * 1024;

export function createStorageSpace(db: Database, blobs: BlobStore): StorageSpace {
  const full = new Set<Store>();
  const probes: Record<Store, () => Promise<unknown>> = {
    database: () => probeDatabase(db),
    blobs: () => probeBlobs(blobs),
  };
  const probe = async (): Promise<Store[]> => {
    for (const store of full) {
      const error: unknown = await probes[store]().then(
        () => null,
        (failure: unknown) => failure,
      );
      // What else is wrong with it is another check's to say.
      if (!isDiskFull(error)) full.delete(store);
    }
    return [...full];
  };
  let probing: Promise<Store[]> | null = null;
  return {
    isFull: (store) => void full.add(store),
    fullStores: () => (probing ??= probe().finally(() => (probing = null))),
  };
}

const isDiskFull = (error: unknown): boolean =>
  isDatabaseDiskFull(error) || (error instanceof DomainError && error.code === "storage_full");

/** Makes a table of its own larger than what pages have left, and takes it back. */
async function probeDatabase(db: Database): Promise<void> {
  await db
    .transaction(
      async (tx) => {
        await tx.query(sql`
          CREATE TEMPORARY TABLE keelson_space_probe ON COMMIT DROP AS
          SELECT repeat(md5(n::text), 32) AS filler FROM generate_series(1, 1024) AS n`);
        throw new TakenBack();
      },
      { durability: "relaxed" },
    )
    .catch((error: unknown) => {
      if (!(error instanceof TakenBack)) throw error;
    });
}

class TakenBack extends Error {}

async function probeBlobs(blobs: BlobStore): Promise<void> {
  const bytes = randomBytes(PROBE_BYTES);
  const digest = createHash("sha256").update(bytes).digest("hex");
  const whole = async function* () {
    yield bytes;
  };
  await blobs.put(digest, whole(), PROBE_BYTES);
  await blobs.remove(digest);
}
