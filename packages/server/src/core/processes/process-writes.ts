import type { OnLost, Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { NewControl, ProcessKind, ProcessStatus } from "./processes.ts";
import {
  knownColumns,
  PROCESS_COLUMNS,
  type KnownProcess,
  type ProcessRow,
  type StoredStream,
} from "./process-reads.ts";

export type ProcessInsert = {
  environmentId: Uuid<"env">;
  id: Uuid<"exec" | "pty">;
  workspaceId: Uuid<"ws">;
  kind: ProcessKind;
  /** JSON text; null for the login shell. */
  command: string | null;
  cwd: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number | null;
  cols: number | null;
  rows: number | null;
  /** All of its input, when that is given at once. */
  input: Buffer | null;
  onLost: OnLost;
  /** The run that starts it. */
  runId: Uuid<"run"> | null;
  createdAt: number;
};

export async function insertProcess(tx: Tx, row: ProcessInsert): Promise<ProcessRow> {
  const names = Object.keys(row.env);
  const [inserted] = await tx.query<ProcessRow>(sql`
    INSERT INTO processes AS p (environment_id, id, workspace_id, kind, command, cwd, env_names, env, timeout_ms, cols, rows,
      input_bytes, input_closed, on_lost, run_id, created_at, updated_at)
    SELECT ${row.environmentId}::uuid, ${row.id}::uuid, ${row.workspaceId}::uuid, ${row.kind}::text, ${row.command}::text,
      ${row.cwd}::text, ${names}::text[], ${names.length === 0 ? null : JSON.stringify(row.env)}::text, ${row.timeoutMs}::bigint,
      ${row.cols}::smallint, ${row.rows}::smallint, ${row.input?.length ?? 0}::bigint, ${row.input !== null}::boolean, ${row.onLost}::text, ${row.runId}::uuid, at, at
    FROM ${timestamp(row.createdAt)} AS at
    RETURNING ${PROCESS_COLUMNS}`);
  if (inserted === undefined) throw new Error("A process is not there after its insert.");
  if (row.input !== null && row.input.length > 0)
    await insertInput(tx, row.environmentId, row.id, 0, row.input);
  return inserted;
}

async function insertInput(
  tx: Tx,
  environmentId: Uuid<"env">,
  processId: Uuid<"exec" | "pty">,
  position: number,
  data: Buffer,
): Promise<void> {
  await tx.send(sql`
    INSERT INTO process_inputs (environment_id, process_id, position, data)
    VALUES (${environmentId}, ${processId}, ${position}, ${data})`);
}

/** Appends input to a locked process. */
export async function appendInput(
  tx: Tx,
  process: { environmentId: Uuid<"env">; id: Uuid<"exec" | "pty">; inputBytes: number },
  data: Buffer,
): Promise<void> {
  const { environmentId, id, inputBytes } = process;
  await insertInput(tx, environmentId, id, inputBytes, data);
  await tx.send(sql`
    UPDATE processes SET input_bytes = input_bytes + ${data.length}
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

export async function closeInput(
  tx: Tx,
  environmentId: Uuid<"env">,
  processId: Uuid<"exec" | "pty">,
): Promise<void> {
  await tx.send(sql`
    UPDATE processes SET input_closed = true WHERE environment_id = ${environmentId} AND id = ${processId}`);
}

/** A worker has input and controls up to here of what it has live: they are not needed again. */
export async function forgetTaken(
  db: Queryable,
  workerId: Uuid<"wkr">,
  known: readonly KnownProcess[],
): Promise<void> {
  await db.query(sql`
    WITH t AS (
      SELECT p.environment_id, p.id, p.on_lost, k.input, k.control FROM ${knownColumns(known)}
      JOIN materializations m ON m.environment_id = k.environment_id AND m.id = k.materialization_id AND m.epoch = k.epoch
        AND m.worker_id = ${workerId} AND m.status IN ('live', 'stopping')
      JOIN processes p ON p.environment_id = m.environment_id AND p.id = k.id AND p.workspace_id = m.workspace_id
        AND p.status IN ('pending', 'running') AND p.materialization_id = m.id
      WHERE k.input > p.input_taken OR EXISTS (
        SELECT FROM process_controls c
        WHERE c.environment_id = p.environment_id AND c.process_id = p.id AND c.sequence <= k.control)
      -- In the order in which a commit locks the processes that it ends.
      ORDER BY p.id FOR NO KEY UPDATE OF p
    ), inputs AS (
      -- What may run again is given all of its input again.
      DELETE FROM process_inputs i USING t
      WHERE i.environment_id = t.environment_id AND i.process_id = t.id AND i.position + length(i.data) <= t.input
        AND t.on_lost = 'reject'
    ), controls AS (
      DELETE FROM process_controls c USING t
      WHERE c.environment_id = t.environment_id AND c.process_id = t.id AND c.sequence <= t.control
    )
    UPDATE processes p SET input_taken = least(t.input, p.input_bytes) FROM t
    WHERE p.environment_id = t.environment_id AND p.id = t.id AND p.input_taken < least(t.input, p.input_bytes)`);
}

export async function insertControl(
  tx: Tx,
  environmentId: Uuid<"env">,
  processId: Uuid<"exec" | "pty">,
  control: NewControl,
): Promise<void> {
  const signal = control.kind === "signal" ? control.signal : null;
  const [cols, rows] = control.kind === "resize" ? [control.cols, control.rows] : [null, null];
  await tx.send(sql`
    WITH counted AS (
      UPDATE processes SET control_sequence = control_sequence + 1, closing = closing OR (kind = 'pty' AND ${control.kind}::text = 'close'), cols = coalesce(${cols}::smallint, cols),
        rows = coalesce(${rows}::smallint, rows)
      WHERE environment_id = ${environmentId} AND id = ${processId} RETURNING control_sequence
    )
    INSERT INTO process_controls (environment_id, process_id, sequence, kind, signal, cols, rows)
    SELECT ${environmentId}::uuid, ${processId}::uuid, control_sequence, ${control.kind}::text, ${signal}::text,
      ${cols}::smallint, ${rows}::smallint FROM counted`);
}

export async function markRunning(
  tx: Tx,
  environmentId: Uuid<"env">,
  processId: Uuid<"exec" | "pty">,
  materializationId: Uuid<"mat">,
  now: number,
): Promise<void> {
  await tx.send(sql`
    UPDATE processes SET status = 'running', materialization_id = ${materializationId},
      started_at = ${timestamp(now)}, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${processId}`);
}

export type ProcessEnding = {
  status: ProcessStatus;
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  error: string | null;
  versionId: Uuid<"wsv"> | null;
};

/** Of a process that never said how it ended. */
export const NO_ENDING = { exitCode: null, signal: null, timedOut: false, error: null, versionId: null };

/** What it was still to be given is dropped, and the values of its environment with it. */
export async function markEnded(
  tx: Tx,
  environmentId: Uuid<"env">,
  processId: Uuid<"exec" | "pty">,
  ending: ProcessEnding,
  now: number,
): Promise<void> {
  await tx.send(sql`
    WITH inputs AS (
      DELETE FROM process_inputs WHERE environment_id = ${environmentId} AND process_id = ${processId}
    ), controls AS (
      DELETE FROM process_controls WHERE environment_id = ${environmentId} AND process_id = ${processId}
    )
    UPDATE processes SET status = ${ending.status}, awaits_run = false, exit_code = ${ending.exitCode}, signal = ${ending.signal},
      timed_out = ${ending.timedOut}, error = ${ending.error}, version_id = ${ending.versionId}, env = NULL, input_closed = true,
      finished_at = ${timestamp(now)}, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${processId}`);
}

/** It is started anew, with the input it had. What the lost try wrote is dropped; offsets go on. */
export async function markRerun(
  tx: Tx,
  environmentId: Uuid<"env">,
  processId: Uuid<"exec" | "pty">,
  now: number,
): Promise<void> {
  await tx.send(sql`
    WITH outputs AS (
      DELETE FROM process_outputs WHERE environment_id = ${environmentId} AND process_id = ${processId}
    )
    UPDATE processes SET status = 'pending', given = false, materialization_id = NULL, started_at = NULL, reruns = reruns + 1,
      awaits_run = run_id IS NOT NULL, input_taken = 0, stdout_base = stdout_bytes, stdout_first = stdout_bytes,
      stderr_base = stderr_bytes, stderr_first = stderr_bytes, updated_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${processId}`);
}

/** A command that waits for its run may be started, where its workspace is live on that worker. False: not now. */
export async function markResumed(
  db: Queryable,
  key: {
    environmentId: Uuid<"env">;
    processId: Uuid<"exec" | "pty">;
    runId: Uuid<"run">;
    workerId: Uuid<"wkr">;
  },
): Promise<boolean> {
  const rows = await db.query(sql`
    UPDATE processes p SET awaits_run = false FROM materializations m
    WHERE p.environment_id = ${key.environmentId} AND p.id = ${key.processId} AND p.run_id = ${key.runId} AND p.awaits_run
      AND m.environment_id = p.environment_id AND m.workspace_id = p.workspace_id AND m.status = 'live'
      AND m.worker_id = ${key.workerId}
    RETURNING p.id`);
  return rows.length === 1;
}

export type NewOutput = { stream: StoredStream; position: number; data: Buffer; at: number };

/** Appends output to a locked process, whose counts it sets. */
export async function appendOutputs(
  tx: Tx,
  process: { environmentId: Uuid<"env">; id: Uuid<"exec" | "pty"> },
  outputs: readonly NewOutput[],
  ends: Record<StoredStream, number>,
): Promise<void> {
  await tx.send(sql`
    WITH appended AS (
      INSERT INTO process_outputs (environment_id, process_id, stream, position, data, at)
      SELECT ${process.environmentId}::uuid, ${process.id}::uuid, stream, position, data, to_timestamp(at / 1000)
      FROM unnest(${outputs.map((o) => o.stream)}::text[], ${outputs.map((o) => o.position)}::bigint[],
        ${outputs.map((o) => o.data)}::bytea[], ${outputs.map((o) => o.at)}::float8[]) AS o (stream, position, data, at)
    )
    UPDATE processes SET stdout_bytes = ${ends.stdout}, stderr_bytes = ${ends.stderr}
    WHERE environment_id = ${process.environmentId} AND id = ${process.id}`);
}

/** Drops the oldest output of a stream, keeping at least the last `keptBytes`. */
export async function dropOldOutput(
  tx: Tx,
  process: { environmentId: Uuid<"env">; id: Uuid<"exec" | "pty"> },
  stream: StoredStream,
  keptFrom: number,
): Promise<void> {
  await tx.send(sql`
    WITH first AS (
      SELECT max(position) AS position FROM process_outputs
      WHERE environment_id = ${process.environmentId} AND process_id = ${process.id} AND stream = ${stream}
        AND position <= ${keptFrom}
    ), dropped AS (
      DELETE FROM process_outputs o USING first f
      WHERE o.environment_id = ${process.environmentId} AND o.process_id = ${process.id} AND o.stream = ${stream}
        AND o.position < f.position
    )
    UPDATE processes SET
      stdout_first = CASE WHEN ${stream}::text = 'stdout' THEN f.position ELSE stdout_first END,
      stderr_first = CASE WHEN ${stream}::text = 'stderr' THEN f.position ELSE stderr_first END
    FROM first f
    WHERE environment_id = ${process.environmentId} AND id = ${process.id} AND f.position IS NOT NULL`);
}

/** The workspace is deleted. */
export async function deleteProcesses(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<void> {
  await tx.send(sql`
    WITH gone AS (
      DELETE FROM processes WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId} RETURNING id
    ), inputs AS (
      DELETE FROM process_inputs i USING gone g WHERE i.environment_id = ${environmentId} AND i.process_id = g.id
    ), controls AS (
      DELETE FROM process_controls c USING gone g WHERE c.environment_id = ${environmentId} AND c.process_id = g.id
    )
    DELETE FROM process_outputs o USING gone g WHERE o.environment_id = ${environmentId} AND o.process_id = g.id`);
}
