import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { encodeHistogram } from "../histogram.ts";
import type { RollupMinutes, RunRollup } from "./run-rollup.ts";

/** Writes whole rows, under the lock of the progress. */
export async function upsertRollups(tx: Tx, rollups: readonly RunRollup[]): Promise<void> {
  await tx.query(sql`
    INSERT INTO run_rollups (environment_id, minutes, entrypoint_kind, entrypoint, at, succeeded, failed, cancelled, expired,
      system_failed, queue_times, durations)
    SELECT environment_id, minutes, entrypoint_kind, entrypoint, to_timestamp(at / 1000), succeeded, failed, cancelled, expired,
      system_failed, queue_times, durations
    FROM unnest(
      ${rollups.map((row) => row.environmentId)}::uuid[], ${rollups.map((row) => row.minutes)}::smallint[],
      ${rollups.map((row) => row.entrypointKind)}::text[], ${rollups.map((row) => row.entrypoint)}::text[],
      ${rollups.map((row) => row.at)}::float8[], ${rollups.map((row) => row.counts.succeeded)}::bigint[],
      ${rollups.map((row) => row.counts.failed)}::bigint[], ${rollups.map((row) => row.counts.cancelled)}::bigint[],
      ${rollups.map((row) => row.counts.expired)}::bigint[], ${rollups.map((row) => row.counts.systemFailed)}::bigint[],
      ${rollups.map((row) => encodeHistogram(row.queueTimes))}::bytea[],
      ${rollups.map((row) => encodeHistogram(row.durations))}::bytea[]
    ) AS n (environment_id, minutes, entrypoint_kind, entrypoint, at, succeeded, failed, cancelled, expired, system_failed,
      queue_times, durations)
    ON CONFLICT (environment_id, minutes, entrypoint_kind, entrypoint, at) DO UPDATE
      SET succeeded = excluded.succeeded, failed = excluded.failed, cancelled = excluded.cancelled,
        expired = excluded.expired, system_failed = excluded.system_failed, queue_times = excluded.queue_times,
        durations = excluded.durations`);
}

export async function writeCountedNumber(tx: Tx, countedNumber: number): Promise<void> {
  await tx.query(sql`UPDATE run_rollup_progress SET counted_number = ${countedNumber}`);
}

export async function writeFilled(
  tx: Tx,
  { environmentId, runId }: { environmentId: Uuid<"env">; runId: Uuid<"run"> },
): Promise<void> {
  await tx.query(sql`
    UPDATE run_rollup_progress SET filled_environment_id = ${environmentId}, filled_run_id = ${runId}`);
}

export async function markFilled(tx: Tx): Promise<void> {
  await tx.query(sql`UPDATE run_rollup_progress SET filled = true`);
}

type RunKey = { environmentId: Uuid<"env">; runId: Uuid<"run"> };

export async function insertUncounted(tx: Tx, runs: readonly RunKey[]): Promise<void> {
  await tx.query(sql`
    INSERT INTO uncounted_runs (environment_id, run_id)
    SELECT * FROM unnest(${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.runId)}::uuid[])
    ON CONFLICT DO NOTHING`);
}

/** Runs that are counted after all. */
export async function deleteUncounted(tx: Tx, runs: readonly RunKey[]): Promise<void> {
  await tx.query(sql`
    DELETE FROM uncounted_runs u
    USING unnest(${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.runId)}::uuid[])
      AS k (environment_id, run_id)
    WHERE u.environment_id = k.environment_id AND u.run_id = k.run_id`);
}

/** Drops rows of an environment that are older. @returns how many. */
export async function deleteRollups(
  tx: Tx,
  environmentId: Uuid<"env">,
  { minutes, before, limit }: { minutes: RollupMinutes; before: number; limit: number },
): Promise<number> {
  const [row] = await tx.query<{ dropped: number }>(sql`
    WITH old AS (
      SELECT entrypoint_kind, entrypoint, at FROM run_rollups
      WHERE environment_id = ${environmentId} AND minutes = ${minutes} AND at < ${timestamp(before)} LIMIT ${limit}
    ), gone AS (
      DELETE FROM run_rollups u USING old o
      WHERE u.environment_id = ${environmentId} AND u.minutes = ${minutes} AND u.entrypoint_kind = o.entrypoint_kind
        AND u.entrypoint = o.entrypoint AND u.at = o.at
      RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`);
  return row?.dropped ?? 0;
}
