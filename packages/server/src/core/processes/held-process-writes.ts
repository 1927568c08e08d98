import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { USED_AGAIN_MS } from "../materializations/materialization.ts";
import type { HeldKey } from "./process-reads.ts";
import type { NewOutput, ProcessEnding } from "./process-writes.ts";
import type { ProcessKind } from "./processes.ts";

/**
 * What a worker reports of a process while it runs, as one statement each: somebody waits for the first byte, and a
 * transaction takes five round trips. They do the usual case and nothing in every other.
 */
export type HeldProcessKey = HeldKey & { kind: ProcessKind };

/** As `lockHeldProcess`, which has the same locks in the same order. */
const held = (key: HeldProcessKey, condition: Sql): Sql => sql`
  SELECT p.environment_id, p.id, m.id AS materialization_id, p.stdout_base, p.stderr_base FROM materializations m
  JOIN processes p ON p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id
  WHERE m.environment_id = ${key.environmentId} AND m.id = ${key.materializationId} AND m.epoch = ${key.epoch}
    AND m.worker_id = ${key.workerId} AND m.status = 'live' AND p.id = ${key.processId} AND p.kind = ${key.kind}
    AND (p.materialization_id IS NULL OR p.materialization_id = m.id) AND ${condition}
  FOR NO KEY UPDATE OF m, p`;

/** What is sent to a process, or reported of it, is a use of what it runs in, which is in `held`. */
export const used = (now: number): Sql => sql`
  UPDATE materializations m SET active_at = ${timestamp(now)}
  FROM held h WHERE m.environment_id = h.environment_id AND m.id = h.materialization_id AND m.active_at < ${timestamp(now - USED_AGAIN_MS)}`;

/** Starts a process that waits in a live workspace; false when there is none of the kind. */
export async function startHeld(db: Queryable, key: HeldProcessKey, now: number): Promise<boolean> {
  const rows = await db.query(sql`
    WITH held AS (${held(key, sql`p.status = 'pending'`)}), used AS (${used(now)})
    UPDATE processes p SET status = 'running', materialization_id = h.materialization_id,
      started_at = ${timestamp(now)}, updated_at = ${timestamp(now)}
    FROM held h WHERE p.environment_id = h.environment_id AND p.id = h.id
    RETURNING p.id`);
  return rows.length === 1;
}

export type HeldOutput = {
  /** Positions are of the present try. */
  outputs: readonly NewOutput[];
  /** How many bytes of the present try are to be stored before; null of a stream that has none here. */
  after: { stdout: number | null; stderr: number | null };
  /** Nothing has to be dropped while no more than this is kept of each stream. */
  keptBytes: number;
};

/** Bytes of each output of the present try, and where that begins. */
type StoredAfterAppend = { stdout: number; stderr: number; stdoutBase: number; stderrBase: number };

/** Appends output that goes on where what is stored ends; null when it does not, or when some is to be dropped. */
export async function appendHeld(
  db: Queryable,
  key: HeldProcessKey,
  { outputs, after, keptBytes }: HeldOutput,
  now: number,
): Promise<StoredAfterAppend | null> {
  const bytes = { stdout: 0, stderr: 0 };
  for (const { stream, data } of outputs) bytes[stream] += data.length;
  const fits = sql`p.stdout_bytes - p.stdout_base = coalesce(${after.stdout}::bigint, p.stdout_bytes - p.stdout_base)
    AND p.stderr_bytes - p.stderr_base = coalesce(${after.stderr}::bigint, p.stderr_bytes - p.stderr_base)
    AND p.stdout_bytes + ${bytes.stdout}::bigint - p.stdout_first <= ${keptBytes}
    AND p.stderr_bytes + ${bytes.stderr}::bigint - p.stderr_first <= ${keptBytes}`;
  const [stored] = await db.query<StoredAfterAppend>(sql`
    WITH held AS (${held(key, fits)}), used AS (${used(now)}), appended AS (
      INSERT INTO process_outputs (environment_id, process_id, stream, position, data, at)
      SELECT h.environment_id, h.id, o.stream,
        o.position + CASE o.stream WHEN 'stdout' THEN h.stdout_base ELSE h.stderr_base END, o.data, to_timestamp(o.at / 1000)
      FROM held h, unnest(${outputs.map((o) => o.stream)}::text[], ${outputs.map((o) => o.position)}::bigint[],
        ${outputs.map((o) => o.data)}::bytea[], ${outputs.map((o) => o.at)}::float8[]) AS o (stream, position, data, at)
    )
    UPDATE processes p SET stdout_bytes = p.stdout_bytes + ${bytes.stdout}::bigint,
      stderr_bytes = p.stderr_bytes + ${bytes.stderr}::bigint
    FROM held h WHERE p.environment_id = h.environment_id AND p.id = h.id
    RETURNING p.stdout_bytes - p.stdout_base AS stdout, p.stderr_bytes - p.stderr_base AS stderr,
      p.stdout_base, p.stderr_base`);
  return stored ?? null;
}

/** As it was reported by its worker, and not yet checked. */
export type HeldEnding = Pick<ProcessEnding, "exitCode" | "signal" | "timedOut" | "error" | "versionId">;

/** Ends a process that runs and has exited; false, and nothing is done, when there is none or the version is not its own. */
export async function endHeld(
  db: Queryable,
  key: HeldProcessKey,
  ending: HeldEnding,
  now: number,
): Promise<boolean> {
  const isOwn = sql`p.status = 'running' AND (${ending.versionId}::uuid IS NULL OR EXISTS (
      SELECT FROM workspace_versions v
      WHERE v.environment_id = p.environment_id AND v.id = ${ending.versionId} AND v.workspace_id = p.workspace_id))`;
  const rows = await db.query(sql`
    WITH held AS (${held(key, isOwn)}), used AS (${used(now)}), inputs AS (
      DELETE FROM process_inputs i USING held h WHERE i.environment_id = h.environment_id AND i.process_id = h.id
    ), controls AS (
      DELETE FROM process_controls c USING held h WHERE c.environment_id = h.environment_id AND c.process_id = h.id
    )
    UPDATE processes p SET status = 'exited', awaits_run = false, exit_code = ${ending.exitCode}, signal = ${ending.signal},
      timed_out = ${ending.timedOut}, error = ${ending.error}, version_id = ${ending.versionId}, env = NULL, input_closed = true,
      finished_at = ${timestamp(now)}, updated_at = ${timestamp(now)}
    FROM held h WHERE p.environment_id = h.environment_id AND p.id = h.id
    RETURNING p.id`);
  return rows.length === 1;
}
