import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** The bundle could not be fetched; another worker, or this one later, may have more luck. */
export class BundleUnavailable extends Error {
  override readonly name = "BundleUnavailable";
}

export type BundleCache = {
  /** The path of the bundle's file, whose content has that digest. Throws `BundleUnavailable`. */
  ensure(digest: string): Promise<string>;
};

/**
 * Bundles on disk under their SHA-256. Callers that want the same bundle share one download. A file is verified when
 * the agent first uses it, because an earlier machine crash may have left it short.
 */
export function openBundleCache(dataDir: string, download: (digest: string) => Promise<Buffer>): BundleCache {
  const folder = join(dataDir, "bundles");
  const known = new Map<string, Promise<string>>();

  const obtain = async (digest: string): Promise<string> => {
    const path = join(folder, `${digest}.mjs`);
    if (await hasDigest(path, digest)) return path;
    let bytes: Buffer;
    try {
      bytes = await download(digest);
    } catch (cause) {
      throw new BundleUnavailable(
        `The bundle ${digest} could not be downloaded: ${(cause as Error).message}`,
        { cause },
      );
    }
    const actual = sha256(bytes);
    if (actual !== digest)
      throw new BundleUnavailable(`The download of bundle ${digest} has the digest ${actual}.`);
    await mkdir(folder, { recursive: true });
    await writeAtomically(path, bytes);
    return path;
  };

  return {
    ensure(digest) {
      const present = known.get(digest);
      if (present !== undefined) return present;
      const pending = obtain(digest);
      known.set(digest, pending);
      pending.catch(() => known.delete(digest));
      return pending;
    },
  };
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

async function hasDigest(path: string, digest: string): Promise<boolean> {
  try {
    return sha256(await readFile(path)) === digest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

/** Two agents may share a folder: each writes a file of its own and moves it into place. */
async function writeAtomically(path: string, bytes: Buffer): Promise<void> {
  const temporary = `${path}.${process.pid}.partial`;
  try {
    const file = await open(temporary, "w", 0o600);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
