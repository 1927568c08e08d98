import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { holdPresentKey, type MasterKey } from "../credentials/master-key.ts";
import { decryptValue, masterKeyWrapper, type KeyWrapper } from "./envelope.ts";
import { listPinnedValues, type PinnedValue, type SecretAsk } from "./secret-reads.ts";
import { insertPins, markSecretsUsed } from "./secret-writes.ts";
import { missingSecretMessage } from "./secret.ts";

/** An attempt that was leased, and the names that its entrypoint declares. */
export type SecretNeed = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  attemptNumber: number;
  names: readonly string[];
};

/** What one attempt is given, by name. */
export type SecretSet = {
  values: Record<string, string>;
  versions: Record<string, { secretId: Uuid<"sec">; version: number }>;
};

/** The set, or why the attempt cannot have all of it. `unreadable`: a value is there, and is not of this master key. */
export type ResolvedSecrets = SecretSet | { problem: string; unreadable?: true };

/**
 * The secrets of leased attempts, by run. An attempt keeps the versions that it was first given.
 *
 * @throws DomainError `unavailable` when values cannot be read because the master key was changed after this server started.
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
  if ([...resolved.values()].some((set) => "unreadable" in set)) await holdPresentKey(tx, masterKey);
  const used = [...pinned.values()]
    .flat()
    .flatMap(({ environmentId, runId, secretId }) =>
      secretId !== null && "values" in (resolved.get(runId) ?? {}) ? [{ environmentId, secretId }] : [],
    );
  if (used.length > 0) await markSecretsUsed(tx, used, now);
  return resolved;
}

function open(keys: KeyWrapper, pinned: readonly PinnedValue[]): ResolvedSecrets {
  const given: SecretSet = { values: {}, versions: {} };
  for (const { environmentId, name, secretId, status, version, wrappedKey, ciphertext } of pinned) {
    if (secretId === null || version === null || wrappedKey === null || ciphertext === null)
      return { problem: missingSecretMessage(name, status) };
    try {
      given.values[name] = decryptValue(
        keys,
        { environmentId, secretId, version },
        { wrappedKey, ciphertext },
      );
      given.versions[name] = { secretId, version };
    } catch {
      // Said to whoever owns the run; what the cipher says would tell nobody anything.
      return {
        unreadable: true,
        problem: `The value of the secret ${name} cannot be decrypted: it was encrypted under another master key, or changed. Set it again.`,
      };
    }
  }
  return given;
}
