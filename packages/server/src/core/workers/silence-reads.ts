import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";

/** When something is looked at, and for how long a lease lasts. */
export type Watch = { now: number; leaseDurationMs: number };

/**
 * How long after it was heard last a worker is given nothing new by a poll that it left open: what it may have been cut off
 * from. Shorter than a lease, so that it is not given what has just been taken from it.
 */
export const silentAfterMs = (leaseDurationMs: number): number => (leaseDurationMs * 2) / 3;

/** What is set of a worker that was heard at that time, milliseconds, maybe after a silence. */
export const heard = (at: number, leaseDurationMs: number): Sql => sql`
  heard_since = CASE WHEN last_seen_at <= ${timestamp(at - leaseDurationMs)} THEN ${timestamp(at)} ELSE heard_since END,
  last_seen_at = greatest(last_seen_at, ${timestamp(at)})`;

/** A lease that was not renewed in time: expressions for its worker, the worker's group, and its end. */
export type EndedLease = {
  workerId: Sql;
  workerGroupId: Sql;
  endedAt: Sql;
  /** Whether what it is of is still there when the worker's process begins again. */
  outlastsProcess: boolean;
  /** A condition on a worker `w` of the group: it could go on with what the lease is of, when it has room. */
  canContinue: Sql;
};

/**
 * A condition: what the lease is of can go on without its worker. While nobody else could go on with it, nothing is won by
 * giving up a worker that may only be out of reach. So somebody has to be there who was heard for a whole lease: another worker
 * of the group that can take it over, or the same one, which says without renewing the lease that it has nothing any more, or
 * is to end.
 */
export const isGivenUp = (
  { workerId, workerGroupId, endedAt, outlastsProcess, canContinue }: EndedLease,
  { now, leaseDurationMs }: Watch,
): Sql => sql`
  EXISTS (
    SELECT FROM workers w WHERE w.worker_group_id = ${workerGroupId} AND CASE WHEN w.id = ${workerId}
      THEN w.status = 'draining'
        OR NOT ${outlastsProcess}::boolean AND w.registered_at > ${endedAt} - ${leaseDurationMs} * interval '1 ms'
        OR w.last_seen_at > ${endedAt} AND w.heard_since <= w.last_seen_at - ${leaseDurationMs} * interval '1 ms'
      ELSE w.status = 'active' AND w.last_seen_at > ${timestamp(now - leaseDurationMs)}
        AND w.heard_since <= ${timestamp(now - leaseDurationMs)} AND ${canContinue} END)`;
