import { createBulkActionWorker, type BulkActionContext } from "../core/bulk-actions/advance-bulk-actions.ts";
import { BULK_ACTION_LOOP } from "../core/bulk-actions/bulk-action.ts";
import { hasBulkActionsDue } from "../core/bulk-actions/bulk-action-reads.ts";
import { wakeKeys } from "../core/feeds/wake-keys.ts";
import { SAFEGUARD_MS, type LoopWork } from "./loop.ts";

/** The rest of the time is for starts and claims, however many runs an action has. */
const MAX_SHARE = 0.25;

/** Cancels and replays the runs of bulk actions. Every replica runs it: actions are shared, batches of one take turns. */
export function bulkActionLoops(context: BulkActionContext): LoopWork[] {
  const worker = createBulkActionWorker(context);
  return [
    {
      name: BULK_ACTION_LOOP,
      intervalMs: SAFEGUARD_MS,
      wakeKey: wakeKeys.bulkActions,
      due: hasBulkActionsDue,
      maxShare: MAX_SHARE,
      // One batch a round, so that the share is kept after each.
      run: async () => ((await worker.run()) ? 0 : undefined),
    },
  ];
}
