import { readSync } from "./node-fs.ts";
import { TICKETS_FD } from "./frames.ts";
import type { GivenAttempt } from "./run-attempt.ts";

/** Attempts that wait behind the one that this process runs. The agent takes them back by their tickets, and says nothing. */
type WaitingAttempts = {
  /** Resolves with true when it is to begin, with false when it never will here. */
  add(attempt: GivenAttempt): Promise<boolean>;
  /** Lets the first one begin that was not taken back. @returns the numbers of those that will not begin */
  beginNext(): number[];
  /** None of them will begin. @returns their numbers */
  drop(): number[];
};

export function createWaitingAttempts(): WaitingAttempts {
  const waiting: { n: number; settle(begins: boolean): void }[] = [];
  const ticket = Buffer.alloc(1);

  const drop = (): number[] =>
    waiting.splice(0).map(({ n, settle }) => {
      settle(false);
      return n;
    });
  return {
    add: ({ n }) => new Promise((settle) => waiting.push({ n, settle })),
    beginNext() {
      const [next] = waiting;
      if (next === undefined) return [];
      if (readSync(TICKETS_FD, ticket, 0, 1, null) === 0) return drop();
      // The agent would wait for the others without end.
      if (ticket[0] !== next.n % 256)
        throw new Error("Code of this process has taken tickets of runs, from its descriptor 5.");
      waiting.shift();
      next.settle(true);
      return [];
    },
    drop,
  };
}
