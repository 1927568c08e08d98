import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import {
  ANYWHERE,
  canRun,
  pickCandidates,
  shareOf,
  READ_CLAIMED,
  takePicked,
  type Claim,
} from "./claim-writes.ts";
import type { LeasedExecution } from "./execution.ts";
import type { ResumedRun } from "./resumed-runs.ts";

/** The first ready run of an environment and a priority, among those that have begun before or those that have not. */
export type ReadyFront = {
  environmentId: Uuid<"env">;
  /** 1 for runs that have begun before, 0 for the others. */
  begun: number;
  priority: number;
  /** No run before this one is ready. */
  runId: Uuid<"run">;
};

/** What a claim looks into. */
export type FrontClaim = {
  fronts: readonly ReadyFront[];
  resumed: readonly ResumedRun[];
  /** All environments of both, in the order of their turns. */
  places: readonly Uuid<"env">[];
};

/** Of a run `e`. */
const mayBeClaimed = (claim: Claim): Sql => sql`
  e.worker_group_id = ${claim.workerGroupId} AND e.ready AND ${ANYWHERE.among}
  AND (e.expires_at IS NULL OR e.expires_at > ${timestamp(claim.now)})
  AND ${canRun(claim.meets)}`;

/**
 * The fronts of a worker group, by a loose scan of the index. It steps over each dead entry once.
 */
export function listReadyFronts(db: Queryable, workerGroupId: Uuid<"wgrp">): Promise<ReadyFront[]> {
  const ready = sql`e.worker_group_id = ${workerGroupId} AND e.ready AND ${ANYWHERE.among}`;
  return db.query<ReadyFront>(sql`
    WITH RECURSIVE fronts AS (
      (SELECT environment_id, least(attempt_number, 1) AS begun, priority, run_id FROM executions e
       WHERE ${ready} ORDER BY environment_id, least(attempt_number, 1), priority DESC, run_id LIMIT 1)
      UNION ALL
      SELECT e.environment_id, least(e.attempt_number, 1), e.priority, e.run_id
      FROM fronts p
      CROSS JOIN LATERAL (SELECT coalesce(
        (SELECT ctid FROM executions e WHERE ${ready} AND e.environment_id = p.environment_id
           AND least(e.attempt_number, 1) = p.begun AND e.priority < p.priority
         ORDER BY e.priority DESC, e.run_id LIMIT 1),
        (SELECT ctid FROM executions e WHERE ${ready} AND e.environment_id = p.environment_id
           AND least(e.attempt_number, 1) = 1 AND p.begun = 0
         ORDER BY e.priority DESC, e.run_id LIMIT 1),
        (SELECT ctid FROM executions e WHERE ${ready} AND e.environment_id > p.environment_id
         ORDER BY e.environment_id, least(e.attempt_number, 1), e.priority DESC, e.run_id LIMIT 1)) AS place) n
      JOIN executions e ON e.ctid = n.place
    )
    SELECT environment_id, begun, priority, run_id FROM fronts`);
}

/** Of an environment. */
const MOST_LISTED = 1_000;

/** Ready runs that have begun before, in these environments. It steps over each dead entry of theirs once. */
export const listReadyAgain = (
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  environmentIds: readonly Uuid<"env">[],
): Promise<ResumedRun[]> =>
  db.query<ResumedRun>(sql`
    SELECT r.environment_id, r.run_id, r.priority
    FROM unnest(${environmentIds}::uuid[]) AS v (environment_id) CROSS JOIN LATERAL (
      SELECT e.environment_id, e.run_id, e.priority FROM executions e
      WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND ${ANYWHERE.among}
        AND e.environment_id = v.environment_id AND least(e.attempt_number, 1) = 1
      ORDER BY e.priority DESC, e.run_id LIMIT ${MOST_LISTED}
    ) r`);

/**
 * Claims ready runs from known fronts. It does what `claimAnywhere` does, in the order of the fronts, and reads nothing that is
 * before them. Runs that have begun before are looked up by their keys.
 */
export const claimAtFronts = (
  db: Queryable,
  claim: Claim,
  { fronts, resumed, places }: FrontClaim,
): Promise<LeasedExecution[]> =>
  db.query<LeasedExecution>(sql`
    WITH places AS (
      SELECT * FROM unnest(${places}::uuid[]) WITH ORDINALITY AS p (environment_id, place)
      WHERE EXISTS (SELECT FROM workers w WHERE w.id = ${claim.workerId} AND ${ANYWHERE.worker})
    ), fronts AS (
      SELECT f.*, p.place FROM unnest(
        ${fronts.map((front) => front.environmentId)}::uuid[],
        ${fronts.map((front) => front.priority)}::smallint[], ${fronts.map((front) => front.runId)}::uuid[]
      ) AS f (environment_id, priority, run_id) JOIN places p ON p.environment_id = f.environment_id
    ), fresh AS (
      SELECT c.*, f.place
      FROM fronts f
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id, e.priority, 0 AS begun FROM executions e
        WHERE ${mayBeClaimed(claim)} AND e.environment_id = f.environment_id AND least(e.attempt_number, 1) = 0
          AND e.priority = f.priority AND e.run_id >= f.run_id
        ORDER BY e.run_id
        LIMIT (SELECT ${shareOf(claim, sql`count(*)`)} FROM fronts)
        FOR UPDATE SKIP LOCKED
      ) c
    ), resumed AS (
      SELECT c.*, p.place
      FROM unnest(
        ${resumed.map((run) => run.environmentId)}::uuid[], ${resumed.map((run) => run.runId)}::uuid[]
      ) AS r (environment_id, run_id)
      JOIN places p ON p.environment_id = r.environment_id
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id, e.priority, 1 AS begun FROM executions e
        WHERE ${mayBeClaimed(claim)} AND e.environment_id = r.environment_id AND e.run_id = r.run_id AND e.attempt_number > 0
        LIMIT 1
        FOR UPDATE SKIP LOCKED
      ) c
    ), candidates AS (
      SELECT * FROM fresh UNION ALL SELECT * FROM resumed
    ), ${pickCandidates(claim)}, ${takePicked(claim)} ${READ_CLAIMED}`);
