import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { createEndedIndexer } from "../core/run-search/index-ended.ts";
import { indexRuns } from "../core/run-search/index-runs.ts";
import type { LoopWork } from "./loop.ts";
import { createSpareShare } from "./spare-share.ts";

const INTERVAL_MS = 1_000;
/** While the machine is busy, the index falls behind instead of taking from those who start runs and report. */
const INDEX_SHARES = { spare: 0.3, busy: 0.02 };

/** Fills the index of words that searches over runs use. Every replica does: an environment that one fills is left to it. */
export function searchLoops(context: ItemContext): LoopWork[] {
  const ended = createEndedIndexer(context);
  return [
    {
      name: "index-runs",
      intervalMs: INTERVAL_MS,
      maxShare: createSpareShare(INDEX_SHARES),
      run: async () => {
        const isMore = await indexRuns(context);
        return (await ended.run()) || isMore ? 0 : undefined;
      },
    },
  ];
}
