import type { TerminalRunStatus, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import {
  completeEvents,
  impliedEvent,
  type NumberedEvent,
  type RunCourse,
  type StoredEvent,
} from "./run-event.ts";

type CourseRow = {
  createdAt: number;
  leasedAt: number | null;
  startedAt: number | null;
  eventSequence: number;
  status: TerminalRunStatus | null;
  finishedAt: number | null;
  attemptNumber: number | null;
  /** Some of its events are stored. */
  isStored: boolean;
  sequence: number | null;
  events: string | null;
};

/**
 * Events after the cursor, oldest first. A row holds several events, so a page may begin in the middle of one. None of an
 * ended run whose stored events were dropped.
 */
export async function listRunEvents(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  after: number,
  limit: number,
): Promise<NumberedEvent[]> {
  // One statement, so that the rows are those of the moment at which the run was as it says.
  const rows = await db.query<CourseRow>(sql`
    SELECT r.created_at, coalesce(e.first_leased_at, x.first_leased_at) AS leased_at,
      coalesce(e.started_at, x.started_at) AS started_at, coalesce(e.event_sequence, x.event_sequence) AS event_sequence,
      x.status, x.finished_at, x.attempt_number,
      EXISTS (SELECT FROM run_events s WHERE s.environment_id = r.environment_id AND s.run_id = r.id) AS is_stored,
      v.sequence, v.events
    FROM runs r
    LEFT JOIN executions e ON e.environment_id = r.environment_id AND e.run_id = r.id
    LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id
    LEFT JOIN LATERAL (
      SELECT v.sequence, v.events FROM run_events v
      WHERE v.environment_id = r.environment_id AND v.run_id = r.id AND v.last_sequence > ${after}
        -- The row with the first of them, so that a reader at the end of a long run does not read it all again.
        AND v.sequence >= coalesce((
          SELECT max(f.sequence) FROM run_events f
          WHERE f.environment_id = r.environment_id AND f.run_id = r.id AND f.sequence <= ${after}::bigint + 1), 0)
      ORDER BY v.sequence LIMIT ${limit}
    ) v ON true
    WHERE r.environment_id = ${environmentId} AND r.id = ${runId}
    ORDER BY v.sequence`);
  const [first] = rows;
  if (first === undefined) return [];
  const course = courseOf(first);
  if (!first.isStored && !isImpliedWhole(course)) return [];
  const stored = rows.flatMap(({ sequence, events }) =>
    sequence === null || events === null ? [] : [{ sequence, events: JSON.parse(events) as StoredEvent[] }],
  );
  return completeEvents(course, stored, after, limit);
}

function courseOf({ status, finishedAt, attemptNumber, ...course }: CourseRow): RunCourse {
  const ending = status === null || finishedAt === null ? null : { status, at: finishedAt, attemptNumber };
  return { ...course, ending };
}

/** Nothing of it was ever stored. */
const isImpliedWhole = (course: RunCourse): boolean =>
  course.eventSequence <= MOST_IMPLIED &&
  Array.from({ length: course.eventSequence }, (_, index) => impliedEvent(course, index + 1)).every(
    (event) => event !== null,
  );

/** Created, queued, leased, started, ended. */
const MOST_IMPLIED = 5;
