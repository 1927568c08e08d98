import { createDatabase } from "../../db/pool.ts";
import { migrate } from "../../db/migrate.ts";
import {
  adoptNextKey,
  ensureNextKey,
  findMasterKey,
  isInstallationKey,
  type MasterKey,
} from "../credentials/master-key.ts";
import { rewrapSecrets } from "./rewrap-secrets.ts";

export type MasterKeyChange = {
  databaseUrl: string;
  dataDir: string;
  /** The present key and the next; null when `master.key` of the data folder holds the key, and is to hold a new one. */
  keys: { present: MasterKey; next: MasterKey } | null;
};

/**
 * Changes the master key of an installation while none of its servers runs. Interrupted at any point, it can be called
 * again: a new key is in a file before the database is told of it, and one that the database knows is only moved.
 *
 * @returns how many values were wrapped anew.
 * @throws Error when the present key is not the installation's, or the folder has none.
 */
export async function changeMasterKey({ databaseUrl, dataDir, keys }: MasterKeyChange): Promise<number> {
  await migrate(databaseUrl);
  const db = createDatabase({ url: databaseUrl, poolSize: 1, statementNames: false });
  try {
    const { present, next } = keys ?? {
      present: await requireKeyFile(dataDir),
      next: await ensureNextKey(dataDir),
    };
    const count = (await isInstallationKey(db, next))
      ? 0
      : await db.transaction((tx) => rewrapSecrets(tx, present, next));
    if (keys === null) await adoptNextKey(dataDir);
    return count;
  } finally {
    await db.close();
  }
}

async function requireKeyFile(dataDir: string): Promise<MasterKey> {
  const key = await findMasterKey(dataDir);
  if (key !== null) return key;
  throw new Error(
    `${dataDir} has no master.key to be replaced. Set KEELSON_DATA_DIR to the folder of the servers, or, if they have ` +
      "KEELSON_MASTER_KEY, set that and KEELSON_NEW_MASTER_KEY.",
  );
}
