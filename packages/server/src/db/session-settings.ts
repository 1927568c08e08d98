// What every session of ours runs under, whatever the database or its role is set to: values written as we read them, the
// isolation that we count on, commits that survive a crash of PostgreSQL, and limits after which a statement that hangs is
// given up.

/** How long things may take. */
export interface SessionLimits {
  /** Making a connection. */
  readonly connectMs: number;
  /** Waiting for a connection of the pool in all. */
  readonly poolWaitMs: number;
  /** The same, while no other caller is done with one. */
  readonly stalledMs: number;
  /** A statement, by PostgreSQL's clock: it is rolled back. */
  readonly statementMs: number;
  /** An answer, by ours: the connection is given up, and the outcome of the statement is unknown. */
  readonly answerMs: number;
  /** Waiting for a connection that nobody gives back, and for the first answer on it, together. */
  readonly firstAnswerMs: number;
}

/** A request that waits for a connection and then for a statement is answered within 15 s. */
export const REQUEST_LIMITS: SessionLimits = {
  connectMs: 3_000,
  poolWaitMs: 30_000,
  stalledMs: 10_000,
  statementMs: 8_000,
  answerMs: 9_000,
  firstAnswerMs: 14_000,
};

/** For what loops do in the background on rows without number. */
export const BACKGROUND_LIMIT_MS = 60_000;
/** For what goes over a whole table, such as VACUUM. */
export const MAINTENANCE_LIMIT_MS = 600_000;

/** Less than a statement's time, so that a lock held too long is named as such. */
const LOCK_SHARE = 0.75;
/** A transaction whose process hangs must not keep its locks. */
const IDLE_IN_TRANSACTION_MS = 10_000;

/**
 * `off` loses what was confirmed when PostgreSQL crashes, and `local` what a synchronous standby would have kept: both are
 * raised to `on`. `remote_write` and `remote_apply` flush here too, and which confirmation of a standby is enough is for
 * its operator to say: they are kept. Evaluated in the session, so that it needs no knowledge of the setting.
 */
const durable = (isLocal: boolean): string => `
  SELECT set_config('synchronous_commit',
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on' ELSE current_setting('synchronous_commit') END,
    ${String(isLocal)})`;

/** Run once on a session of its own. */
export const MAKE_SESSION_DURABLE = durable(false);

/** What values look like as text, and which rows a statement sees, by the names and values of PostgreSQL. */
export const READ_SETTINGS = {
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  bytea_output: "hex",
  default_transaction_isolation: "read committed",
} as const;

/** Run once on a session of its own. */
export const MAKE_SESSION_READABLE = Object.entries(READ_SETTINGS)
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join("; ");

/** For migrations and backups, which take as long as they take, whatever the database or role is set to. */
export const WITHOUT_LIMITS =
  "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0";

/**
 * Run with BEGIN behind a transaction pooler, where a session is another's in the next transaction: what is set there must
 * end with the transaction, and what another has left there must not count.
 */
export const makeTransactionOurs = (statementMs: number): string => `
  SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${Math.round(statementMs * LOCK_SHARE)};
  SET LOCAL idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}; ${durable(true)}`;

/**
 * Every statement finds its rows by an index, one after the other. The planner's statistics of a queue table are always
 * behind, and of an array or a LIMIT parameter it knows nothing: left alone it comes to read whole tables into hash joins
 * (a claim of 100 runs was seen to read all 90,000). Planning each call anew, which PostgreSQL prefers for arrays, takes
 * longer than running the call, and JIT costs more than such statements take.
 * A pooler in transaction mode refuses start-up options: behind one these are the role's to set.
 */
export const PLANNER_SETTINGS = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
} as const;

/**
 * The limits of a session of its own; and that PostgreSQL gives up on us when we fall silent, as it holds our locks until
 * then. Without effect on a unix socket.
 */
const limitSettings = ({ statementMs }: SessionLimits): Record<string, string> => ({
  statement_timeout: String(statementMs),
  lock_timeout: String(Math.round(statementMs * LOCK_SHARE)),
  idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
  tcp_user_timeout: "15000",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "2",
  tcp_keepalives_count: "5",
});

/** What a session of its own runs under from its first statement on. */
export const startupOptions = (limits: SessionLimits): string =>
  Object.entries({ ...READ_SETTINGS, ...PLANNER_SETTINGS, ...limitSettings(limits) })
    .map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`)
    .join(" ");

/** The URL with start-up options besides its own, which the driver takes instead of any others. Ours come last and count. */
export function withStartupOptions(url: string, options: string): string {
  const [place = "", parameters = ""] = url.split("?", 2);
  const query = new URLSearchParams(parameters);
  query.set("options", [query.get("options"), options].filter((text) => text !== null).join(" "));
  return `${place}?${query.toString()}`;
}
