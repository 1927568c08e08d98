import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import type { Affected, BackupManifest, MissingBlob } from "./backup.ts";

/** Whether any Keelson has used the database. */
export async function hasTables(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>(
    sql`SELECT to_regclass('keelson_migrations') IS NOT NULL AND to_regclass('installation') IS NOT NULL AS found`,
  );
  return row?.found === true;
}

/** Whether a server was ever started on the database: it makes both at its first start. */
export async function isInUse(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ used: boolean }>(
    sql`SELECT EXISTS (SELECT FROM installation) OR EXISTS (SELECT FROM organizations) AS used`,
  );
  return row?.used === true;
}

/** What the manifest says of the database as the snapshot sees it. */
export async function readOrigin(
  db: Queryable,
): Promise<
  Pick<BackupManifest, "snapshot_at" | "postgresql_version" | "migrations" | "master_key_fingerprint">
> {
  const migrations = await db.query<BackupManifest["migrations"][number]>(
    sql`SELECT number, name, checksum FROM keelson_migrations ORDER BY number`,
  );
  const [row] = await db.query<{ version: string; at: number; fingerprint: string | null }>(sql`
    SELECT current_setting('server_version') AS version, now() AS at,
      (SELECT encode(master_key_fingerprint, 'hex') FROM installation) AS fingerprint`);
  return {
    snapshot_at: new Date(row?.at ?? 0).toISOString(),
    postgresql_version: row?.version ?? "",
    migrations,
    master_key_fingerprint: row?.fingerprint ?? null,
  };
}

export async function listBundleDigests(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ digest: string }>(
    sql`SELECT DISTINCT encode(digest, 'hex') AS digest FROM bundles ORDER BY 1`,
  );
  return rows.map(({ digest }) => digest);
}

/** All blobs that are there: also those that nobody needs yet, because their rows say that they are. */
export const listStoredBlobs = (db: Queryable): Promise<{ environmentId: Uuid<"env">; digest: string }[]> =>
  db.query(sql`
    SELECT environment_id, encode(digest, 'hex') AS digest FROM blobs
    WHERE size_bytes IS NOT NULL AND removing_since IS NULL ORDER BY environment_id, digest`);

/** What needs a missing blob: workspaces by any of their versions, deployments by their bundle, runs by their logs, sessions by their files. */
export async function findAffected(db: Queryable, blob: MissingBlob): Promise<Affected> {
  const digest = Buffer.from(blob.digest, "hex");
  const { environment_id: environmentId } = blob;
  const idsOf = async (statement: Sql): Promise<string[]> =>
    (await db.query<{ id: string }>(statement)).map(({ id }) => id);
  if (environmentId === null) {
    const deployments = await idsOf(
      sql`SELECT id FROM deployments WHERE bundle_digest = ${digest} ORDER BY id`,
    );
    return { ...blob, workspaces: [], runs: [], sessions: [], deployments };
  }
  const workspaces = await idsOf(sql`
    SELECT workspace_id AS id FROM workspace_blobs
    WHERE environment_id = ${environmentId} AND digest = ${digest} ORDER BY workspace_id`);
  const runs = await idsOf(sql`
    SELECT DISTINCT run_id AS id FROM run_log_packs
    WHERE environment_id = ${environmentId} AND digest = ${digest} ORDER BY run_id`);
  const sessions = await idsOf(sql`
    SELECT DISTINCT session_id AS id FROM session_files
    WHERE environment_id = ${environmentId} AND digest = ${digest} ORDER BY session_id`);
  return { ...blob, workspaces, runs, sessions, deployments: [] };
}
