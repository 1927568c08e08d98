import type { Clock } from "../clock.ts";

/**
 * Shares the server between environments. While more than one calls, each may have so much done at a time, and what it
 * wants beyond that waits: a little of it goes on every few milliseconds, in its order, whatever the others do. The rest
 * of the time is kept free, so that those who call seldom find the event loop, the database and the processors idle, as
 * they would without a flood beside them. While only one environment calls, nothing waits for anything.
 *
 * Costs are in shares of a small request, such as the start of a task or a look at a run.
 */
export type FairTurns = {
  /**
   * Counts what is about to be done, and waits while the environment has had what it may have; nothing to wait for
   * otherwise.
   *
   * @param isFirst before everything else of this environment that waits.
   */
  enter(environmentId: string, cost: number, isFirst?: boolean): Promise<void> | undefined;
  /** Counts what was done without waiting: the environment's next calls wait the longer. */
  charge(environmentId: string, cost: number): void;
  /** What waits for a turn. */
  waiting(): number;
};

type Account = { owed: number; waiting: Waiting[] };
type Waiting = { cost: number; go(): void };

/**
 * While others call, an environment that wants all it can get has a little done after each pause. Measured on two cores:
 * with 1,000 shares a second, which is about half a millisecond of the event loop each time, the others' p99 stays within
 * twice what it is without a flood; less at a time after shorter pauses wakes all processes more often, and leaves them no
 * better off. A turn that comes late because the loop is busy is not made up for, so a slow machine gives fewer turns.
 */
const PAUSE_MS = 5;
/** Done at once for an environment that has not called lately. */
const BURST = 12;
/** No more is remembered of what an environment has had. */
const MAX_OWED = 500;
/** For so long an environment that was heard of is one of those that share. */
const ALONE_AFTER_MS = 250;

/** @param sharesPerSecond of each environment while others call; 0 holds nobody back. */
export function createFairTurns(clock: Clock, sharesPerSecond: number): FairTurns {
  const sharesATurn = (sharesPerSecond * PAUSE_MS) / 1_000;
  const accounts = new Map<string, Account>();
  let last = "";
  let sharedUntil = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | null = null;
  let waiting = 0;

  const accountOf = (environmentId: string): Account => {
    let account = accounts.get(environmentId);
    if (account === undefined) accounts.set(environmentId, (account = { owed: 0, waiting: [] }));
    timer ??= setTimeout(nextTurn, PAUSE_MS);
    return account;
  };

  const charge = (account: Account, cost: number): void => {
    account.owed = Math.min(MAX_OWED, account.owed + cost);
  };

  const nextTurn = (): void => {
    const isShared = clock() <= sharedUntil;
    for (const [environmentId, account] of accounts) {
      account.owed = Math.max(0, account.owed - sharesATurn);
      goOn(account, isShared);
      if (account.owed === 0 && account.waiting.length === 0) accounts.delete(environmentId);
    }
    timer = accounts.size > 0 ? setTimeout(nextTurn, PAUSE_MS) : null;
  };

  const goOn = (account: Account, isShared: boolean): void => {
    let count = 0;
    for (const { cost } of account.waiting) {
      if (isShared && account.owed >= BURST) break;
      charge(account, cost);
      count += 1;
    }
    waiting -= count;
    for (const { go } of account.waiting.splice(0, count)) go();
  };

  return {
    enter: (environmentId, cost, isFirst = false) => {
      if (sharesPerSecond === 0) return undefined;
      const now = clock();
      if (environmentId !== last) {
        if (last !== "") sharedUntil = now + ALONE_AFTER_MS;
        last = environmentId;
      }
      if (now > sharedUntil && waiting === 0) return undefined;
      const account = accountOf(environmentId);
      if (account.owed < BURST && account.waiting.length === 0) {
        charge(account, cost);
        return undefined;
      }
      waiting += 1;
      return new Promise((resolve) => {
        if (isFirst) account.waiting.unshift({ cost, go: resolve });
        else account.waiting.push({ cost, go: resolve });
      });
    },
    charge: (environmentId, cost) => {
      if (sharesPerSecond > 0 && clock() <= sharedUntil) charge(accountOf(environmentId), cost);
    },
    waiting: () => waiting,
  };
}
