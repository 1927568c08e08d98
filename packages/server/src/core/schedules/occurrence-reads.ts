import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { Occurrence } from "./schedule.ts";

export type OccurrenceRow = Occurrence & { createdAt: number };

/** Newest first, of slots before `before`. */
export function listOccurrences(
  db: Queryable,
  environmentId: string,
  scheduleId: string,
  before: number | null,
  limit: number,
): Promise<OccurrenceRow[]> {
  return db.query<OccurrenceRow>(sql`
    SELECT scheduled_at AS "scheduledAt", status, run_id AS "runId", reason, message, created_at AS "createdAt"
    FROM schedule_occurrences
    WHERE environment_id = ${environmentId} AND schedule_id = ${scheduleId}
      AND scheduled_at < coalesce(to_timestamp(${before}::float8 / 1000), 'infinity')
    ORDER BY scheduled_at DESC LIMIT ${limit}`);
}
