import { access, statfs } from "node:fs/promises";
import { join } from "node:path";
import { EXIT, ExitError } from "../exit-codes.ts";

const MEBIBYTE = 1 << 20;

/** A new cluster and its write-ahead log are about 70 MiB; the rest is what the first minutes need. */
const FIRST_START_BYTES = 128 * MEBIBYTE;

/** Before a database is made: PostgreSQL that runs out of room midway says neither where nor how much. */
export async function checkRoom(dataDir: string): Promise<void> {
  const isMade = await access(join(dataDir, "postgres", "cluster")).then(
    () => true,
    () => false,
  );
  if (isMade) return;
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  if (free >= FIRST_START_BYTES) return;
  const show = (bytes: number): string => `${Math.floor(bytes / MEBIBYTE)} MiB`;
  throw new ExitError(
    EXIT.failure,
    `The disk of ${dataDir} has ${show(free)} free, and the first start needs ${show(FIRST_START_BYTES)}: make room, or set KEELSON_DATA_DIR to a folder on another disk`,
  );
}
