import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";

/**
 * Shares the server between environments without idling: deficit round robin (M. Shreedhar, G. Varghese, 1995) over the turns
 * of the event loop. While more than one environment calls, each has so much done in a round, and the rest of what it wants
 * waits in its own queue for the next rounds, which follow at once. Between two rounds the server takes what others have
 * sent, and an environment that calls seldom has its round at once. While only one environment calls, nothing waits.
 *
 * Costs are in shares of a small request, such as the start of a task or a look at a run.
 */
export type FairTurns = {
  /**
   * Counts what is about to be done, and waits while the environment has had what it may have in this round; nothing to
   * wait for otherwise.
   *
   * @param isFirst before everything else of this environment that waits.
   */
  enter(environmentId: Uuid<"env">, cost: number, isFirst?: boolean): Promise<void> | undefined;
  /** Counts what was done without waiting: the environment's next calls wait for more rounds. */
  charge(environmentId: Uuid<"env">, cost: number): void;
  /** What waits for a turn. */
  waiting(): number;
};

type Account = { credit: number; waiting: Waiting[] };
type Waiting = { cost: number; go(): void };

/**
 * What one environment has done in a round. Fewer makes the others' waits shorter, and costs a flood nothing: its starts
 * wait for the statement that is under way in any case.
 */
const QUANTUM = 8;
/** No more is remembered of what an environment has had. */
const MAX_OWED = 500;
/** For so long an environment that was heard of is one of those that share. */
const ALONE_AFTER_MS = 250;

export function createFairTurns(clock: Clock): FairTurns {
  const accounts = new Map<Uuid<"env">, Account>();
  let last = "";
  let sharedUntil = Number.NEGATIVE_INFINITY;
  let round: NodeJS.Immediate | null = null;
  let waiting = 0;

  const accountOf = (environmentId: Uuid<"env">): Account => {
    let account = accounts.get(environmentId);
    if (account === undefined) accounts.set(environmentId, (account = { credit: QUANTUM, waiting: [] }));
    round ??= setImmediate(nextRound);
    return account;
  };

  const charge = (account: Account, cost: number): void => {
    account.credit = Math.max(-MAX_OWED, account.credit - cost);
  };

  const nextRound = (): void => {
    const isShared = clock() <= sharedUntil;
    for (const [environmentId, account] of accounts) {
      account.credit = Math.min(QUANTUM, account.credit + QUANTUM);
      goOn(account, isShared);
      if (account.credit === QUANTUM && account.waiting.length === 0) accounts.delete(environmentId);
    }
    round = accounts.size > 0 ? setImmediate(nextRound) : null;
  };

  const goOn = (account: Account, isShared: boolean): void => {
    let count = 0;
    for (const { cost } of account.waiting) {
      if (isShared && account.credit <= 0) break;
      charge(account, cost);
      count += 1;
    }
    waiting -= count;
    for (const { go } of account.waiting.splice(0, count)) go();
  };

  return {
    enter: (environmentId, cost, isFirst = false) => {
      const now = clock();
      if (environmentId !== last) {
        if (last !== "") sharedUntil = now + ALONE_AFTER_MS;
        last = environmentId;
      }
      if (now > sharedUntil && waiting === 0) return undefined;
      const account = accountOf(environmentId);
      if (account.credit > 0 && account.waiting.length === 0) {
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
      if (clock() <= sharedUntil) charge(accountOf(environmentId), cost);
    },
    waiting: () => waiting,
  };
}
