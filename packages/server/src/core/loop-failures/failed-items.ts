import type { Clock } from "../../clock.ts";
import { isConnectionError } from "../../db/connection-error.ts";
import type { Database } from "../../db/pool.ts";
import { causeOf, nameOfItem, type LoopFailure, type LoopItem } from "./loop-failure.ts";
import { listFailedItems } from "./loop-failure-reads.ts";
import { deleteLoopFailures, upsertLoopFailure } from "./loop-failure-writes.ts";

export type ItemContext = {
  db: Database;
  clock: Clock;
  /** Told of each item that was set aside, after its error. */
  noteLoopFailure: (failure: LoopFailure, error: unknown) => void;
};

/** What one round of a loop knows of the items that failed. */
export type FailedItems = {
  isSetAside: (item: LoopItem, now: number) => Promise<boolean>;
  setAside: (item: LoopItem, error: unknown, now: number) => Promise<void>;
  /** The items were processed. */
  forget: (items: readonly LoopItem[]) => Promise<void>;
};

export function trackFailures(
  { db, noteLoopFailure }: Pick<ItemContext, "db" | "noteLoopFailure">,
  loop: string,
): FailedItems {
  // Read when it is first needed, once a round.
  let read: Promise<Map<string, number>> | undefined;
  const failed = (): Promise<Map<string, number>> =>
    (read ??= listFailedItems(db, loop).then(
      (items) => new Map(items.map((item) => [nameOfItem(item), item.retryAt])),
    ));
  return {
    isSetAside: async (item, now) => ((await failed()).get(nameOfItem(item)) ?? 0) > now,
    setAside: async (item, error, now) => {
      const failure = await upsertLoopFailure(db, { ...item, loop, cause: causeOf(error), now });
      read = undefined;
      if (failure !== null) noteLoopFailure(failure, error);
    },
    forget: async (items) => {
      const known = items.length === 0 ? null : await failed();
      if (known === null || known.size === 0) return;
      const processed = items.filter((item) => known.has(nameOfItem(item)));
      if (processed.length > 0) await deleteLoopFailures(db, loop, processed);
    },
  };
}

/** Classes 53 and 58: PostgreSQL lacks disk or memory, or its system failed. 25006: it is read-only. */
const INSTALLATION_STATES = /^(53\w{3}|58\w{3}|25006)$/;

/** Something else is at work that a whole round has to wait for. */
export class HeldUpError extends Error {
  override readonly name = "HeldUpError";
}

/** An error that says nothing of the row at hand: the whole round is tried again later. */
export function isNobodysFault(error: unknown): boolean {
  if (isConnectionError(error) || error instanceof HeldUpError) return true;
  for (let link = error; link instanceof Error; link = link.cause) {
    const { code } = link as { code?: unknown };
    if (typeof code === "string" && INSTALLATION_STATES.test(code)) return true;
  }
  return false;
}
