import { ConfigError, type Config } from "./config.ts";
import { createCredentialCache } from "./core/credentials/credential-cache.ts";
import { ensureCell } from "./core/credentials/ensure-cell.ts";
import { createMakeCredential } from "./core/credentials/make-credential.ts";
import {
  ensureMasterKey,
  findMasterKey,
  isInstallationKey,
  type MasterKey,
} from "./core/credentials/master-key.ts";
import { findFingerprint } from "./core/credentials/installation-writes.ts";
import { createRunTokens } from "./core/credentials/run-token.ts";
import { openKeyring } from "./core/secrets/earlier-keys.ts";
import type { Database } from "./db/pool.ts";
import type { ServerContext } from "./server-context.ts";

type Credentials = Pick<
  ServerContext,
  "masterKey" | "keyring" | "origin" | "makeCredential" | "credentialCache" | "runTokens"
>;

/** What this installation has that its credentials are made and known by. */
export async function openCredentials(config: Config, db: Database): Promise<Credentials> {
  const masterKey = await requireMasterKey(config, db);
  const { keyring, keyNumber } = await db.transaction((tx) => openKeyring(tx, masterKey));
  const cell = await requireCell(config, db);
  return {
    masterKey,
    keyring,
    origin: { cell, keyNumber },
    makeCredential: createMakeCredential(cell),
    credentialCache: createCredentialCache(),
    runTokens: createRunTokens(masterKey, cell),
  };
}

async function requireMasterKey({ masterKey, dataDir }: Config, db: Database): Promise<MasterKey> {
  // Asked first: whoever sets a database up has a key in the file before the database is told of it.
  const isNew = (await findFingerprint(db)) === null;
  const key = masterKey ?? (await (isNew ? ensureMasterKey(dataDir) : findMasterKey(dataDir)));
  if (key !== null && (await isInstallationKey(db, key))) return key;
  throw new ConfigError(
    `This database was set up with ${key === null ? `a master key, and ${dataDir} has no master.key` : "another master key"}. ` +
      "Set KEELSON_MASTER_KEY to that key, or restore master.key of its data folder.",
  );
}

async function requireCell({ cell: wanted }: Config, db: Database): Promise<string | null> {
  const cell = await ensureCell(db, wanted);
  if (wanted === null || cell === wanted) return cell;
  throw new ConfigError(
    `KEELSON_CELL is "${wanted}", and this installation is the cell "${cell}". A cell keeps its tag, because credentials with it are in use. ` +
      `Set KEELSON_CELL to "${cell}" or unset it. If this is to be another cell, set DATABASE_URL to the database of that cell.`,
  );
}
