// Refuses a PostgreSQL on which what we acknowledge could be lost, or which lacks what our SQL needs.

import type pg from "pg";

const MINIMUM_VERSION = 15;

/** Throws an error of one line that says what to do. */
export async function checkServer(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{
    version: string;
    fsync: string;
    fullPageWrites: string;
    encoding: string;
    isReadOnly: boolean;
  }>(
    `SELECT current_setting('server_version_num') AS version, current_setting('fsync') AS fsync,
            current_setting('full_page_writes') AS full_page_writes, current_setting('server_encoding') AS encoding,
            pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only`,
  );
  const found = rows[0];
  if (found === undefined) throw new Error("PostgreSQL did not tell its version.");
  const major = Math.floor(Number(found.version) / 10_000);
  if (major < MINIMUM_VERSION)
    throw new Error(
      `PostgreSQL ${major} is too old: Keelson needs PostgreSQL ${MINIMUM_VERSION} or later. Upgrade it, or unset DATABASE_URL to use the built-in one.`,
    );
  if (found.isReadOnly)
    throw new Error("PostgreSQL is read-only: it may be a standby. Lead DATABASE_URL to the primary.");
  for (const [name, value] of [
    ["fsync", found.fsync],
    ["full_page_writes", found.fullPageWrites],
  ]) {
    if (value !== "on") {
      throw new Error(
        `PostgreSQL runs with ${name}=${value}, so a crash could lose what Keelson has acknowledged. Run ALTER SYSTEM SET ${name} = on; SELECT pg_reload_conf(); and start again.`,
      );
    }
  }
  if (found.encoding !== "UTF8")
    throw new Error(
      `The database has the encoding ${found.encoding}; Keelson needs UTF8. Make one with CREATE DATABASE keelson ENCODING 'UTF8' TEMPLATE template0.`,
    );
}
