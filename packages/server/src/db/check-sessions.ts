// Refuses connections on which our statements would fail later, or be slow without a word: those through a pooler that we were
// not told of, or that does not do what we were told.

import pg from "pg";
import { CamelCaseClient } from "./camel-case-client.ts";
import { nameFailure } from "./name-failure.ts";
import { isBehindPooler } from "./pool.ts";
import {
  PLANNER_SETTINGS,
  READ_SETTINGS,
  REQUEST_LIMITS,
  startupOptions,
  withStartupOptions,
} from "./session-settings.ts";

export interface CheckedSessions {
  readonly url: string;
  /** Past a pooler. */
  readonly directUrl: string;
  readonly statementNames: boolean;
  readonly poolSize: number;
}

const UNKNOWN_POOLER =
  "A connection pooler at DATABASE_URL drops our start-up options. Set DATABASE_DIRECT_URL to PostgreSQL itself, and KEELSON_STATEMENT_NAMES=off unless the pooler keeps prepared statements.";

const NO_NAMES =
  "The connection pooler at DATABASE_URL does not keep prepared statements. Set KEELSON_STATEMENT_NAMES=off, or max_prepared_statements of PgBouncer 1.21 or later.";

/** Values as PostgreSQL shows them that are ours or as good: any order of a date's fields, which only input has. */
const isAsOurs = (name: string, value: string): boolean =>
  name === "DateStyle" ? value.startsWith("ISO") : value === { ...READ_SETTINGS, ...PLANNER_SETTINGS }[name];

/**
 * @param warn told of what works and is slow or may run short, in one line that says what to do.
 * @throws Error of one line that says what to do.
 */
export async function checkSessions(options: CheckedSessions, warn: (text: string) => void): Promise<void> {
  const isPooled = isBehindPooler(options);
  const client = await connect(options.url, isPooled ? null : startupOptions(REQUEST_LIMITS));
  try {
    const role = await readRole(client);
    if (!isPooled && !(await hasOptions(client))) throw new Error(UNKNOWN_POOLER);
    const foreign = await listForeign(client, { ...READ_SETTINGS, ...PLANNER_SETTINGS });
    const unread = foreign.filter((name) => UNSET_BY_TRANSACTIONS.has(name));
    if (unread.length > 0)
      throw new Error(
        `Values come in another form than Keelson reads, and behind a pooler only the role can set it. Run ${alter(role.name, unread)}`,
      );
    const unplanned = foreign.filter((name) => name in PLANNER_SETTINGS);
    if (unplanned.length > 0)
      warn(
        `Behind a pooler the role has to set the planner, or claims of runs come to read whole tables. Run ${alter(role.name, unplanned)}`,
      );
    // One more hears notifications.
    if (role.connections <= options.poolSize)
      warn(
        `PostgreSQL has ${role.connections} connections for ${role.name}, and this server uses up to ${options.poolSize + 1}. Raise max_connections or the role's CONNECTION LIMIT, or lower KEELSON_POOL_SIZE.`,
      );
    if (await hasAsynchronousStandby(client))
      warn(
        "PostgreSQL has a standby, and no commit waits for it: a takeover by it may lose what was confirmed. Set synchronous_standby_names, for example to 'ANY 1 (a, b)' of two standbys.",
      );
    if (isPooled && options.statementNames) await probeNames(client, options.url);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Transactions set their isolation themselves, and times are read in any zone. */
const UNSET_BY_TRANSACTIONS = new Set(["DateStyle", "IntervalStyle", "bytea_output"]);

async function connect(url: string, options: string | null): Promise<pg.Client> {
  const client = new CamelCaseClient({
    connectionString: options === null ? url : withStartupOptions(url, options),
    application_name: "keelson",
    connectionTimeoutMillis: REQUEST_LIMITS.connectMs,
    query_timeout: REQUEST_LIMITS.answerMs,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw nameFailure(error, url);
  }
  return client;
}

/** `connections`: as many as it may have at once on this PostgreSQL, where nobody else takes any. */
async function readRole(client: pg.Client): Promise<{ name: string; connections: number }> {
  const { rows } = await client.query<{ name: string; connections: number }>(`
    SELECT current_user::text AS name, least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
      CASE WHEN r.rolconnlimit >= 0 THEN r.rolconnlimit END, CASE WHEN d.datconnlimit >= 0 THEN d.datconnlimit END) AS connections
    FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()`);
  return rows[0] as { name: string; connections: number };
}

/** Everybody may see that there are such, and what they wait for. */
async function hasAsynchronousStandby(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ isThere: boolean }>(`
    SELECT EXISTS (SELECT FROM pg_stat_replication) AND current_setting('synchronous_standby_names') = '' AS is_there`);
  return rows[0]?.isThere === true;
}

/** Whether what was asked for at the start of the session holds; of all that, nobody else has this limit. */
async function hasOptions(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ setting: string }>(
    "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'",
  );
  return rows[0]?.setting === String(REQUEST_LIMITS.statementMs);
}

/** The names of those that the session has other values of. */
async function listForeign(client: pg.Client, wanted: Record<string, string>): Promise<string[]> {
  const names = Object.keys(wanted);
  const { rows } = await client.query<{ name: string; value: string }>(
    "SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS n (name)",
    [names],
  );
  return rows.filter(({ name, value }) => !isAsOurs(name, value)).map(({ name }) => name);
}

const alter = (role: string, names: readonly string[]): string => {
  const values: Record<string, string> = { ...READ_SETTINGS, ...PLANNER_SETTINGS };
  return names
    .map((name) => `ALTER ROLE ${pg.escapeIdentifier(role)} SET ${name} = '${values[name]}';`)
    .join(" ");
};

/** A statement that one of us has prepared is the other's too, where both come to the same session. */
async function probeNames(client: pg.Client, url: string): Promise<void> {
  const other = await connect(url, null);
  try {
    for (const one of [client, other, client, other])
      await one.query({ name: `keelson_probe_${process.pid}`, text: "SELECT 1 AS probe" });
  } catch (error) {
    const { code } = error as { code?: string };
    // duplicate_prepared_statement and invalid_sql_statement_name
    throw code === "42P05" || code === "26000" ? new Error(NO_NAMES, { cause: error }) : error;
  } finally {
    await other.end().catch(() => undefined);
  }
}
