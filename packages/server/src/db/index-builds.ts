// Indexes that migrations ask for in `index_builds`: on tables that may be large, they are built while servers run, and writes go
// on meanwhile. What a build was stopped in is begun anew.

import type pg from "pg";
import { openSession, sever } from "./open-session.ts";
import { quoteIdentifier } from "./sql.ts";

interface IndexBuild {
  readonly name: string;
  /** What follows the name in CREATE INDEX. It comes from a migration, as the rest of the schema does. */
  readonly definition: string;
  readonly replaces: string | null;
}

/** Of the connection that builds, so that a migration finds it. */
const BUILDER = "keelson index build";
const BUILD_LOCK = 7_233_101_877;

const TABLE_EXISTS = "SELECT to_regclass('index_builds') IS NOT NULL AS found";
const PENDING = "SELECT name, definition, replaces FROM index_builds WHERE built_at IS NULL ORDER BY name";
const MARK_BUILT = "UPDATE index_builds SET built_at = clock_timestamp() WHERE name = $1";

/** Names of the indexes that are not built yet. */
export async function listIndexBuilds(url: string): Promise<string[]> {
  const client = await openSession({ url, applicationName: "keelson migrate" });
  try {
    return (await readPending(client)).map(({ name }) => name);
  } finally {
    await client.end();
  }
}

/**
 * Builds what is pending, one index after the other, unless another server does. The lock is the session's that builds: when we
 * go, PostgreSQL goes on to build for as long as it does not notice, and nobody begins beside it. An index that was not finished
 * is unusable and is dropped first.
 *
 * @param signal ends it at once: the connection is cut.
 */
export async function buildIndexes(
  directUrl: string,
  signal: AbortSignal,
  tell: { building(name: string): void; built(name: string): void },
): Promise<void> {
  const client = await openSession({ url: directUrl, applicationName: BUILDER });
  const cut = (): void => sever(client);
  signal.addEventListener("abort", cut);
  try {
    // While it connected, nobody was told.
    signal.throwIfAborted();
    const { rows } = await client.query<{ taken: boolean }>("SELECT pg_try_advisory_lock($1) AS taken", [
      BUILD_LOCK,
    ]);
    if (rows[0]?.taken !== true) return;
    for (const build of await readPending(client)) {
      tell.building(build.name);
      await buildBesideWrites(client, build);
      tell.built(build.name);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", cut);
    sever(client);
  }
}

/** In the migration's transaction, on a database that is new: its tables are empty. */
export async function buildOnNewDatabase(client: pg.Client): Promise<void> {
  for (const { name, definition, replaces } of await readPending(client)) {
    await client.query(`CREATE INDEX ${quoteIdentifier(name)} ${definition}`);
    if (replaces !== null) await client.query(`DROP INDEX ${quoteIdentifier(replaces)}`);
    await client.query(MARK_BUILT, [name]);
  }
}

/**
 * A migration goes before a build, which may hold its table for hours and is begun anew. Each of the two could also wait for the
 * other: the migration for the table, the build for older transactions.
 */
export const endBuilds = (client: pg.Client): Promise<unknown> =>
  client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`,
    [BUILDER],
  );

async function readPending(client: pg.Client): Promise<IndexBuild[]> {
  const { rows } = await client.query<{ found: boolean }>(TABLE_EXISTS);
  return rows[0]?.found === true ? (await client.query<IndexBuild>(PENDING)).rows : [];
}

async function buildBesideWrites(
  client: pg.Client,
  { name, definition, replaces }: IndexBuild,
): Promise<void> {
  const index = quoteIdentifier(name);
  const { rows } = await client.query<{ isValid: boolean }>(
    "SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass($1)",
    [index],
  );
  if (rows[0]?.isValid === false) await client.query(`DROP INDEX CONCURRENTLY ${index}`);
  await client.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${index} ${definition}`);
  if (replaces !== null) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${quoteIdentifier(replaces)}`);
  await client.query(MARK_BUILT, [name]);
}
