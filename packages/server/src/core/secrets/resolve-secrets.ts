import type { Tx } from "../../db/queryable.ts";
import type { MasterKey } from "../credentials/master-key.ts";
import { decryptValue, masterKeyWrapper, type KeyWrapper } from "./envelope.ts";
import { listPinnedValues, type PinnedValue, type SecretAsk } from "./secret-reads.ts";
import { insertPins, markSecretsUsed } from "./secret-writes.ts";
import { missingSecretMessage } from "./secret.ts";

/** An attempt that was leased, and the names that its entrypoint declares. */
export type SecretNeed = {
  environmentId: string;
  runId: string;
  attemptNumber: number;
  names: readonly string[];
};

/** Values by name, or why the attempt cannot have all of them. */
export type ResolvedSecrets = { values: Record<string, string> } | { problem: string };

/**
 * The secrets of leased attempts, by run. An attempt keeps the versions that it was first given.
 */
export async function resolveSecrets(
  tx: Tx,
  masterKey: MasterKey,
  needs: readonly SecretNeed[],
  now: number,
): Promise<Map<string, ResolvedSecrets>> {
  const asks = needs.flatMap(({ names, ...attempt }): SecretAsk[] =>
    names.map((name) => ({ ...attempt, name })),
  );
  await insertPins(tx, asks, now);
  const pinned = Map.groupBy(await listPinnedValues(tx, asks), ({ runId }) => runId);
  const keys = masterKeyWrapper(masterKey);
  const resolved = new Map(
    needs.map(({ runId }): [string, ResolvedSecrets] => [runId, open(keys, pinned.get(runId) ?? [])]),
  );
  const used = [...pinned.values()]
    .flat()
    .flatMap(({ environmentId, runId, secretId }) =>
      secretId !== null && "values" in (resolved.get(runId) ?? {}) ? [{ environmentId, secretId }] : [],
    );
  if (used.length > 0) await markSecretsUsed(tx, used, now);
  return resolved;
}

function open(keys: KeyWrapper, pinned: readonly PinnedValue[]): ResolvedSecrets {
  const values: Record<string, string> = {};
  for (const { environmentId, name, secretId, status, version, wrappedKey, ciphertext } of pinned) {
    if (secretId === null || version === null || wrappedKey === null || ciphertext === null)
      return { problem: missingSecretMessage(name, status) };
    try {
      values[name] = decryptValue(keys, { environmentId, secretId, version }, { wrappedKey, ciphertext });
    } catch {
      // Said to whoever owns the run; what the cipher says would tell nobody anything.
      return {
        problem: `The value of the secret ${name} cannot be decrypted: it was encrypted under another master key, or changed. Set it again.`,
      };
    }
  }
  return { values };
}
