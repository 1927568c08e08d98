import type { ExecuteInput, JournalKind } from "@keelson/contract";
import type { Client } from "../../client/client.ts";
import { currentTimeMs, sleep } from "../../client/clock.ts";

/** Where the run has its time from. */
export type RunClock = {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

/** What one execution is given. The fields besides those of a worker are for tests in process. */
export type RunInput = ExecuteInput & {
  /** Default: the machine's. */
  clock?: RunClock;
  /** What `ctx.client` is. Default: a client of the server that has the run. */
  client?: Client;
  /**
   * Given, this is no execution but a check whether the code fits the journal: each call that the journal does not have is told
   * here, and neither happens nor settles.
   */
  onNewCall?: (kind: JournalKind, name: string) => void;
};

export const MACHINE_CLOCK: RunClock = { now: currentTimeMs, sleep };
