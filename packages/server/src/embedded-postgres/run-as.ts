// PostgreSQL refuses to run as root. When this process is root, the server runs as the account `keelson` if the machine
// has one, else as `nobody`; the account must be in /etc/passwd, because initdb looks its own name up.

import { readFile, stat } from "node:fs/promises";
import path from "node:path";

/** The account the PostgreSQL programs run as. */
export interface RunAs {
  readonly userName: string;
  readonly uid: number;
  readonly gid: number;
  /** The user id of this process. */
  readonly ownUid: number;
  /** True when the server runs as another account than this process. */
  readonly switched: boolean;
}

const ACCOUNTS_FOR_ROOT = ["keelson", "nobody"];

export async function findRunAs(): Promise<RunAs> {
  const ownUid = process.getuid?.() ?? 0;
  const ownGid = process.getgid?.() ?? 0;
  if (ownUid !== 0) return { userName: `uid ${ownUid}`, uid: ownUid, gid: ownGid, ownUid, switched: false };
  const accounts = new Map<string, { uid: number; gid: number }>();
  for (const line of (await readFile("/etc/passwd", "utf8")).split("\n")) {
    const [name, , uid, gid] = line.split(":");
    if (name !== undefined && uid !== undefined && gid !== undefined)
      accounts.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  for (const userName of ACCOUNTS_FOR_ROOT) {
    const account = accounts.get(userName);
    // macOS lists nobody as -2, which the kernel knows as its unsigned twin.
    if (account) return { userName, uid: account.uid >>> 0, gid: account.gid >>> 0, ownUid, switched: true };
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and /etc/passwd has neither an account "keelson" nor "nobody". ' +
      "Start as an ordinary user, add one of them, or set DATABASE_URL to a PostgreSQL 15 or later.",
  );
}

/** Whether the account may pass through every folder down to and including `dir`, by owner, group and mode (no ACLs). */
export async function canReach(runAs: RunAs, dir: string): Promise<boolean> {
  if (!runAs.switched) return true;
  for (let folder = path.resolve(dir); ; folder = path.dirname(folder)) {
    const { mode, uid, gid } = await stat(folder);
    const bit = uid === runAs.uid ? 0o100 : gid === runAs.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === path.dirname(folder)) return true;
  }
}
