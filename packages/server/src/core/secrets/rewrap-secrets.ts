import { encodeId } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { changeInstallationKey, type MasterKey } from "../credentials/master-key.ts";
import { keepEarlierKeys } from "./earlier-keys.ts";
import { masterKeyWrapper, rewrapKey, type KeyWrapper } from "./envelope.ts";
import { lockWrappedKeys, type NamedKeyRow } from "./secret-reads.ts";
import { updateWrappedKeys } from "./secret-writes.ts";

/**
 * Changes the master key: every data key is wrapped by the new one, and the installation takes it for its own. Values are
 * not decrypted. Servers that run with the old key read and store no secret from the commit on, and what they stored before is
 * among the values.
 *
 * @returns how many values there are.
 * @throws Error when the installation's key is not `from`, or a row was not wrapped by it; nothing has changed then.
 */
export async function rewrapSecrets(tx: Tx, from: MasterKey, to: MasterKey): Promise<number> {
  const number = await changeInstallationKey(tx, from, to);
  if (number === null)
    throw new Error("The database was not set up with the master key that is to be replaced.");
  await keepEarlierKeys(tx, number, from, to);
  const [oldKeys, newKeys] = [masterKeyWrapper(from), masterKeyWrapper(to)];
  const rows = await lockWrappedKeys(tx);
  await updateWrappedKeys(
    tx,
    rows.map((row) => ({ ...row, wrappedKey: rewrap(oldKeys, newKeys, row) })),
  );
  return rows.length;
}

function rewrap(from: KeyWrapper, to: KeyWrapper, row: NamedKeyRow): Buffer {
  try {
    return rewrapKey(from, to, row, row.wrappedKey);
  } catch (error) {
    throw new Error(
      `The secret ${row.name} of the environment ${encodeId("env", row.environmentId)} has a value (version ${row.version}) that ` +
        "cannot be read with the master key that is to be replaced, so nothing was changed. " +
        `Start a server, delete the secret with \`keelson secret delete ${row.name}\`, run this again, and set the secret once more.`,
      { cause: error },
    );
  }
}
