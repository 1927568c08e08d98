import { chmod, chown, mkdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import { nameFullDisk } from "../deaths/full-disk.ts";
import type { Logger } from "../log.ts";
import type { BundleUses } from "./bundle-uses.ts";
import type { EvictionBound } from "./decide-eviction.ts";
import { fetchBundle, type BundleKey, type Download, type FetchedBundle } from "./fetch-bundle.ts";
import { isWhole, placeFiles } from "./place-files.ts";
import { startEviction, type Eviction } from "./start-eviction.ts";

/** The bundle could not be fetched; another worker, or this one later, may have more luck. */
export class BundleUnavailable extends Error {
  override readonly name = "BundleUnavailable";
}

/** Where a bundle's files are. */
export type PlacedBundle = {
  root: string;
  /** The module to import. */
  path: string;
};

export type BundleCache = {
  /** Keeps a bundle from eviction until the returned function is called. All below need it to be held. */
  hold(digest: string): () => void;
  /** Has all files of the bundle on this machine, where nobody but the agent's user can read them. Throws `BundleUnavailable`. */
  fetch(bundle: BundleKey): Promise<void>;
  /**
   * Lays a bundle out in a folder. Throws `BundleUnavailable`.
   *
   * @param gid the group that alone may read it there; null: nobody but the agent's user may.
   */
  place(bundle: BundleKey, gid: number | null): Promise<PlacedBundle>;
  /**
   * Lays a bundle out again whose files have gone or changed since, fetching what is not there. False when all of them are as
   * they were. Throws `BundleUnavailable`.
   */
  repair(bundle: BundleKey, gid: number | null): Promise<boolean>;
  /** Evicts nothing more. */
  close(): Promise<void>;
};

export type BundleCacheOptions = EvictionBound & {
  dataDir: string;
  uses: BundleUses;
  download: Download;
  clock: Clock;
  logger: Logger;
};

/**
 * Bundles on disk: files under their SHA-256, and a folder for each bundle and group, of hard links to them. Callers that want
 * the same share one download. What is on the disk is verified when the agent first uses it, and evicted when the cache is
 * over its bound and nobody uses it.
 */
export const openBundleCache = (options: BundleCacheOptions): BundleCache => new DiskBundles(options);

class DiskBundles implements BundleCache {
  readonly #options: BundleCacheOptions;
  readonly #stored: string;
  readonly #fetched = new Map<string, Promise<FetchedBundle>>();
  readonly #placed = new Map<string, Promise<PlacedBundle>>();
  readonly #repairing = new Map<string, Promise<boolean>>();
  readonly #eviction: Eviction;
  /** Bundles whose files may have no link yet. */
  #fetching = 0;

  constructor(options: BundleCacheOptions) {
    this.#options = options;
    this.#stored = join(options.dataDir, "bundles");
    this.#eviction = startEviction({
      ...options,
      forget: (digest) => this.#forget(digest),
      isFetching: () => this.#fetching > 0,
    });
  }

  hold(digest: string): () => void {
    const { uses } = this.#options;
    const release = uses.hold(digest);
    return () => {
      release();
      if (!uses.isHeld(digest)) this.#eviction.settled();
    };
  }

  async fetch(bundle: BundleKey): Promise<void> {
    if (!this.#options.uses.isAnnounced(bundle.digest)) await this.#begin(bundle.digest);
    await this.#fetchOnce(bundle);
  }

  place(bundle: BundleKey, gid: number | null): Promise<PlacedBundle> {
    return once(this.#placed, `${bundle.digest} ${gid ?? ""}`, () => this.#place(bundle, gid));
  }

  repair(bundle: BundleKey, gid: number | null): Promise<boolean> {
    const key = `${bundle.digest} ${gid ?? ""}`;
    // Whoever comes meanwhile failed for the same reason.
    return once(this.#repairing, key, () =>
      this.#repair(bundle, gid).finally(() => this.#repairing.delete(key)),
    );
  }

  close(): Promise<void> {
    return this.#eviction.close();
  }

  #forget(digest: string): void {
    this.#fetched.delete(digest);
    for (const key of this.#placed.keys()) if (key.startsWith(digest)) this.#placed.delete(key);
  }

  /** The first use after a while: another agent may have evicted the bundle, and no other one may from here on. */
  async #begin(digest: string): Promise<void> {
    await this.#options.uses.announce(digest);
    for (const [key, pending] of this.#placed) {
      if (!key.startsWith(digest)) continue;
      const isThere = await pending
        .then(({ root }) => this.#touch(root))
        .then(
          () => true,
          () => false,
        );
      if (!isThere) return this.#forget(digest);
    }
  }

  /** Marks a folder or a file as used now. */
  #touch(path: string): Promise<void> {
    const seconds = this.#options.clock.now() / 1000;
    return utimes(path, seconds, seconds);
  }

  /** What another agent evicted between a look at it and its use is fetched again, once. */
  async #insist<T>(digest: string, work: () => Promise<T>): Promise<T> {
    this.#fetching += 1;
    try {
      return await work().catch((error: unknown) => {
        if (!isMissing(error)) throw error;
        this.#forget(digest);
        return work();
      });
    } finally {
      this.#fetching -= 1;
      if (this.#fetching === 0) this.#eviction.settled();
    }
  }

  #fetchOnce(bundle: BundleKey): Promise<FetchedBundle> {
    return once(this.#fetched, bundle.digest, () => this.#obtain(bundle));
  }

  async #obtain(bundle: BundleKey): Promise<FetchedBundle> {
    const stored = this.#stored;
    const download: Download = async (digest) => {
      const bytes = await this.#options.download(digest);
      this.#eviction.added(bytes.byteLength);
      return bytes;
    };
    const access = { download, touch: (path: string) => this.#touch(path) };
    try {
      await mkdir(stored, { recursive: true });
      await chmod(stored, 0o700);
      return await this.#insist(bundle.digest, () => fetchBundle(join(stored, "files"), bundle, access));
    } catch (cause) {
      const named = nameFullDisk(cause, stored);
      if (named !== cause) throw named;
      const message = `The bundle ${bundle.digest} could not be downloaded: ${(cause as Error).message}`;
      throw new BundleUnavailable(message, { cause });
    }
  }

  async #place(bundle: BundleKey, gid: number | null): Promise<PlacedBundle> {
    const { dataDir } = this.#options;
    const parent = gid === null ? join(this.#stored, "placed") : join(dataDir, "task-bundles", String(gid));
    const root = join(parent, bundle.digest);
    try {
      return await this.#insist(bundle.digest, async () => {
        const { entry, files } = await this.#fetchOnce(bundle);
        await openParent(parent, gid);
        await placeFiles(root, files);
        await this.#touch(root);
        return { root, path: join(root, entry) };
      });
    } catch (error) {
      throw nameFullDisk(error, parent);
    }
  }

  async #repair(bundle: BundleKey, gid: number | null): Promise<boolean> {
    const { root } = await this.place(bundle, gid);
    const { files } = await this.#fetchOnce(bundle);
    if (await isWhole(root, files)) return false;
    this.#forget(bundle.digest);
    await this.place(bundle, gid);
    return true;
  }
}

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

/** Files may be read by all who reach them, so what keeps them from others is the folder. */
async function openParent(parent: string, gid: number | null): Promise<void> {
  await mkdir(parent, { recursive: true });
  if (gid === null) return;
  await chmod(join(parent, ".."), 0o711);
  await chown(parent, 0, gid);
  await chmod(parent, 0o710);
}

function once<T>(known: Map<string, Promise<T>>, key: string, make: () => Promise<T>): Promise<T> {
  const present = known.get(key);
  if (present !== undefined) return present;
  const pending = make();
  known.set(key, pending);
  pending.catch(() => known.delete(key));
  return pending;
}
