import { readSync } from "./node-fs.ts";
import { TICKETS_FD } from "./frames.ts";
import type { GivenAttempt } from "./run-attempt.ts";

/** Attempts that wait behind the one that this process runs. The agent takes them back by their tickets, and says nothing. */
export type WaitingAttempts = {
  /** Resolves with true when it is to begin, with false when it never will here. */
  add(attempt: GivenAttempt): Promise<boolean>;
  /** Lets the first one begin that was not taken back. */
  beginNext(): void;
  /** None of them will begin. */
  drop(): void;
};

export function createWaitingAttempts(): WaitingAttempts {
  let waiting: { n: number; settle(begins: boolean): void }[] = [];
  const ticket = Buffer.alloc(1);

  const drop = (): void => {
    for (const { settle } of waiting.splice(0)) settle(false);
  };
  return {
    add: ({ n }) => new Promise((settle) => waiting.push({ n, settle })),
    beginNext() {
      if (waiting.length === 0) return;
      if (readSync(TICKETS_FD, ticket, 0, 1, null) === 0) return drop();
      const next = waiting.findIndex(({ n }) => n % 256 === ticket[0]);
      // The agent would wait for it without end.
      if (next < 0) throw new Error("The process drew the ticket of a run that it was not given.");
      const rest = waiting.splice(next);
      drop();
      waiting = rest;
      waiting.shift()?.settle(true);
    },
    drop,
  };
}
