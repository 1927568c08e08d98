import type { Tx } from "../../db/queryable.ts";
import { keyId, reserveKeys, settleKeys, type KeyToReserve } from "./idempotency-writes.ts";
import type { Answer } from "./with-idempotency.ts";

export type ManyKeys = readonly Omit<KeyToReserve, "now">[];

/** What a key is known by in a batch. */
export const keyIdOf = keyId;

/**
 * Runs an effect for the keys, all different, that no earlier request holds, and stores their answers in the same
 * transaction. A key for which the effect has no answer is given back: nothing has happened for it.
 *
 * @param effect is told the taken keys by `keyIdOf`, and gives its answers by them.
 */
export async function withKeys<Result>(
  tx: Tx,
  keys: ManyKeys,
  now: number,
  effect: (taken: ReadonlySet<string>) => Promise<{ result: Result; answers: ReadonlyMap<string, Answer> }>,
): Promise<Result> {
  if (keys.length === 0) return (await effect(new Set())).result;
  const taken = await reserveKeys(tx, keys, now);
  const { result, answers } = await effect(taken);
  const settled = keys.filter((key) => taken.has(keyId(key)));
  if (settled.length > 0) {
    await settleKeys(
      tx,
      settled.map(({ environmentId, scope, key }) => {
        const answer = answers.get(keyId({ environmentId, scope, key })) ?? null;
        return { environmentId, scope, key, answer };
      }),
    );
  }
  return result;
}
