import type { Database } from "../db/pool.ts";
import { createMigratedCheck } from "../db/check-migrated.ts";
import { DomainError } from "../domain-error.ts";

/** Whether a load balancer should send requests here. */
export type Readiness = {
  /** @throws DomainError `unavailable` that says why not. */
  check(): Promise<void>;
  /** The start is complete: until now the answer was no. */
  open(): void;
  /** From now on the answer is no: the server is about to stop. */
  drain(): void;
};

const TIMEOUT_MS = 2_000;

export async function createReadiness(db: Database): Promise<Readiness> {
  const checkMigrated = await createMigratedCheck();
  let state: "starting" | "open" | "draining" = "starting";
  return {
    check: async () => {
      if (state === "starting") throw new DomainError("unavailable", "The server is starting; ask again.");
      if (state === "draining")
        throw new DomainError("unavailable", "The server is stopping; use another one.");
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(
          () => reject(new DomainError("unavailable", "The database does not answer in time.")),
          TIMEOUT_MS,
        );
      });
      try {
        await Promise.race([checkMigrated(db), late]);
      } catch (cause) {
        if (cause instanceof DomainError) throw cause;
        throw new DomainError(
          "unavailable",
          "The database cannot be used; the server's log says why.",
          null,
          {
            cause,
          },
        );
      } finally {
        clearTimeout(timer);
      }
    },
    open: () => {
      if (state === "starting") state = "open";
    },
    drain: () => {
      state = "draining";
    },
  };
}
