import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Occurrence } from "./schedule.ts";

export type OccurrenceRow = Occurrence & { createdAt: number };

/** Newest first, of slots before `before`. */
export function listOccurrences(
  db: Queryable,
  environmentId: Uuid<"env">,
  scheduleId: Uuid<"sched">,
  before: number | null,
  limit: number,
): Promise<OccurrenceRow[]> {
  return db.query<OccurrenceRow>(sql`
    SELECT scheduled_at, status, run_id, reason, message, created_at
    FROM schedule_occurrences
    WHERE environment_id = ${environmentId} AND schedule_id = ${scheduleId}
      AND scheduled_at < coalesce(${timestamp(before)}, 'infinity')
    ORDER BY scheduled_at DESC LIMIT ${limit}`);
}
