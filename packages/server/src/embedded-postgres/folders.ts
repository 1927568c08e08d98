// Where an embedded server keeps its files and its socket.

import { createHash, randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, mkdtemp, readFile, realpath, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { canReach, type RunAs } from "./run-as.ts";

// Linux allows 107 bytes for the path of a socket, macOS 103; PostgreSQL adds `/.s.PGSQL.5432.lock`.
const MAX_SOCKET_DIR_BYTES = 80;
const MOVED_NAME = "moved-to";
const FALLBACK_PARENT = "/var/lib/keelson";

/**
 * Makes and returns the parent of the cluster's folder and the cluster's folder itself, `<place>/cluster`.
 *
 * Normally `<place>` is `dataDir`. When root starts the server and the account it runs as cannot reach `dataDir` (a
 * checkout below /root, which is 0700), we do not open other people's folders: the cluster goes to a new folder of
 * /var/lib/keelson, whose path is written to `dataDir/moved-to`. The name has a random part, so that removing
 * `dataDir` makes the next start begin afresh instead of finding an old database again.
 */
export async function openClusterDir(runAs: RunAs, dataDir: string): Promise<string> {
  const wanted = path.resolve(dataDir);
  try {
    // 0711: the account of the server may pass through; what else is in there stays private by the files' own modes.
    const firstMade = await mkdir(wanted, { recursive: true, mode: runAs.switched ? 0o711 : 0o700 });
    if (firstMade !== undefined && runAs.switched) await chmodMade(firstMade, wanted);
    if (!runAs.switched) await assertWritable(wanted);
    const real = await realpath(wanted);
    return path.join((await canReach(runAs, real)) ? real : await openFallback(real), "cluster");
  } catch (error) {
    throw asFolderError(error, wanted);
  }
}

async function openFallback(dataDir: string): Promise<string> {
  const note = path.join(dataDir, MOVED_NAME);
  const noted = await readFile(note, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (noted !== undefined) {
    await mkdir(noted.trim(), { recursive: true, mode: 0o711 });
    return noted.trim();
  }
  await mkdir(FALLBACK_PARENT, { recursive: true, mode: 0o711 });
  const place = await mkdtemp(path.join(FALLBACK_PARENT, `${digestOf(dataDir)}-`));
  await chmod(place, 0o711);
  await writeFile(note, `${place}\n`);
  return place;
}

/** Makes every folder from `first` down to `last` passable, whatever the umask said; all of them are new and ours. */
async function chmodMade(first: string, last: string): Promise<void> {
  for (let folder = last; folder.length >= first.length; folder = path.dirname(folder))
    await chmod(folder, 0o711);
}

/** Makes and returns the private folder of the server's socket: short, the same for the same cluster, 0700. */
export async function openSocketDir(runAs: RunAs, clusterDir: string): Promise<string> {
  const name = `keelson-${digestOf(`${runAs.uid}:${clusterDir}`)}`;
  for (const parent of new Set([tmpdir(), "/tmp"])) {
    const dir = path.join(parent, name);
    if (Buffer.byteLength(dir) > MAX_SOCKET_DIR_BYTES || !(await canReach(runAs, parent))) continue;
    await mkdir(dir, { mode: 0o700 }).then(
      () => chown(dir, runAs.uid, runAs.gid),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw asFolderError(error, dir);
      },
    );
    // Whoever may use the socket is superuser of the database, so a folder planted by another account is refused.
    const found = await lstat(dir);
    const { uid, mode } = found;
    if (!found.isDirectory() || (uid !== runAs.uid && uid !== runAs.ownUid))
      throw new Error(
        `${dir} belongs to another account, so PostgreSQL cannot put its socket there. Remove it and start again.`,
      );
    if (uid !== runAs.uid) await chown(dir, runAs.uid, runAs.gid);
    if ((mode & 0o777) !== 0o700) await chmod(dir, 0o700);
    return dir;
  }
  throw new Error(`No folder is short enough for PostgreSQL's socket (tried ${tmpdir()} and /tmp).`);
}

/** Twelve characters that name `text`; enough for the few clusters of one machine. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

async function assertWritable(dir: string): Promise<void> {
  // access() says yes on read-only mounts of some container runtimes, so a folder is really made.
  const probe = path.join(dir, `.probe-${randomBytes(4).toString("hex")}`);
  await mkdir(probe);
  await rmdir(probe);
}

function asFolderError(error: unknown, dir: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const reason = {
    EACCES: "this account may not write there",
    EPERM: "this account may not write there",
    EROFS: "the file system is read-only",
    ENOTDIR: "a part of the path is a file",
    EEXIST: "it is a file",
    ENOSPC: "the disk is full",
  }[code ?? ""];
  return reason === undefined
    ? error
    : new Error(`The data folder ${dir} cannot be used: ${reason}. Choose another with KEELSON_DATA_DIR.`, {
        cause: error,
      });
}
