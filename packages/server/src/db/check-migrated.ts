// Whether a database still has the tables of this code, and can be written: a cheap question for probes.

import { canRunAfter, readMigrations } from "./migration-files.ts";
import type { Queryable } from "./queryable.ts";
import { sql } from "./sql.ts";

type Row = { name: string; oldestServer: number | null; isReadOnly: boolean };

/**
 * Makes the check for the files of this code. It throws when the database cannot answer, is read-only, lacks migrations, or has
 * had one that takes away what this code needs. Others that are newer do no harm: while servers are replaced one by one, the
 * first new one migrates, and the old ones go on.
 *
 * @param directory of the numbered `.sql` files; default: the one that belongs to this code
 */
export async function createMigratedCheck(directory?: string): Promise<(db: Queryable) => Promise<void>> {
  const own = await readMigrations(directory);
  const newest = own.at(-1)?.number ?? 0;
  return async (db) => {
    const rows = await db.query<Row>(sql`
      SELECT name, oldest_server, pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only
      FROM keelson_migrations ORDER BY number`);
    if (rows[0]?.isReadOnly === true)
      throw new Error("The database is read-only: it may be a standby. Lead DATABASE_URL to the primary.");
    if (own.some(({ name }, index) => rows[index]?.name !== name))
      throw new Error("The database lacks migrations of this server. Run keelson migrate.");
    const breaking = rows.slice(own.length).find((row) => !canRunAfter(row, newest));
    if (breaking !== undefined)
      throw new Error(
        `The database has had the migration ${breaking.name} of a newer Keelson, which this server cannot run after. Start the newer Keelson.`,
      );
  };
}
