import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArchive, type BundleFormatVersion } from "@keelson/contract";
import { modeOf, type PlacedFile } from "./place-files.ts";
import { hasDigest, requireDigest, writeAtomically } from "./stored-file.ts";

export type BundleKey = {
  /** SHA-256 of the module, or of the archive's index. */
  digest: string;
  format: BundleFormatVersion;
};

/** A bundle whose files are all on this machine, verified. */
export type FetchedBundle = {
  /** The path of the module to import. */
  entry: string;
  files: readonly PlacedFile[];
};

/** The bytes with that digest. */
export type Download = (digest: string) => Promise<Uint8Array>;

/** Files of one archive that are fetched at a time. */
const AT_ONCE = 8;

export type StoreAccess = {
  download: Download;
  /** Marks a stored file as used now. */
  touch: (path: string) => Promise<void>;
};

/** Whether the file is there whole. It counts as used now, so that it stays until a folder of the bundle has it. */
async function isKept(path: string, digest: string, touch: StoreAccess["touch"]): Promise<boolean> {
  try {
    await touch(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  return hasDigest(path, digest);
}

/** Fetches what is not in the folder, where files are kept under their digests, whichever bundles they are of. */
export async function fetchBundle(
  folder: string,
  { digest, format }: BundleKey,
  { download, touch }: StoreAccess,
): Promise<FetchedBundle> {
  const store = async (name: string, wanted: string, executable: boolean): Promise<string> => {
    const path = join(folder, name);
    if (await isKept(path, wanted, touch)) return path;
    const bytes = await download(wanted);
    requireDigest(bytes, wanted);
    await mkdir(folder, { recursive: true });
    await writeAtomically(path, bytes, modeOf(executable));
    return path;
  };
  if (format === 1) {
    const entry = "bundle.mjs";
    const stored = await store(digest, digest, false);
    return { entry, files: [{ path: entry, stored, digest, executable: false }] };
  }
  const archive = parseArchive(await readFile(await store(digest, digest, false)));
  const files: PlacedFile[] = [];
  const left = archive.files.values();
  const fetchNext = async (): Promise<void> => {
    for (const { path, digest: wanted, executable } of left) {
      // Links share their mode, so one content may be stored twice.
      const stored = await store(executable ? `${wanted}.x` : wanted, wanted, executable);
      files.push({ path, stored, digest: wanted, executable });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, fetchNext));
  return { entry: archive.entry, files };
}
