// Brings a database to the version of this code: runs, in order, the migrations it has not had.

import pg from "pg";
import { checkServer } from "./check-server.ts";
import { buildOnNewDatabase, endBuilds } from "./index-builds.ts";
import { canRunAfter, type Migration, readMigrations } from "./migration-files.ts";
import { nameFailure } from "./name-failure.ts";
import { openSession } from "./open-session.ts";

export interface MigrateOptions {
  /** Folder of the numbered `.sql` files. Default: the one that belongs to this code. */
  readonly directory?: string;
  /** Runs no file with a higher number: the tables of an older Keelson. Default: all. */
  readonly upTo?: number;
  /** Told after each file. */
  readonly onApplied?: (name: string) => void;
}

interface AppliedRow {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly oldestServer: number | null;
}

// Any constant will do, if nobody else uses it in this database.
const MIGRATION_LOCK = 7_233_101_876;

/**
 * Runs what is missing, a transaction a file, and returns the names of the files it ran. Safe to call from many servers
 * at once: one runs each file, the others wait for it. Goes past any pooler: give the direct URL.
 *
 * A database of a newer Keelson stays as it is while this one can run on it: servers of both run beside each other in an
 * upgrade, and after a step back. When nothing is missing, nobody is waited for.
 *
 * Throws an error of one line when a file that has run was edited or is missing, when a newer Keelson has taken something
 * away that this one needs, when a file fails (nothing of that file stays), or when the server is refused by `checkServer`.
 *
 * Indexes that migrations leave to `index_builds` are made here only on a database that was empty.
 */
export async function migrate(connectionString: string, options: MigrateOptions = {}): Promise<string[]> {
  const { upTo = Infinity } = options;
  const migrations = (await readMigrations(options.directory)).filter(({ number }) => number <= upTo);
  const client = await openSession({ url: connectionString, applicationName: "keelson migrate" });
  try {
    await checkServer(client);
    const done: string[] = [];
    // Asked without the lock: a server that lacks nothing starts while a newer one migrates for hours.
    const pending = await readPending(client, migrations);
    if (pending.length === 0) return done;
    const isNew = pending.length === migrations.length;
    for (;;) {
      const name = await runNext(client, migrations, isNew);
      if (name === null) return done;
      done.push(name);
      options.onApplied?.(name);
    }
  } catch (error) {
    // A connection that is lost meanwhile says so itself.
    throw error instanceof pg.DatabaseError ? nameFailure(error, connectionString) : error;
  } finally {
    await client.end();
  }
}

/** Names of the migrations a database lacks; throws as `migrate` does. For readiness checks: takes no lock. */
export async function findPendingMigrations(
  connectionString: string,
  options: Pick<MigrateOptions, "directory"> = {},
): Promise<string[]> {
  const migrations = await readMigrations(options.directory);
  const client = await openSession({ url: connectionString, applicationName: "keelson migrate" });
  try {
    return (await readPending(client, migrations)).map(({ name }) => name);
  } finally {
    await client.end();
  }
}

async function readPending(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<readonly Migration[]> {
  const { rows } = await client.query<{ found: boolean }>(
    `SELECT to_regclass('keelson_migrations') IS NOT NULL AS found`,
  );
  return listPending(migrations, rows[0]?.found === true ? await readApplied(client) : []);
}

/** Runs the first file that is missing, in a transaction with its record; null when none is. */
async function runNext(
  client: pg.Client,
  migrations: readonly Migration[],
  isNew: boolean,
): Promise<string | null> {
  try {
    // Of the transaction, not the session: it cannot outlive us behind a pooler. What has been applied is read again
    // under it for each file, as another server may have run files in between.
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock(${MIGRATION_LOCK}); CREATE TABLE IF NOT EXISTS keelson_migrations (
      number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now(),
      oldest_server integer)`);
    const [next, ...others] = listPending(migrations, await readApplied(client));
    // The last one confirms all: a power cut before it loses the last files, and they run again.
    if (others.length > 0) await client.query("SET LOCAL synchronous_commit = off");
    if (next !== undefined) {
      await endBuilds(client);
      await runFile(client, next);
      if (isNew) await buildOnNewDatabase(client);
    }
    await client.query("COMMIT");
    return next?.name ?? null;
  } catch (error) {
    // The connection is closed by the caller in any case; the first error is the one to tell.
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function runFile(client: pg.Client, migration: Migration): Promise<void> {
  try {
    await client.query(migration.text);
  } catch (cause) {
    const { message, position } = cause as pg.DatabaseError;
    const line =
      position === undefined ? "" : ` (line ${migration.text.slice(0, Number(position)).split("\n").length})`;
    throw new Error(`The migration ${migration.name} failed${line}: ${message}`, { cause });
  }
  const { number, name, checksum, oldestServer } = migration;
  await client.query("INSERT INTO keelson_migrations (number, name, checksum) VALUES ($1, $2, $3)", [
    number,
    name,
    checksum,
  ]);
  // The column came with a migration. No earlier one has it to say.
  if (oldestServer !== null)
    await client.query("UPDATE keelson_migrations SET oldest_server = $2 WHERE number = $1", [
      number,
      oldestServer,
    ]);
}

async function readApplied(client: pg.Client): Promise<AppliedRow[]> {
  // A table of before that migration has no such column.
  const { rows } = await client.query<AppliedRow>(
    `SELECT number, name, checksum, (to_jsonb(m) ->> 'oldest_server')::integer AS oldest_server
     FROM keelson_migrations m ORDER BY number`,
  );
  return rows;
}

/** What is missing, after checking that what was applied is a beginning of the files, or goes on where they end. */
function listPending(migrations: readonly Migration[], applied: readonly AppliedRow[]): readonly Migration[] {
  for (const [index, row] of applied.entries()) {
    const file = migrations[index];
    if (file === undefined) {
      if (canRunAfter(row, migrations.at(-1)?.number ?? 0)) continue;
      throw new Error(
        `The database is of a newer Keelson: it has had the migration ${row.name}, which this one cannot run after. Start the newer Keelson, or restore a backup.`,
      );
    }
    if (file.number < row.number)
      throw new Error(
        `The migration ${file.name} has a lower number than ${row.name}, which this database has had. Give it the next free number.`,
      );
    if (file.number > row.number)
      throw new Error(
        `The database has had the migration ${row.name}, which is missing here. Start the Keelson it belongs to.`,
      );
    if (file.checksum !== row.checksum) {
      throw new Error(
        `The migration ${file.name} was edited after this database had it. Restore the file, and put the change into a new migration.`,
      );
    }
  }
  return migrations.slice(applied.length);
}
