import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { RollupMinutes } from "./run-rollup.ts";

/** The greatest and the last sample of a time. Times are milliseconds. */
export type GaugeRow = {
  at: number;
  queuedMax: number;
  queuedLast: number;
  oldestQueuedMsMax: number;
  oldestQueuedMsLast: number;
  waitingMax: number;
  waitingLast: number;
  pendingTokensMax: number;
  pendingTokensLast: number;
  slotsMax: number;
  slotsLast: number;
  slotsUsedMax: number;
  slotsUsedLast: number;
};

/** The oldest first. */
export const listGauges = (
  db: Queryable,
  environmentId: Uuid<"env">,
  { minutes, since }: { minutes: RollupMinutes; since: number },
): Promise<GaugeRow[]> =>
  db.query<GaugeRow>(sql`
    SELECT at, queued_max, queued_last, oldest_queued_ms_max, oldest_queued_ms_last, waiting_max, waiting_last,
      pending_tokens_max, pending_tokens_last, slots_max, slots_last, slots_used_max, slots_used_last
    FROM run_gauges
    WHERE environment_id = ${environmentId} AND minutes = ${minutes} AND at >= ${timestamp(since)}
    ORDER BY at`);
