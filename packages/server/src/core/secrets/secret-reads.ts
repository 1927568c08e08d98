import type { SecretStatus } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type SecretRow = {
  id: string;
  environmentId: string;
  projectId: string;
  name: string;
  status: SecretStatus;
  version: number;
  rotatedAt: number | null;
  revokedAt: number | null;
  lastUsedAt: number | null;
  createdAt: number;
  updatedAt: number;
};

const COLUMNS = rawSql(`
  s.id, s.environment_id AS "environmentId", s.project_id AS "projectId", s.name, s.status, s.version, s.rotated_at AS "rotatedAt",
  s.revoked_at AS "revokedAt", s.last_used_at AS "lastUsedAt", s.created_at AS "createdAt", s.updated_at AS "updatedAt"`);

export async function findSecret(
  db: Queryable,
  environmentId: string,
  secretId: string,
): Promise<SecretRow | null> {
  const [row] = await db.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.id = ${secretId}`);
  return row ?? null;
}

export async function findSecretByName(
  db: Queryable,
  environmentId: string,
  name: string,
): Promise<SecretRow | null> {
  const [row] = await db.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.name = ${name}`);
  return row ?? null;
}

/** Newest first, after the secret `before`. */
export function listSecrets(
  db: Queryable,
  environmentId: string,
  before: string | null,
  limit: number,
): Promise<SecretRow[]> {
  return db.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s
    WHERE s.environment_id = ${environmentId} AND (${before}::uuid IS NULL OR s.id < ${before}::uuid)
    ORDER BY s.id DESC LIMIT ${limit}`);
}

export async function lockSecret(tx: Tx, environmentId: string, secretId: string): Promise<SecretRow | null> {
  const [row] = await tx.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.id = ${secretId} FOR UPDATE`);
  return row ?? null;
}

export async function lockSecretByName(
  tx: Tx,
  environmentId: string,
  name: string,
): Promise<SecretRow | null> {
  const [row] = await tx.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.name = ${name} FOR UPDATE`);
  return row ?? null;
}

/** What an attempt is given of one name. Without a pin or a value it cannot run; `status` says why. */
export type PinnedValue = {
  environmentId: string;
  runId: string;
  name: string;
  secretId: string | null;
  status: SecretStatus | null;
  version: number | null;
  wrappedKey: Buffer | null;
  ciphertext: Buffer | null;
};

export type SecretAsk = { environmentId: string; runId: string; attemptNumber: number; name: string };

export function listPinnedValues(db: Queryable, asks: readonly SecretAsk[]): Promise<PinnedValue[]> {
  return db.query<PinnedValue>(sql`
    SELECT a.environment_id AS "environmentId", a.run_id AS "runId", a.name, p.secret_id AS "secretId", s.status, p.version,
      v.wrapped_key AS "wrappedKey", v.ciphertext
    FROM unnest(${asks.map((ask) => ask.environmentId)}::uuid[], ${asks.map((ask) => ask.runId)}::uuid[],
      ${asks.map((ask) => ask.attemptNumber)}::integer[], ${asks.map((ask) => ask.name)}::text[])
      AS a (environment_id, run_id, attempt_number, name)
    LEFT JOIN secret_pins p ON p.environment_id = a.environment_id AND p.run_id = a.run_id
      AND p.attempt_number = a.attempt_number AND p.name = a.name
    LEFT JOIN secrets s ON s.environment_id = a.environment_id AND s.name = a.name
    LEFT JOIN secret_versions v ON v.environment_id = p.environment_id AND v.secret_id = p.secret_id AND v.version = p.version`);
}

export type WrappedKeyRow = {
  environmentId: string;
  secretId: string;
  version: number;
  wrappedKey: Buffer;
};

/** Every wrapped key of the installation: for the change of the master key alone. */
export function lockWrappedKeys(tx: Tx): Promise<WrappedKeyRow[]> {
  return tx.query<WrappedKeyRow>(sql`
    SELECT environment_id AS "environmentId", secret_id AS "secretId", version, wrapped_key AS "wrappedKey"
    FROM secret_versions ORDER BY environment_id, secret_id, version FOR UPDATE`);
}
