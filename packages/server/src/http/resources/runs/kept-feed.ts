import type { Uuid } from "@keelson/contract";
import { findEndedTotals } from "../../../core/runs/run-reads.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { EnvironmentScope } from "../../edge/route.ts";

/**
 * What a feed of a run has after the cursor. When there is nothing although there was, it was dropped, which happens to
 * all of an ended run's entries at once: `earliest` is where the feed goes on.
 */
export async function readKept<Row>(
  server: ServerContext,
  scope: EnvironmentScope,
  runId: Uuid<"run">,
  feed: "events" | "logs",
  after: number,
  list: () => Promise<Row[]>,
): Promise<{ rows: Row[]; earliest: number | null }> {
  const rows = await list();
  if (rows.length > 0) return { rows, earliest: null };
  const totals = await findEndedTotals(server.db, scope.environmentId, runId);
  if (totals === null || totals[feed] <= after) return { rows, earliest: null };
  // It may have ended since: what is read after its end is all there was, if it is kept.
  const again = await list();
  return { rows: again, earliest: again.length === 0 ? totals[feed] : null };
}
