import type { SecretStatus, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Envelope, ValuePlace } from "./envelope.ts";
import type { SecretAsk, WrappedKeyRow } from "./secret-reads.ts";

export type SecretInsert = {
  environmentId: Uuid<"env">;
  id: Uuid<"sec">;
  projectId: Uuid<"proj">;
  name: string;
  now: number;
};

/** Its first version is still to be inserted. False when the name is taken. */
export async function insertSecret(tx: Tx, row: SecretInsert): Promise<boolean> {
  const rows = await tx.query(sql`
    INSERT INTO secrets (environment_id, id, project_id, name, status, version, created_at, updated_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.projectId}, ${row.name}, 'active', 1,
      ${timestamp(row.now)}, ${timestamp(row.now)})
    ON CONFLICT (environment_id, name) DO NOTHING
    RETURNING 1 AS inserted`);
  return rows.length === 1;
}

export async function insertVersion(
  tx: Tx,
  { environmentId, secretId, version }: ValuePlace,
  { wrappedKey, ciphertext }: Envelope,
  now: number,
): Promise<void> {
  await tx.query(sql`
    INSERT INTO secret_versions (environment_id, secret_id, version, wrapped_key, ciphertext, created_at)
    VALUES (${environmentId}, ${secretId}, ${version}, ${wrappedKey}, ${ciphertext}, ${timestamp(now)})`);
}

/** Of a secret that has a new version. */
export async function markSecretRotated(
  tx: Tx,
  { environmentId, secretId, version }: ValuePlace,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE secrets SET status = 'active' , version = ${version}, rotated_at = ${timestamp(now)}, revoked_at = NULL,
      updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${secretId}`);
}

/** And drops every value it had. */
export async function markSecretRevoked(
  tx: Tx,
  environmentId: Uuid<"env">,
  secretId: Uuid<"sec">,
  now: number,
): Promise<void> {
  const status: SecretStatus = "revoked";
  await tx.query(sql`
    WITH dropped AS (
      DELETE FROM secret_versions WHERE environment_id = ${environmentId} AND secret_id = ${secretId}
    )
    UPDATE secrets SET status = ${status}, revoked_at = ${timestamp(now)}, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${secretId}`);
}

/** With its versions. False when there is none of the name. */
export async function deleteSecretRow(
  tx: Tx,
  environmentId: Uuid<"env">,
  name: string,
): Promise<Uuid<"sec"> | null> {
  const [row] = await tx.query<{ id: Uuid<"sec"> }>(sql`
    DELETE FROM secrets WHERE environment_id = ${environmentId} AND name = ${name} RETURNING id`);
  return row?.id ?? null;
}

/** Pins the present version of each name that the attempt has no pin of; names that are not in use get none. */
export async function insertPins(tx: Tx, asks: readonly SecretAsk[], now: number): Promise<void> {
  await tx.query(sql`
    INSERT INTO secret_pins (environment_id, run_id, attempt_number, name, secret_id, version, created_at)
    SELECT a.environment_id, a.run_id, a.attempt_number, a.name, s.id, s.version, ${timestamp(now)}
    FROM unnest(${asks.map((ask) => ask.environmentId)}::uuid[], ${asks.map((ask) => ask.runId)}::uuid[],
      ${asks.map((ask) => ask.attemptNumber)}::integer[], ${asks.map((ask) => ask.name)}::text[])
      AS a (environment_id, run_id, attempt_number, name)
    JOIN secrets s ON s.environment_id = a.environment_id AND s.name = a.name AND s.status = 'active'
    ORDER BY a.environment_id, a.run_id, a.attempt_number, a.name
    ON CONFLICT (environment_id, run_id, attempt_number, name) DO NOTHING`);
}

/** To the minute, so that a busy secret is not one row that everybody updates; a row in other hands has just been. */
export async function markSecretsUsed(
  tx: Tx,
  used: readonly { environmentId: Uuid<"env">; secretId: Uuid<"sec"> }[],
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE secrets SET last_used_at = ${timestamp(now)}
    WHERE (environment_id, id) IN (
      SELECT s.environment_id, s.id FROM secrets s
      JOIN unnest(${used.map((row) => row.environmentId)}::uuid[], ${used.map((row) => row.secretId)}::uuid[]) AS u (environment_id, id)
        ON s.environment_id = u.environment_id AND s.id = u.id
      WHERE s.last_used_at IS NULL OR s.last_used_at <= ${timestamp(now - USED_PRECISION_MS)}
      FOR UPDATE OF s SKIP LOCKED
    )`);
}

const USED_PRECISION_MS = 60_000;

/** A lease is answered within this, so what its attempt needs is pinned by then. */
const PIN_GRACE_MS = 600_000;

/** Drops the pins of attempts that are over, and the versions that have been replaced and are pinned no more. */
export async function deleteUnusedVersions(tx: Tx, now: number): Promise<void> {
  const before = now - PIN_GRACE_MS;
  await tx.query(sql`
    DELETE FROM secret_pins p
    WHERE p.created_at <= ${timestamp(before)} AND NOT EXISTS (
      SELECT FROM executions e
      WHERE e.environment_id = p.environment_id AND e.run_id = p.run_id AND e.attempt_number = p.attempt_number)`);
  await tx.query(sql`
    DELETE FROM secret_versions v
    USING secrets s
    WHERE s.environment_id = v.environment_id AND s.id = v.secret_id AND v.version < s.version
      AND s.rotated_at <= ${timestamp(before)}
      AND NOT EXISTS (
        SELECT FROM secret_pins p
        WHERE p.environment_id = v.environment_id AND p.secret_id = v.secret_id AND p.version = v.version)`);
}

export async function updateWrappedKeys(tx: Tx, rows: readonly WrappedKeyRow[]): Promise<void> {
  await tx.query(sql`
    UPDATE secret_versions v SET wrapped_key = n.wrapped_key
    FROM unnest(${rows.map((row) => row.environmentId)}::uuid[], ${rows.map((row) => row.secretId)}::uuid[],
      ${rows.map((row) => row.version)}::integer[], ${rows.map((row) => row.wrappedKey)}::bytea[])
      AS n (environment_id, secret_id, version, wrapped_key)
    WHERE v.environment_id = n.environment_id AND v.secret_id = n.secret_id AND v.version = n.version`);
}
