import type { Clock } from "../clock.ts";

/**
 * Shares the server's time between environments. In one turn of the event loop each may have so much done and then lets
 * the others' requests come in; what is left waits for the next turns, in its order. While only one environment calls,
 * nothing waits for anything.
 */
export type FairTurns = {
  /** Waits for the environment's next turn when its present one is used up; nothing to wait for otherwise. */
  enter(environmentId: string, cost: number): Promise<void> | undefined;
  /** Counts what was done without waiting: the environment's next calls wait the sooner. */
  charge(environmentId: string, cost: number): void;
  /** What waits for a turn. */
  waiting(): number;
};

type Turn = { used: number; waiting: Waiting[] };
type Waiting = { cost: number; go(): void };

/** Of one environment in one turn: about two milliseconds. */
const COST_A_TURN = 16;
/** For so long an environment that was heard of is one of those that share. */
const ALONE_AFTER_MS = 250;

export function createFairTurns(clock: Clock): FairTurns {
  const turns = new Map<string, Turn>();
  let last = "";
  let sharedUntil = Number.NEGATIVE_INFINITY;
  let scheduled = false;
  let waiting = 0;

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(nextTurn);
  };

  const nextTurn = (): void => {
    scheduled = false;
    for (const [environmentId, turn] of turns) {
      turn.used = 0;
      if (turn.waiting.length === 0) {
        turns.delete(environmentId);
        continue;
      }
      let count = 0;
      while (count < turn.waiting.length && turn.used < COST_A_TURN)
        turn.used += (turn.waiting[count++] as Waiting).cost;
      waiting -= count;
      for (const { go } of turn.waiting.splice(0, count)) go();
    }
    if (turns.size > 0) schedule();
  };

  const turnOf = (environmentId: string): Turn => {
    let turn = turns.get(environmentId);
    if (turn === undefined) turns.set(environmentId, (turn = { used: 0, waiting: [] }));
    schedule();
    return turn;
  };

  return {
    enter: (environmentId, cost) => {
      const now = clock();
      if (environmentId !== last) {
        if (last !== "") sharedUntil = now + ALONE_AFTER_MS;
        last = environmentId;
      }
      if (now > sharedUntil && waiting === 0) return undefined;
      const turn = turnOf(environmentId);
      if (turn.used < COST_A_TURN && turn.waiting.length === 0) {
        turn.used += cost;
        return undefined;
      }
      waiting += 1;
      const { waiting: queue } = turn;
      return new Promise((resolve) => void queue.push({ cost, go: resolve }));
    },
    charge: (environmentId, cost) => {
      if (clock() <= sharedUntil) turnOf(environmentId).used += cost;
    },
    waiting: () => waiting,
  };
}
