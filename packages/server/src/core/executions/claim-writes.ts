import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { firstShard } from "../count-shards.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { FIRST_UUID } from "../../uuid.ts";
import { heard } from "../workers/silence-reads.ts";
import { claimerOf, lenderOf } from "../workers/claimer-reads.ts";
import type { LeasedExecution } from "./execution.ts";
import { LEASED_COLUMNS } from "./leased-reads.ts";

export type Claim = {
  workerId: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  leaseRequestId: string;
  limit: number;
  /** As many as `limit`. */
  leaseIds: Uuid<"lease">[];
  now: number;
  leaseExpiresAt: number;
  /** When the worker made the call: since then it may have fallen silent. Null of a claim by someone else. */
  calledAt: number | null;
  /** The requirements of deployments that the worker meets. */
  meets: readonly string[];
};

/**
 * Of a run `e`: the worker can run its deployment. A worker that meets whatever was ever asked, as nearly all do, is not
 * compared with each run.
 */
export const canRun = (meets: readonly string[]): Sql => sql`(
  NOT EXISTS (SELECT FROM requirements q WHERE q.requirement <> ALL(${meets}::text[]))
  OR NOT EXISTS (
    SELECT FROM runs r JOIN deployments d ON d.environment_id = r.environment_id AND d.id = r.deployment_id
    WHERE r.environment_id = e.environment_id AND r.id = e.run_id AND d.requirement <> ALL(${meets}::text[])))`;

/** A walk over the environments of a worker group that have ready runs. */
export type Walk = {
  /** The walk begins after this environment, and this one is its last. */
  start: Uuid<"env">;
  /** The environment that an earlier claim of the same walk reached; null for the first one. */
  from: Uuid<"env"> | null;
  /** How many environments this claim looks into. */
  limit: number;
};

export type Walked = {
  executions: LeasedExecution[];
  /** The environment to continue from; null when the walk has seen all of them. */
  next: Uuid<"env"> | null;
  /** How many environments this claim has looked into. */
  places: number;
};

/**
 * How many rows a claim locks for each run that it takes. With one alone, a claim would not be full where most environments
 * have a run or two and one environment has the backlog.
 */
export const SURPLUS = 4;

/**
 * Claims ready runs for an active worker, in one statement: the runs, their events and counts, and what the worker
 * was given for this request.
 *
 * `walked` goes over the index from environment to environment (a loose scan), and from the last one to the first. Each
 * environment gets its share of the claim, so a long backlog in one does not delay the others. The number of environments and
 * of locked rows is bounded, however many environments have ready runs. SKIP LOCKED lets two claims run at the same time.
 * Runs in workspaces are claimed by a statement of their own.
 */
const claimOf = (claim: Claim, walk: Walk, { among, worker }: { among: Sql; worker: Sql }): Sql => sql`
    WITH RECURSIVE walked AS (
      SELECT ${walk.from === null ? beginOf(claim, walk, among) : nextOf(claim, walk, among, sql`${walk.from}::uuid`)} AS environment_id, 1 AS place
      UNION ALL
      SELECT ${nextOf(claim, walk, among, sql`p.environment_id`)}, p.place + 1
      FROM walked p WHERE p.environment_id IS NOT NULL AND p.place < ${walk.limit}
    ), candidates AS (
      SELECT c.*, v.place
      FROM walked v
      CROSS JOIN (VALUES (0), (1)) AS b (begun)
      CROSS JOIN LATERAL (
        SELECT e.environment_id, e.run_id, e.priority, b.begun FROM executions e
        WHERE e.worker_group_id = ${claim.workerGroupId} AND e.ready AND ${among} AND e.environment_id = v.environment_id
          AND least(e.attempt_number, 1) = b.begun
          AND (e.expires_at IS NULL OR e.expires_at > ${timestamp(claim.now)})
          AND ${canRun(claim.meets)}
        ORDER BY e.priority DESC, e.run_id
        LIMIT (SELECT ${shareOf(claim, sql`count(environment_id)`)} FROM walked)
        FOR UPDATE SKIP LOCKED
      ) c
      WHERE EXISTS (SELECT FROM workers w WHERE w.id = ${claim.workerId} AND ${worker})
    ), ${pickCandidates(claim)}, ${takePicked(claim)}
    SELECT ${LEASED_COLUMNS}, w.next, w.places
    FROM (SELECT (array_agg(environment_id ORDER BY place))[${walk.limit}::integer] AS next,
      count(environment_id) AS places FROM walked) w
    LEFT JOIN (claimed c JOIN runs r ON r.environment_id = c.environment_id AND r.id = c.run_id) ON true
    ORDER BY c.place`;

/** How many rows a claim locks in each of so many places, at most. As `hasMore` has it. */
export const shareOf = ({ limit }: Claim, places: Sql): Sql => sql`
  least(${limit}, ceil(${limit * SURPLUS}::float8 / greatest(${places}, 1)))::bigint`;

/**
 * The CTE `picked`, from a CTE `candidates` of (environment_id, run_id, priority, begun, place). Environments take turns in the
 * order of their places. Within an environment and a priority, runs that have begun before and runs that have not get a half
 * each: thousands that are resumed at once are older than a run that is started then, and would delay it. The claim's first
 * lease id draws which half comes first, because a busy worker claims one run at a time and a fixed order would give all of
 * them to one half.
 */
export const pickCandidates = (claim: Claim): Sql => sql`
    shares AS (
      SELECT *, row_number() OVER (PARTITION BY environment_id, priority, begun ORDER BY run_id) AS share FROM candidates
    ), ranked AS (
      SELECT environment_id, run_id, place,
        row_number() OVER (PARTITION BY environment_id
          ORDER BY priority DESC, share, begun = get_byte(uuid_send((${claim.leaseIds}::uuid[])[1]), 15) % 2) AS turn
      FROM shares
    ), picked AS (
      SELECT environment_id, run_id, row_number() OVER (ORDER BY turn, place) AS place
      FROM ranked ORDER BY turn, place LIMIT ${claim.limit}
    )`;

/** The first environment with a ready run after that one. */
const firstAfter = ({ workerGroupId }: Claim, among: Sql, after: Sql, bound: Sql = sql``): Sql => sql`(
  SELECT e.environment_id FROM executions e
  WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND ${among} AND e.environment_id > ${after} ${bound}
  ORDER BY e.environment_id LIMIT 1)`;

/** The same among those up to the start of the walk. */
const firstAgain = (claim: Claim, { start }: Walk, among: Sql, after: Sql): Sql =>
  firstAfter(claim, among, after, sql`AND e.environment_id <= ${start}`);

const beginOf = (claim: Claim, walk: Walk, among: Sql): Sql => sql`
  coalesce(${firstAfter(claim, among, sql`${walk.start}`)}, ${firstAgain(claim, walk, among, sql`${FIRST_UUID}`)})`;

const nextOf = (claim: Claim, walk: Walk, among: Sql, after: Sql): Sql => sql`
  CASE WHEN ${after} > ${walk.start}
    THEN coalesce(${firstAfter(claim, among, after)}, ${firstAgain(claim, walk, among, sql`${FIRST_UUID}`)})
    ELSE ${firstAgain(claim, walk, among, after)} END`;

/** As in the predicates of their indexes. */
export const ANYWHERE = {
  among: sql`workspace_id IS NULL AND required_isolation IS NULL`,
  worker: sql`w.status = 'active'`,
};
export const ISOLATED = {
  among: sql`workspace_id IS NULL AND required_isolation IS NOT NULL`,
  worker: sql`w.status = 'active' AND ${canIsolate(sql`w.task_isolation`, sql`'namespace'`)}`,
};

type ClaimedRow = LeasedExecution & Pick<Walked, "next" | "places">;

/** A claim that took no run returns one row, with the walk alone. */
const toWalked = (rows: readonly ClaimedRow[]): Walked => ({
  executions: rows.filter(({ runId }) => (runId as string | null) !== null),
  next: rows[0]?.next ?? null,
  places: rows[0]?.places ?? 0,
});

/** Whether there may be more runs for the worker than those that a claim took: it was full, or an environment had its share. */
export function hasMore({ executions, next, places }: Walked, { limit }: Pick<Claim, "limit">): boolean {
  if (next !== null || executions.length >= limit) return true;
  const share = Math.min(limit, Math.ceil((limit * SURPLUS) / Math.max(places, 1)));
  const counts = new Map<Uuid<"env">, number>();
  for (const { environmentId } of executions) counts.set(environmentId, (counts.get(environmentId) ?? 0) + 1);
  return [...counts.values()].some((count) => count >= share);
}

export const claimAnywhere = async (db: Queryable, claim: Claim, walk: Walk): Promise<Walked> =>
  toWalked(await db.query<ClaimedRow>(claimOf(claim, walk, ANYWHERE)));

/** The same as the last thing of a transaction. */
export async function claimAtEnd(
  tx: Tx,
  claim: Claim,
  walk: Walk,
): Promise<{ walked: () => Promise<Walked> }> {
  const { rows } = await tx.last<ClaimedRow>(claimOf(claim, walk, ANYWHERE));
  return { walked: async () => toWalked(await rows) };
}

/** The same of runs of tasks that need the namespace tier. */
export const claimIsolated = async (db: Queryable, claim: Claim, walk: Walk): Promise<Walked> =>
  toWalked(await db.query<ClaimedRow>(claimOf(claim, walk, ISOLATED)));

/** The end of a claim's statement: what the worker is given. */
export const READ_CLAIMED = sql`
    SELECT ${LEASED_COLUMNS}
    FROM claimed c JOIN runs r ON r.environment_id = c.environment_id AND r.id = c.run_id
    ORDER BY c.place`;

/** A lease call shows that its worker is there. Not each of them writes the worker's row: they would wait for each other. */
const HEARD_EVERY_MS = 1_000;
/** When a worker was heard last by a claim that is no call of its own. */
const NEVER_MS = 0;

/**
 * The rest of a claim's CTEs, over its CTE `picked` of (environment_id, run_id, place): the runs are leased, with
 * their events and counts and what the worker was given for this request. `claimed` has their live rows.
 *
 * A lease lost before its attempt began did not use the attempt up, so the number only moves past a begun one.
 */
export const takePicked = (claim: Claim): Sql => sql`
    claimer AS (${(claim.calledAt === null ? lenderOf : claimerOf)(claim.workerId, sql`picked`)}), picks AS (
      SELECT array_agg(DISTINCT environment_id) AS environment_ids, array_agg(run_id ORDER BY place) AS run_ids
      FROM picked WHERE EXISTS (SELECT FROM claimer)
    ), claimed AS (
      -- Not joined with the picked: the planner, which takes the table for smaller than it is, would hold each row against
      -- each of them, or read the whole table for each.
      UPDATE executions e SET status = 'running', ready = false, epoch = e.epoch + 1,
        lease_id = (${claim.leaseIds}::uuid[])[array_position((SELECT run_ids FROM picks), e.run_id)], worker_id = ${claim.workerId},
        lease_expires_at = ${timestamp(claim.leaseExpiresAt)},
        attempt_number = e.attempt_number + CASE WHEN e.attempt_number = 0 OR e.attempt_started_at IS NOT NULL THEN 1 ELSE 0 END,
        active_ms = CASE WHEN e.attempt_started_at IS NOT NULL THEN 0 ELSE e.active_ms END,
        attempt_started_at = NULL, resumed_at = NULL, deadline_at = NULL, expires_at = NULL, applied_sequence = 0, recovering = false,
        first_leased_at = CASE WHEN e.event_sequence = 2 THEN ${timestamp(claim.now)} ELSE e.first_leased_at END,
        event_sequence = e.event_sequence + 1, updated_at = now()
      WHERE e.environment_id = ANY((SELECT environment_ids FROM picks)::uuid[])
        AND e.run_id = ANY((SELECT run_ids FROM picks)::uuid[])
      RETURNING e.environment_id, e.run_id, e.lease_id, e.epoch, e.lease_expires_at, e.attempt_number, e.continuations, e.attempts_before, e.max_duration_ms,
        e.metadata, e.event_sequence, e.journal_sequence, e.wait_count, e.limited, e.active_ms,
        array_position((SELECT run_ids FROM picks), e.run_id) AS place
    ), events AS (
      INSERT INTO run_events (environment_id, run_id, sequence, last_sequence, events)
      SELECT environment_id, run_id, event_sequence, event_sequence,
        format('[{"k":"run.leased","t":%s,"a":%s}]', ${claim.now}::bigint, attempt_number)
      -- That a run was leased which was only created and queued before, its row implies.
      FROM claimed WHERE event_sequence > 3
    ), counted AS (
      INSERT INTO run_counts (environment_id, status, shard, count)
      SELECT environment_id, status, pg_backend_pid() % 64 + ${firstShard()}, sum(delta)
      FROM (SELECT environment_id, 'queued' AS status, -1 AS delta FROM claimed
            UNION ALL SELECT environment_id, 'running', 1 FROM claimed) d
      GROUP BY environment_id, status ORDER BY environment_id, status
      ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count
    ), request AS (
      INSERT INTO lease_requests (worker_id, lease_request_id, lease_ids, leased_at)
      SELECT ${claim.workerId}::uuid, ${claim.leaseRequestId}::text, array_agg(lease_id), ${timestamp(claim.now)} FROM claimed HAVING count(*) > 0
      ON CONFLICT (worker_id, lease_request_id) DO UPDATE SET lease_ids = lease_requests.lease_ids || excluded.lease_ids
    ), caller AS (
      UPDATE workers SET ${heard(claim.calledAt ?? NEVER_MS, claim.leaseExpiresAt - claim.now)}
      WHERE id = ${claim.workerId} AND last_seen_at < ${timestamp((claim.calledAt ?? NEVER_MS) - HEARD_EVERY_MS)}
    )`;
