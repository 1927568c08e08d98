import type { Uuid } from "@keelson/contract";

/**
 * An item of a background loop (a run, a schedule, a session …) that the loop could not process. It is set aside until its
 * retry time, so that the items beside it are processed in time, and it is shown with its cause.
 */
export type LoopFailure = {
  loop: string;
  environmentId: Uuid<"env">;
  itemId: string;
  /** In a row. */
  failures: number;
  cause: string;
  firstFailedAt: number;
  lastFailedAt: number;
  retryAt: number;
};

/** What a loop processes: a row of an environment. */
export type LoopItem<Id extends string = string> = { environmentId: Uuid<"env">; itemId: Id };

/** What a statement takes of them: so many at most that are not set aside. */
export type DueItems = { loop: string; limit: number; now: number };

/** How long an item is left alone after the first failure, the second in a row …; the last one after each further one. */
export const ITEM_RETRY_DELAYS_MS = [
  ...[1_000, 2_000, 4_000, 8_000, 16_000, 32_000],
  ...[60_000, 120_000, 240_000, 480_000, 900_000],
] as [number, ...number[]];

const CAUSE_MAX_LENGTH = 2_000;

export const nameOfItem = ({ environmentId, itemId }: LoopItem): string => `${environmentId} ${itemId}`;

/** The messages of an error and of its causes, as PostgreSQL's text can hold them. */
export function causeOf(error: unknown): string {
  const messages: string[] = [];
  for (let link = error; link instanceof Error && messages.length < 5; link = link.cause)
    messages.push(link.message);
  const text = messages.length === 0 ? String(error) : messages.join(": ");
  return text.replaceAll("\0", "\ufffd").slice(0, CAUSE_MAX_LENGTH);
}
