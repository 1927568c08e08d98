import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { StoredEvent } from "./run-event.ts";

export type NumberedEvent = { sequence: number; event: StoredEvent };

/** Events after the cursor, oldest first. A row holds several events, so a page may begin in the middle of one. */
export async function listRunEvents(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  after: number,
  limit: number,
): Promise<NumberedEvent[]> {
  const rows = await db.query<{ sequence: number; events: string }>(sql`
    SELECT sequence, events FROM run_events
    WHERE environment_id = ${environmentId} AND run_id = ${runId} AND last_sequence > ${after}
      -- The row with the first of them, so that a reader at the end of a long run does not read it all again.
      AND sequence >= coalesce((
        SELECT max(f.sequence) FROM run_events f
        WHERE f.environment_id = ${environmentId} AND f.run_id = ${runId} AND f.sequence <= ${after}::bigint + 1), 0)
    ORDER BY sequence LIMIT ${limit}`);
  return rows
    .flatMap((row) =>
      (JSON.parse(row.events) as StoredEvent[]).map((event, index) => ({
        sequence: row.sequence + index,
        event,
      })),
    )
    .filter(({ sequence }) => sequence > after)
    .slice(0, limit);
}
