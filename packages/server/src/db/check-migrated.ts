// Whether a database still has the tables of this code: a cheap question for probes.

import { readMigrations } from "./migration-files.ts";
import type { Queryable } from "./queryable.ts";
import { sql } from "./sql.ts";

/** Makes the check for the files of this code; it throws when the database cannot answer or has other migrations. */
export async function createMigratedCheck(): Promise<(db: Queryable) => Promise<void>> {
  const expected = (await readMigrations()).map(({ name }) => name).join(", ");
  return async (db) => {
    const rows = await db.query<{ name: string }>(sql`SELECT name FROM keelson_migrations ORDER BY number`);
    if (rows.map(({ name }) => name).join(", ") !== expected) {
      throw new Error(
        "The database has other migrations than this server. Run keelson migrate, or start the newer Keelson.",
      );
    }
  };
}
