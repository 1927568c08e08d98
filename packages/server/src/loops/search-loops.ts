import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { createEndedIndexer } from "../core/run-search/index-ended.ts";
import { indexRuns } from "../core/run-search/index-runs.ts";
import { UNASKED_INTERVAL_MS, type LoopWork } from "./loop.ts";
import { createSpareTurns } from "./spare-turns.ts";

const INTERVAL_MS = 1_000;
/** While there is nothing to index. */
const IDLE_INTERVAL_MS = 2_000;
const INDEX_SHARE = 0.3;
/** While the machine is busy, the index falls behind instead of taking from those who start runs and report. */
const LONGEST_WAIT_MS = 5_000;
const RUNS_WHILE_BUSY = 100;

/** Fills the index of words that searches over runs use. Every replica does: an environment that one fills is left to it. */
export function searchLoops(context: ItemContext): LoopWork[] {
  const ended = createEndedIndexer(context);
  const nextTurn = createSpareTurns(LONGEST_WAIT_MS);
  return [
    {
      name: "index-runs",
      intervalMs: IDLE_INTERVAL_MS,
      unaskedIntervalMs: UNASKED_INTERVAL_MS,
      maxShare: INDEX_SHARE,
      run: async () => {
        const turn = nextTurn();
        if (turn === "none") return INTERVAL_MS;
        const more = await indexRuns(
          turn === "busy" ? { ...context, environmentRuns: RUNS_WHILE_BUSY } : context,
        );
        if ((await ended.run()) || more === true) return 0;
        return more === null ? undefined : INTERVAL_MS;
      },
    },
  ];
}
