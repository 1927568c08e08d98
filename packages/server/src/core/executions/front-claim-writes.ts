import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
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

/** The first ready run of an environment and a priority, among those that have begun before or those that have not. */
export type ReadyFront = {
  environmentId: Uuid<"env">;
  /** 1 for runs that have begun before, 0 for the others. */
  begun: number;
  priority: number;
  /** No run before this one is ready. */
  runId: Uuid<"run">;
};

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

/**
 * Claims ready runs from known fronts. It does what `claimAnywhere` does, in the order of the fronts, and reads nothing that is
 * before them.
 */
export const claimAtFronts = (
  db: Queryable,
  claim: Claim,
  fronts: readonly ReadyFront[],
): Promise<LeasedExecution[]> =>
  db.query<LeasedExecution>(sql`
    WITH fronts AS (
      SELECT * FROM unnest(
        ${fronts.map((front) => front.environmentId)}::uuid[], ${fronts.map((front) => front.begun)}::integer[],
        ${fronts.map((front) => front.priority)}::smallint[], ${fronts.map((front) => front.runId)}::uuid[]
      ) WITH ORDINALITY AS f (environment_id, begun, priority, run_id, place)
    ), candidates AS (
      SELECT c.*, f.place
      FROM fronts f
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id, e.priority, f.begun FROM executions e
        WHERE e.worker_group_id = ${claim.workerGroupId} AND e.ready AND ${ANYWHERE.among}
          AND e.environment_id = f.environment_id AND least(e.attempt_number, 1) = f.begun AND e.priority = f.priority
          AND e.run_id >= f.run_id
          AND (e.expires_at IS NULL OR e.expires_at > ${timestamp(claim.now)})
          AND ${canRun(claim.meets)}
        ORDER BY e.run_id
        LIMIT (SELECT ${shareOf(claim, sql`count(*)`)} FROM fronts)
        FOR UPDATE SKIP LOCKED
      ) c
      WHERE EXISTS (SELECT FROM workers w WHERE w.id = ${claim.workerId} AND ${ANYWHERE.worker})
    ), ${pickCandidates(claim)}, ${takePicked(claim)} ${READ_CLAIMED}`);
