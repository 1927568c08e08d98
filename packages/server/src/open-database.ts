import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import { createWakeNotifier, type WakeNotifier } from "./core/feeds/wake-notifier.ts";
import { createWakes, type Wakes } from "./core/feeds/wakes.ts";
import { createDatabase, type Database, type DatabaseOptions } from "./db/pool.ts";
import { sql } from "./db/sql.ts";

/** Wakes reach other servers this much later: one NOTIFY for all of them. */
const NOTIFY_INTERVAL_MS = 5;

export type OpenDatabase = {
  readonly db: Database;
  /** Hears of each key that a transaction woke, after its COMMIT. */
  readonly wakes: Wakes;
  /** Tells other servers, through the database, of what was woken here. */
  readonly notifier: WakeNotifier;
};

/** Nothing is connected to yet. */
export function openDatabase(
  config: Config & { databaseUrl: string },
  log: Logger,
  options: Pick<DatabaseOptions, "refuseSecondConnection" | "note" | "noteWaited">,
): OpenDatabase {
  const notifier = createWakeNotifier({
    replicaId: randomUUID(),
    intervalMs: NOTIFY_INTERVAL_MS,
    notify: async (channel, payload) => void (await db.query(sql`SELECT pg_notify(${channel}, ${payload})`)),
    onError: (error) => log.debug({ err: error }, "wake not sent"),
  });
  const wakes = createWakes(notifier.add);
  const db = createDatabase({
    url: config.databaseUrl,
    directUrl: config.databaseDirectUrl ?? config.databaseUrl,
    poolSize: config.databasePoolSize,
    statementNames: config.databaseStatementNames,
    wake: wakes.wake,
    ...options,
    onConnectionLost: (error) => log.warn({ err: error }, "database connection lost"),
    onCommitsHang: (isHanging) =>
      isHanging
        ? log.error(
            "PostgreSQL confirms no commits, so writes are refused until it does: the standby that it waits for may be gone",
          )
        : log.info("PostgreSQL confirms commits again"),
  });
  return { db, wakes, notifier };
}
