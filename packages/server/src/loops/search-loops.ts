import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { createEndedIndexer } from "../core/run-search/index-ended.ts";
import { indexRuns } from "../core/run-search/index-runs.ts";
import type { LoopWork } from "./loop.ts";

const INTERVAL_MS = 1_000;
/** While much comes, the index falls behind instead of taking from those who start runs and report. */
const INDEX_SHARE = 0.15;

/** Fills the index of words that searches over runs use. Every replica does: an environment that one fills is left to it. */
export function searchLoops(context: ItemContext): LoopWork[] {
  const ended = createEndedIndexer(context);
  return [
    {
      name: "index-runs",
      intervalMs: INTERVAL_MS,
      maxShare: INDEX_SHARE,
      run: async () => {
        const isMore = await indexRuns(context);
        return (await ended.run()) || isMore ? 0 : undefined;
      },
    },
  ];
}
