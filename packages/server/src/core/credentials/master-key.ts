import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatCredential, type CredentialKind } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import {
  changeFingerprint,
  findFingerprint,
  holdKeyNumber,
  rememberFingerprint,
} from "./installation-writes.ts";

/**
 * The key that everything secret of this installation hangs on: 32 bytes, the same on all replicas. It is never in the
 * database: with a dump alone nothing that was derived from it or encrypted under it can be read.
 */
export type MasterKey = Buffer;

const KEY_BYTES = 32;
const FILE_NAME = "master.key";
/** The key that is to take its place: written before the database is told of it. */
const NEXT_FILE_NAME = "master.key.next";

/** The key of the text form: 32 bytes in base64, as `openssl rand -base64 32` prints them. Null when it is not one. */
export function parseMasterKey(text: string): MasterKey | null {
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text.trim())) return null;
  const key = Buffer.from(text.trim(), "base64");
  return key.length === KEY_BYTES ? key : null;
}

/**
 * Reads `master.key` of the data folder, mode 0600, or makes it at the first start. Two processes that start at once
 * agree on one key: whoever links its file first has made it.
 *
 * @throws Error when the file is there and does not hold a key.
 */
export const ensureMasterKey = (dataDir: string): Promise<MasterKey> => ensureKeyFile(dataDir, FILE_NAME);

/** The key that `adoptNextKey` will put into use; the same one however often a change is begun again. */
export const ensureNextKey = (dataDir: string): Promise<MasterKey> => ensureKeyFile(dataDir, NEXT_FILE_NAME);

export const adoptNextKey = (dataDir: string): Promise<void> =>
  rename(join(dataDir, NEXT_FILE_NAME), join(dataDir, FILE_NAME));

/** The key of the data folder; null when it has none. */
export const findMasterKey = (dataDir: string): Promise<MasterKey | null> =>
  readKeyFile(join(dataDir, FILE_NAME));

async function ensureKeyFile(dataDir: string, name: string): Promise<MasterKey> {
  const path = join(dataDir, name);
  const present = await readKeyFile(path);
  if (present !== null) return present;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const temporary = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  await writeFile(temporary, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { mode: 0o600, flush: true });
  try {
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  const made = await readKeyFile(path);
  if (made === null) throw new Error(`${path} vanished while it was being made; start again.`);
  return made;
}

async function readKeyFile(path: string): Promise<MasterKey | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const key = parseMasterKey(text);
  if (key === null) {
    throw new Error(
      `${path} does not hold a master key (32 bytes in base64). Restore it from a backup: without it, secrets cannot be read.`,
    );
  }
  return key;
}

/** What tells keys apart without telling the key. */
export const fingerprintOf = (key: MasterKey): Buffer =>
  createHmac("sha256", key).update("fingerprint").digest();

/** What a credential is derived for. `cell`: the tag that the installation had then; null when it had none. */
export type Derivation = { kind: CredentialKind; purpose: string; id: string; cell: string | null };

/**
 * The credential of an id. It is derived and not drawn, so that an answer that was lost can be given again although only the
 * digest is stored: the credential is a function of the master key, its kind, its purpose, the id and the tag of the cell.
 *
 * An installation can get its tag or another key later. So whatever remembers the id for a repeat remembers its `CredentialOrigin`.
 */
export function deriveCredential(key: MasterKey, { kind, purpose, id, cell }: Derivation): string {
  const blocks = [0, 1].map((block) =>
    createHmac("sha512", key).update(`credential ${kind} ${purpose} ${id} ${block}`).digest(),
  );
  return formatCredential(kind, Buffer.concat(blocks), cell);
}

/** Remembers the first replica's key, and says whether this one is the same. */
export async function isInstallationKey(db: Queryable, key: MasterKey): Promise<boolean> {
  const fingerprint = fingerprintOf(key);
  await rememberFingerprint(db, fingerprint);
  const known = await findFingerprint(db);
  return known !== null && timingSafeEqual(known, fingerprint);
}

/**
 * For what is about to be stored under the key, or could not be read by it. A change of the key waits for the transaction, and
 * so finds what that stores.
 *
 * @returns the number of the key.
 * @throws DomainError `unavailable` when the installation's key was changed after this server started.
 */
export async function holdPresentKey(tx: Tx, key: MasterKey): Promise<number> {
  const number = await holdKeyNumber(tx, fingerprintOf(key));
  if (number === null) throw replacedKey();
  return number;
}

export const replacedKey = (): DomainError =>
  new DomainError(
    "unavailable",
    "The installation's master key was changed while this server ran. Restart the server with the new key.",
  );

/**
 * Takes the new key for the installation's.
 *
 * @returns the number of the old one; null, and without effect, when that is not the installation's key.
 */
export const changeInstallationKey = (tx: Tx, from: MasterKey, to: MasterKey): Promise<number | null> =>
  changeFingerprint(tx, fingerprintOf(from), fingerprintOf(to));
