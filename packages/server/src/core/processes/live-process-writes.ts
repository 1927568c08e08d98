import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { USED_AGAIN_MS } from "../materializations/materialization.ts";
import { PROCESS_COLUMNS, type ProcessRow } from "./process-reads.ts";
import type { ProcessInsert } from "./process-writes.ts";

/** A process with where it is to begin, and on which worker that is. */
export type LiveProcessRow = ProcessRow & { liveIn: Uuid<"mat">; workerId: Uuid<"wkr"> };

/**
 * Creates a process in a live workspace, with its input and the note that the workspace is used: somebody waits for the
 * first byte, and the same takes a transaction five statements. Does nothing unless the workspace is live. In `givenTo` it
 * counts as started: its worker waits for it there.
 *
 * The locks are those of `requestMaterialization`, in the same order. Both rows are locked and then compared again, so
 * that a workspace whose materialization changed meanwhile is not taken for a live one.
 */
export async function insertLiveProcess(
  db: Queryable,
  row: ProcessInsert,
  givenTo: Uuid<"mat"> | null,
): Promise<LiveProcessRow | null> {
  const names = Object.keys(row.env);
  const input = row.input !== null && row.input.length > 0 ? row.input : null;
  const [inserted] = await db.query<LiveProcessRow>(sql`
    WITH held AS (
      SELECT w.environment_id, w.id AS workspace_id, m.id AS materialization_id, m.worker_id
      FROM workspaces w JOIN materializations m ON m.environment_id = w.environment_id AND m.id = w.materialization_id
      WHERE w.environment_id = ${row.environmentId} AND w.id = ${row.workspaceId} AND w.status = 'active' AND m.status = 'live'
      FOR NO KEY UPDATE OF w, m
    ), noted AS (
      UPDATE workspaces w SET last_activity_at = greatest(w.last_activity_at, ${timestamp(row.createdAt)})
      FROM held h WHERE w.environment_id = h.environment_id AND w.id = h.workspace_id
    ), used AS (
      UPDATE materializations m SET active_at = ${timestamp(row.createdAt)}
      FROM held h WHERE m.environment_id = h.environment_id AND m.id = h.materialization_id AND m.active_at < ${timestamp(row.createdAt - USED_AGAIN_MS)}
    ), p AS (
      INSERT INTO processes (environment_id, id, workspace_id, status, given, materialization_id, started_at, kind, command, cwd, env_names, env, timeout_ms, cols, rows,
        input_bytes, input_closed, on_lost, run_id, created_at, updated_at)
      SELECT h.environment_id, ${row.id}::uuid, h.workspace_id, CASE WHEN g.is_given THEN 'running' ELSE 'pending' END, g.is_given,
        CASE WHEN g.is_given THEN h.materialization_id END, CASE WHEN g.is_given THEN at END, ${row.kind}::text, ${row.command}::text, ${row.cwd}::text,
        ${names}::text[], ${names.length === 0 ? null : JSON.stringify(row.env)}::text, ${row.timeoutMs}::bigint,
        ${row.cols}::smallint, ${row.rows}::smallint, ${input?.length ?? 0}::bigint, ${row.input !== null}::boolean,
        ${row.onLost}::text, ${row.runId}::uuid, at, at
      FROM held h CROSS JOIN ${timestamp(row.createdAt)} AS at
      CROSS JOIN LATERAL (SELECT h.materialization_id IS NOT DISTINCT FROM ${givenTo}::uuid AS is_given) g
      RETURNING *
    ), given AS (
      INSERT INTO process_inputs (environment_id, process_id, position, data)
      SELECT p.environment_id, p.id, 0, ${input}::bytea FROM p WHERE ${input !== null}::boolean
    )
    SELECT ${PROCESS_COLUMNS}, h.materialization_id AS live_in, h.worker_id
    FROM p JOIN held h ON h.environment_id = p.environment_id AND h.workspace_id = p.workspace_id`);
  return inserted ?? null;
}
