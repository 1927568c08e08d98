import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import {
  ANYWHERE,
  canRun,
  ISOLATED,
  pickCandidates,
  shareOf,
  READ_CLAIMED,
  takePicked,
  type Claim,
} from "./claim-writes.ts";
import type { LeasedExecution } from "./execution.ts";
import type { KnownRun, RunKind } from "./known-runs.ts";
import type { ReadyFront } from "./ready-reads.ts";

/** What a claim looks into. */
export type FrontClaim = {
  kind: Exclude<RunKind, "inWorkspace">;
  fronts: readonly ReadyFront[];
  /** Not those that a front leads to. */
  known: readonly KnownRun[];
  /** All environments of both, in the order of their turns. */
  places: readonly Uuid<"env">[];
};

/** Of a run `e`. */
const mayBeClaimed = (claim: Claim, among: Sql): Sql => sql`
  e.worker_group_id = ${claim.workerGroupId} AND e.ready AND ${among}
  AND (e.expires_at IS NULL OR e.expires_at > ${timestamp(claim.now)})
  AND ${canRun(claim.meets)}`;

const KINDS = { anywhere: ANYWHERE, isolated: ISOLATED } as const;

/**
 * Claims ready runs from known fronts. It does what `claimAnywhere` and `claimIsolated` do, in the order of the fronts, and reads
 * nothing that is before them. Runs that are known are looked up by their keys.
 */
export const claimAtFronts = (
  db: Queryable,
  claim: Claim,
  { kind, fronts, known, places }: FrontClaim,
): Promise<LeasedExecution[]> => {
  const { among, worker } = KINDS[kind];
  const hasNoFront = kind === "anywhere" ? sql`AND e.attempt_number > 0` : sql``;
  return db.query<LeasedExecution>(sql`
    WITH places AS (
      SELECT * FROM unnest(${places}::uuid[]) WITH ORDINALITY AS p (environment_id, place)
      WHERE EXISTS (SELECT FROM workers w WHERE w.id = ${claim.workerId} AND ${worker})
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
        WHERE ${mayBeClaimed(claim, among)} AND e.environment_id = f.environment_id AND least(e.attempt_number, 1) = 0
          AND e.priority = f.priority AND e.run_id >= f.run_id
        ORDER BY e.run_id
        LIMIT (SELECT ${shareOf(claim, sql`count(*)`)} FROM fronts)
        FOR UPDATE SKIP LOCKED
      ) c
    ), known AS (
      SELECT c.*, p.place
      FROM unnest(
        ${known.map((run) => run.environmentId)}::uuid[], ${known.map((run) => run.runId)}::uuid[]
      ) AS r (environment_id, run_id)
      JOIN places p ON p.environment_id = r.environment_id
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id, e.priority, least(e.attempt_number, 1) AS begun FROM executions e
        WHERE ${mayBeClaimed(claim, among)} AND e.environment_id = r.environment_id AND e.run_id = r.run_id ${hasNoFront}
        LIMIT 1
        FOR UPDATE SKIP LOCKED
      ) c
    ), candidates AS (
      SELECT * FROM fresh UNION ALL SELECT * FROM known
    ), ${pickCandidates(claim)}, ${takePicked(claim)} ${READ_CLAIMED}`);
};
