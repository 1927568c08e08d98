import { hash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";

/** Blobs that were fetched lately, on this machine's disk. What it gives has the digest that was asked for. */
export type BlobCache = {
  /** Null when it is not held, or damaged: then it is dropped. */
  get(digest: string): Promise<Buffer | null>;
  /** Never fails: what cannot be held is fetched again. */
  put(digest: string, bytes: Uint8Array): Promise<void>;
};

const DIGEST = /^[0-9a-f]{64}$/;

/** A folder of at most `maxBytes`; what was not used for longest goes first. One process uses it at a time. */
export async function openBlobCache(
  folder: string,
  options: { maxBytes: number; clock: Clock; logger: Logger },
): Promise<BlobCache> {
  const { maxBytes, clock, logger } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Least recently used first.
  const sizes = await readSizes(folder);
  let total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const placeOf = (digest: string): string => join(folder, digest);

  const drop = async (digest: string): Promise<void> => {
    total -= sizes.get(digest) ?? 0;
    sizes.delete(digest);
    await rm(placeOf(digest), { force: true });
  };

  const hold = (digest: string, size: number): void => {
    total += size - (sizes.get(digest) ?? 0);
    sizes.delete(digest);
    sizes.set(digest, size);
  };

  const makeRoom = async (): Promise<void> => {
    for (const digest of sizes.keys()) {
      if (total <= maxBytes) return;
      await drop(digest);
    }
  };
  await makeRoom();

  return {
    get: async (digest) => {
      const size = sizes.get(digest);
      if (size === undefined) return null;
      hold(digest, size);
      try {
        const bytes = await readFile(placeOf(digest));
        if (hash("sha256", bytes) === digest) {
          const seconds = clock.now() / 1000;
          await utimes(placeOf(digest), seconds, seconds);
          return bytes;
        }
        logger.warn({ digest }, "a cached blob is damaged; fetching it again");
      } catch (err) {
        logger.warn({ err, digest }, "a cached blob cannot be read; fetching it again");
      }
      await drop(digest);
      return null;
    },
    put: async (digest, bytes) => {
      if (sizes.has(digest) || bytes.byteLength > maxBytes || hash("sha256", bytes) !== digest) return;
      hold(digest, bytes.byteLength);
      const temporary = `${placeOf(digest)}.partial`;
      try {
        await writeFile(temporary, bytes, { mode: 0o600 });
        await rename(temporary, placeOf(digest));
        await makeRoom();
      } catch (err) {
        logger.warn({ err, digest }, "a blob cannot be cached");
        await rm(temporary, { force: true });
        await drop(digest);
      }
    },
  };
}

async function readSizes(folder: string): Promise<Map<string, number>> {
  const found: { name: string; size: number; usedAt: number }[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (DIGEST.test(name)) {
      const { size, mtimeMs } = await stat(path);
      found.push({ name, size, usedAt: mtimeMs });
    } else await rm(path, { recursive: true, force: true });
  }
  found.sort((a, b) => a.usedAt - b.usedAt);
  return new Map(found.map(({ name, size }) => [name, size]));
}
