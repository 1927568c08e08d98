import type { Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Candidate, Sweep } from "./retention-reads.ts";

/** Of a process `p`: it has ended, and no live run may still ask for its outcome. */
export const isProcessDue = (endedBefore: number): Sql => sql`
  p.finished_at IS NOT NULL AND p.finished_at < ${timestamp(endedBefore)} AND NOT EXISTS (
    SELECT 1 FROM executions e WHERE e.environment_id = p.environment_id AND e.run_id = p.run_id)`;

/** Execs and PTYs. Not due are active ones, and those in the journal of a live run, whose replay reads them. */
export const listEndedProcesses = (tx: Tx, sweep: Sweep): Promise<Candidate<"exec" | "pty">[]> =>
  tx.query<Candidate<"exec" | "pty">>(sql`
    SELECT p.id, ${isProcessDue(sweep.endedBefore)} AS is_due
    FROM (
      SELECT environment_id, id, run_id, finished_at FROM processes
      WHERE environment_id = ${sweep.environmentId} AND id > ${sweep.after} AND id < ${sweep.horizon}
      ORDER BY id LIMIT ${sweep.limit}
    ) p
    ORDER BY p.id`);

/**
 * Of a materialization `m`: it has ended, and its workspace shows a newer one, which also has the newest epoch. One whose
 * worker may come back with files of it stays as long as the workspace: that worker is to be told what becomes of them.
 */
export const isMaterializationDue = (endedBefore: number): Sql => sql`
  m.finished_at IS NOT NULL AND m.finished_at < ${timestamp(endedBefore)} AND NOT m.kept AND m.lost_version_id IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM workspaces w
    WHERE w.environment_id = m.environment_id AND w.id = m.workspace_id AND w.materialization_id = m.id)`;

export const listEndedMaterializations = (tx: Tx, sweep: Sweep): Promise<Candidate<"mat">[]> =>
  tx.query<Candidate<"mat">>(sql`
    SELECT m.id, ${isMaterializationDue(sweep.endedBefore)} AS is_due
    FROM (
      SELECT environment_id, id, workspace_id, finished_at, kept, lost_version_id FROM materializations
      WHERE environment_id = ${sweep.environmentId} AND id > ${sweep.after} AND id < ${sweep.horizon}
      ORDER BY id LIMIT ${sweep.limit}
    ) m
    ORDER BY m.id`);
