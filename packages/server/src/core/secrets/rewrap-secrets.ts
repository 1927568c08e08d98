import type { Tx } from "../../db/queryable.ts";
import { changeInstallationKey, type MasterKey } from "../credentials/master-key.ts";
import { masterKeyWrapper, rewrapKey } from "./envelope.ts";
import { lockWrappedKeys } from "./secret-reads.ts";
import { updateWrappedKeys } from "./secret-writes.ts";

/**
 * Changes the master key: every data key is wrapped by the new one, and the installation takes it for its own. Values are
 * not decrypted. Servers that run with the old key can read no secret from the commit on.
 *
 * @returns how many values there are.
 * @throws Error when the installation's key is not `from`, or a row was not wrapped by it; nothing has changed then.
 */
export async function rewrapSecrets(tx: Tx, from: MasterKey, to: MasterKey): Promise<number> {
  if (!(await changeInstallationKey(tx, from, to)))
    throw new Error("The database was not set up with the master key that is to be replaced.");
  const [oldKeys, newKeys] = [masterKeyWrapper(from), masterKeyWrapper(to)];
  const rows = await lockWrappedKeys(tx);
  await updateWrappedKeys(
    tx,
    rows.map((row) => ({ ...row, wrappedKey: rewrapKey(oldKeys, newKeys, row, row.wrappedKey) })),
  );
  return rows.length;
}
