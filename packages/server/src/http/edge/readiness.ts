import type { Database } from "../../db/pool.ts";
import { createMigratedCheck } from "../../db/check-migrated.ts";
import { DomainError } from "../../domain-error.ts";

/** What the answer names, in `details.check`. */
type Check = "startup" | "shutdown" | "pool" | "database";

/** Whether a load balancer should send requests here. */
export type Readiness = {
  /** @throws DomainError `unavailable` that says why not, and names the check. */
  check(): Promise<void>;
  /** The start is complete: until now the answer was no. */
  open(): void;
  /** From now on the answer is no: the server is about to stop. */
  drain(): void;
  isDraining(): boolean;
};

const TIMEOUT_MS = 2_000;
/** Whoever waits for a connection for longer is likely to be refused in the end. */
const MAX_POOL_WAIT_MS = 5_000;

export async function createReadiness(db: Database): Promise<Readiness> {
  const checkMigrated = await createMigratedCheck();
  let checking: Promise<void> | null = null;
  let state: "starting" | "open" | "draining" = "starting";
  return {
    check: async () => {
      if (state === "starting") throw notReady("startup", "The server is starting; ask again.");
      if (state === "draining") throw notReady("shutdown", "The server is stopping; use another one.");
      if (db.longestWaitMs() > MAX_POOL_WAIT_MS)
        throw notReady(
          "pool",
          "All connections to the database are in use, and requests wait for one. Raise KEELSON_POOL_SIZE, or find out what keeps the database busy.",
        );
      // Shared: whoever may ask without a credential must not spend the pool by asking.
      checking ??= checkDatabase(db, checkMigrated).finally(() => (checking = null));
      await checking;
    },
    open: () => {
      if (state === "starting") state = "open";
    },
    drain: () => {
      state = "draining";
    },
    isDraining: () => state === "draining",
  };
}

async function checkDatabase(db: Database, checkMigrated: (db: Database) => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(notReady("database", "The database does not answer in time.")),
      TIMEOUT_MS,
    );
  });
  try {
    await Promise.race([checkMigrated(db), late]);
  } catch (cause) {
    if (cause instanceof DomainError) throw cause;
    throw notReady("database", "The database cannot be used; the server's log says why.", cause);
  } finally {
    clearTimeout(timer);
  }
}

const notReady = (check: Check, message: string, cause?: unknown): DomainError =>
  new DomainError("unavailable", message, { check }, cause === undefined ? {} : { cause });
