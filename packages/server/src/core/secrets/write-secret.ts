import { LIMITS, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { holdPresentKey, type MasterKey } from "../credentials/master-key.ts";
import { encryptValue, masterKeyWrapper, type ValuePlace } from "./envelope.ts";
import { lockSecret, lockSecretByName, type SecretRow } from "./secret-reads.ts";
import {
  deleteSecretRow,
  insertSecret,
  insertVersion,
  markSecretRevoked,
  markSecretRotated,
} from "./secret-writes.ts";
import { decideRevoke, decideRotate } from "./secret.ts";

/** What callers do to secrets. Values are refused as `unavailable` by a server whose master key has been replaced. */

export type WriteContext = { masterKey: MasterKey; newUuid: NewUuid };
export type NewSecret = { environmentId: Uuid<"env">; projectId: Uuid<"proj">; name: string; value: string };

/** @throws DomainError `payload_too_large`. */
function checkSize(value: string): void {
  if (Buffer.byteLength(value) <= LIMITS.secretValueBytes) return;
  throw new DomainError(
    "payload_too_large",
    `A secret's value may be ${LIMITS.secretValueBytes} bytes; keep larger files elsewhere and their key here.`,
    { field: "value", limit_bytes: LIMITS.secretValueBytes },
  );
}

/**
 * @returns the new secret's id.
 * @throws DomainError `already_exists`, also when the secret of that name is revoked; `payload_too_large`.
 */
export async function createSecret(
  tx: Tx,
  context: WriteContext,
  secret: NewSecret,
  now: number,
): Promise<Uuid<"sec">> {
  checkSize(secret.value);
  const id = await tryInsert(tx, context, secret, now);
  if (id !== null) return id;
  throw new DomainError(
    "already_exists",
    `There is a secret ${secret.name} in this environment. Rotate it, or PUT a value under its name.`,
    { name: secret.name },
  );
}

/** Gives the name a value: a new secret, or a new version of the one that has the name, revoked or not. */
export async function putSecret(
  tx: Tx,
  context: WriteContext,
  secret: NewSecret,
  now: number,
): Promise<{ secretId: Uuid<"sec">; created: boolean }> {
  checkSize(secret.value);
  const id = await tryInsert(tx, context, secret, now);
  if (id !== null) return { secretId: id, created: true };
  const existing = await lockSecretByName(tx, secret.environmentId, secret.name);
  if (existing === null)
    throw new DomainError("unavailable", "The secret of that name was deleted just now; send it again.");
  await addVersion(tx, context, existing, secret.value, now);
  return { secretId: existing.id, created: false };
}

/** @throws DomainError `not_found`; `invalid_state` when it is revoked; `payload_too_large`. */
export async function rotateSecret(
  tx: Tx,
  context: WriteContext,
  environmentId: Uuid<"env">,
  secretId: Uuid<"sec">,
  value: string,
  now: number,
): Promise<void> {
  checkSize(value);
  const secret = await lockSecret(tx, environmentId, secretId);
  if (secret === null) throw notFound();
  const decision = decideRotate(secret.status);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: secret.status });
  await addVersion(tx, context, secret, value, now);
}

/**
 * Its values are dropped at once. Repeating it changes nothing.
 *
 * @returns whether this call revoked it
 * @throws DomainError `not_found`
 */
export async function revokeSecret(
  tx: Tx,
  environmentId: Uuid<"env">,
  secretId: Uuid<"sec">,
  now: number,
): Promise<boolean> {
  const secret = await lockSecret(tx, environmentId, secretId);
  if (secret === null) throw notFound();
  if (decideRevoke(secret.status).kind !== "apply") return false;
  await markSecretRevoked(tx, environmentId, secretId, now);
  return true;
}

/** With its values. @returns the id it had. @throws DomainError `not_found`. */
export async function deleteSecret(tx: Tx, environmentId: Uuid<"env">, name: string): Promise<Uuid<"sec">> {
  const id = await deleteSecretRow(tx, environmentId, name);
  if (id === null) throw notFound();
  return id;
}

async function tryInsert(
  tx: Tx,
  { masterKey, newUuid }: WriteContext,
  { environmentId, projectId, name, value }: NewSecret,
  now: number,
): Promise<Uuid<"sec"> | null> {
  const id = newUuid<"sec">();
  if (!(await insertSecret(tx, { environmentId, id, projectId, name, now }))) return null;
  await insertValue(tx, masterKey, { environmentId, secretId: id, version: 1 }, value, now);
  return id;
}

async function addVersion(
  tx: Tx,
  { masterKey }: WriteContext,
  { environmentId, id: secretId, version: last }: SecretRow,
  value: string,
  now: number,
): Promise<void> {
  const place = { environmentId, secretId, version: last + 1 };
  await insertValue(tx, masterKey, place, value, now);
  await markSecretRotated(tx, place, now);
}

async function insertValue(
  tx: Tx,
  masterKey: MasterKey,
  place: ValuePlace,
  value: string,
  now: number,
): Promise<void> {
  await holdPresentKey(tx, masterKey);
  await insertVersion(tx, place, encryptValue(masterKeyWrapper(masterKey), place, value), now);
}
