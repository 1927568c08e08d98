import type { Tx } from "../../db/queryable.ts";
import type { Keyring } from "../credentials/credential-origin.ts";
import { holdPresentKey, replacedKey, type MasterKey } from "../credentials/master-key.ts";
import { listEarlierKeys, putEarlierKeys } from "./earlier-key-writes.ts";
import { masterKeyWrapper } from "./envelope.ts";

/** Master keys that were replaced: each is stored under the present one, for the credentials that were derived from it. */

const contextOf = (number: number): Buffer => Buffer.from(`keelson earlier master key\n${number}`);

/** Stores the key that `to` takes the place of, and those before it. */
export async function keepEarlierKeys(tx: Tx, number: number, from: MasterKey, to: MasterKey): Promise<void> {
  const [oldKeys, newKeys] = [masterKeyWrapper(from), masterKeyWrapper(to)];
  const rows = (await listEarlierKeys(tx)).map((row) => ({
    number: row.number,
    key: oldKeys.unwrap(row.wrappedKey, contextOf(row.number)),
  }));
  await putEarlierKeys(
    tx,
    [...rows, { number, key: from }].map((row) => ({
      number: row.number,
      wrappedKey: newKeys.wrap(row.key, contextOf(row.number)),
    })),
  );
}

/**
 * The installation's keys up to its present one, and the number of that.
 *
 * @throws DomainError `unavailable` when `present` is not its key.
 */
export async function openKeyring(
  tx: Tx,
  present: MasterKey,
): Promise<{ keyring: Keyring; keyNumber: number }> {
  const keyNumber = await holdPresentKey(tx, present);
  const keys = masterKeyWrapper(present);
  const known = new Map([[keyNumber, present]]);
  for (const { number, wrappedKey } of await listEarlierKeys(tx))
    known.set(number, keys.unwrap(wrappedKey, contextOf(number)));
  const keyring: Keyring = (number) => {
    const key = known.get(number);
    if (key === undefined) throw replacedKey();
    return key;
  };
  return { keyring, keyNumber };
}
