import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** What an operator looks at first: which database this is, how it keeps its promises, and what fills it. */

export type DatabaseFacts = {
  version: string;
  fsync: string;
  fullPageWrites: string;
  synchronousCommit: string;
  /** Which standbys a commit waits for; empty: none. */
  synchronousStandbyNames: string;
  /** How many follow the log. */
  standbys: number;
  maxConnections: number;
  sizeBytes: number;
};

export async function findDatabaseFacts(db: Queryable): Promise<DatabaseFacts> {
  const [row] = await db.query<DatabaseFacts>(sql`
    SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
      current_setting('full_page_writes') AS full_page_writes, current_setting('synchronous_commit') AS synchronous_commit,
      current_setting('synchronous_standby_names') AS synchronous_standby_names, (SELECT count(*)::integer FROM pg_stat_replication) AS standbys,
      current_setting('max_connections')::integer AS max_connections, pg_database_size(current_database()) AS size_bytes`);
  if (row === undefined) throw new Error("PostgreSQL did not tell its settings.");
  return row;
}

export type TableSize = { name: string; rows: number; sizeBytes: number };

/** Tables with their indexes, the largest first. Rows are PostgreSQL's estimate. */
export function listTableSizes(db: Queryable): Promise<TableSize[]> {
  return db.query<TableSize>(sql`
    SELECT c.relname AS name, greatest(coalesce(s.n_live_tup, 0), 0) AS rows, pg_total_relation_size(c.oid) AS size_bytes
    FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
    ORDER BY 3 DESC, 1`);
}

export type BlobSizes = {
  bundles: number;
  bundleBytes: number;
  pieces: number;
  pieceBytes: number;
};

/** Bundles are stored once for all environments, what workspaces hold once for each. */
export async function findBlobSizes(db: Queryable): Promise<BlobSizes> {
  const [row] = await db.query<BlobSizes>(sql`
    SELECT b.count AS bundles, b.bytes AS bundle_bytes, p.count AS pieces, p.bytes AS piece_bytes
    FROM (SELECT count(*), coalesce(sum(d.size_bytes), 0)::bigint AS bytes
        FROM (SELECT DISTINCT digest, size_bytes FROM bundles) d) b,
      (SELECT count(*), coalesce(sum(size_bytes), 0)::bigint AS bytes FROM blobs) p`);
  if (row === undefined) throw new Error("PostgreSQL did not sum up the blobs.");
  return row;
}

export const listMigrations = (db: Queryable): Promise<{ name: string; appliedAt: number }[]> =>
  db.query(sql`SELECT name, applied_at FROM keelson_migrations ORDER BY number`);
