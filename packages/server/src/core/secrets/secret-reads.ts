import type { SecretStatus, Uuid } from "@keelson/contract";
import { isBefore } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";

export type SecretRow = {
  id: Uuid<"sec">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
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
  s.id, s.environment_id, s.project_id, s.name, s.status, s.version, s.rotated_at,
  s.revoked_at, s.last_used_at, s.created_at, s.updated_at`);

export async function findSecret(
  db: Queryable,
  environmentId: Uuid<"env">,
  secretId: Uuid<"sec">,
): Promise<SecretRow | null> {
  const [row] = await db.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.id = ${secretId}`);
  return row ?? null;
}

export async function findSecretByName(
  db: Queryable,
  environmentId: Uuid<"env">,
  name: string,
): Promise<SecretRow | null> {
  const [row] = await db.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.name = ${name}`);
  return row ?? null;
}

/** Newest first, after the secret `before`. */
export function listSecrets(
  db: Queryable,
  environmentId: Uuid<"env">,
  before: string | null,
  limit: number,
): Promise<SecretRow[]> {
  return db.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s
    WHERE s.environment_id = ${environmentId} AND ${isBefore(sql`s.id`, before)}
    ORDER BY s.id DESC LIMIT ${limit}`);
}

export async function lockSecret(
  tx: Tx,
  environmentId: Uuid<"env">,
  secretId: Uuid<"sec">,
): Promise<SecretRow | null> {
  const [row] = await tx.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.id = ${secretId} FOR UPDATE`);
  return row ?? null;
}

export async function lockSecretByName(
  tx: Tx,
  environmentId: Uuid<"env">,
  name: string,
): Promise<SecretRow | null> {
  const [row] = await tx.query<SecretRow>(sql`
    SELECT ${COLUMNS} FROM secrets s WHERE s.environment_id = ${environmentId} AND s.name = ${name} FOR UPDATE`);
  return row ?? null;
}

/** What an attempt is given of one name. Without a pin or a value it cannot run; `status` says why. */
export type PinnedValue = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  name: string;
  secretId: Uuid<"sec"> | null;
  status: SecretStatus | null;
  version: number | null;
  wrappedKey: Buffer | null;
  ciphertext: Buffer | null;
};

export type SecretAsk = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  attemptNumber: number;
  name: string;
};

export function listPinnedValues(db: Queryable, asks: readonly SecretAsk[]): Promise<PinnedValue[]> {
  return db.query<PinnedValue>(sql`
    SELECT a.environment_id, a.run_id, a.name, p.secret_id, s.status, p.version,
      v.wrapped_key, v.ciphertext
    FROM unnest(${asks.map((ask) => ask.environmentId)}::uuid[], ${asks.map((ask) => ask.runId)}::uuid[],
      ${asks.map((ask) => ask.attemptNumber)}::integer[], ${asks.map((ask) => ask.name)}::text[])
      AS a (environment_id, run_id, attempt_number, name)
    LEFT JOIN secret_pins p ON p.environment_id = a.environment_id AND p.run_id = a.run_id
      AND p.attempt_number = a.attempt_number AND p.name = a.name
    LEFT JOIN secrets s ON s.environment_id = a.environment_id AND s.name = a.name
    LEFT JOIN secret_versions v ON v.environment_id = p.environment_id AND v.secret_id = p.secret_id AND v.version = p.version`);
}

export type HeldVersion = { environmentId: Uuid<"env">; secretId: Uuid<"sec">; version: number };

/** Of these versions those that runs are given now, in environments of the worker group. */
export function listCurrentVersions(
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  held: readonly HeldVersion[],
): Promise<HeldVersion[]> {
  return db.query<HeldVersion>(sql`
    SELECT s.environment_id, s.id AS secret_id, s.version
    FROM unnest(${held.map((row) => row.environmentId)}::uuid[], ${held.map((row) => row.secretId)}::uuid[],
      ${held.map((row) => row.version)}::integer[]) AS h (environment_id, secret_id, version)
    JOIN environments v ON v.id = h.environment_id AND v.worker_group_id = ${workerGroupId}
    JOIN secrets s ON s.environment_id = h.environment_id AND s.id = h.secret_id AND s.version = h.version
    WHERE s.status = 'active'`);
}

export type WrappedKeyRow = {
  environmentId: Uuid<"env">;
  secretId: Uuid<"sec">;
  version: number;
  wrappedKey: Buffer;
};

export type NamedKeyRow = WrappedKeyRow & { name: string };

/** Every wrapped key of the installation: for the change of the master key alone. */
export function lockWrappedKeys(tx: Tx): Promise<NamedKeyRow[]> {
  return tx.query<NamedKeyRow>(sql`
    SELECT v.environment_id, v.secret_id, v.version, v.wrapped_key, s.name
    FROM secret_versions v
    JOIN secrets s ON s.environment_id = v.environment_id AND s.id = v.secret_id
    ORDER BY v.environment_id, v.secret_id, v.version FOR UPDATE OF v`);
}
