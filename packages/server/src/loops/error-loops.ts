import { countErrors } from "../core/error-groups/count-errors.ts";
import { hasUncounted } from "../core/error-groups/error-group-reads.ts";
import { wakeKeys } from "../core/feeds/wake-keys.ts";
import type { ItemContext } from "../core/loop-failures/failed-items.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

/** While much fails, more is counted at a time instead of more often. */
const COUNT_SHARE = 0.2;

/** Counts failed runs in their groups. Every replica does: rows that one is counting are left to it. */
export const errorLoops = (context: ItemContext): LoopWork[] => [
  {
    name: "count-errors",
    intervalMs: SAFEGUARD_MS,
    wakeKey: wakeKeys.errors,
    maxShare: COUNT_SHARE,
    due: hasUncounted,
    run: () => countErrors(context),
  },
];
