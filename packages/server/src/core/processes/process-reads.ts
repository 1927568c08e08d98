import type { ProcessStream } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import type { ProcessKind, ProcessStatus } from "./processes.ts";

/** JSON is text, times are milliseconds. */
export type ProcessRow = {
  environmentId: string;
  id: string;
  workspaceId: string;
  kind: ProcessKind;
  status: ProcessStatus;
  materializationId: string | null;
  command: string | null;
  cwd: string;
  envNames: string[];
  env: string | null;
  timeoutMs: number | null;
  cols: number | null;
  rows: number | null;
  inputBytes: number;
  inputTaken: number;
  inputClosed: boolean;
  controlSequence: number;
  stdoutBytes: number;
  stdoutFirst: number;
  stderrBytes: number;
  stderrFirst: number;
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  error: string | null;
  versionId: string | null;
  startedAt: number | null;
  finishedAt: number | null;
  createdAt: number;
  updatedAt: number;
};

export const PROCESS_COLUMNS = rawSql(`
  p.environment_id AS "environmentId", p.id, p.workspace_id AS "workspaceId", p.kind, p.status,
  p.materialization_id AS "materializationId", p.command, p.cwd, p.env_names AS "envNames", p.env, p.timeout_ms AS "timeoutMs",
  p.cols, p.rows, p.input_bytes AS "inputBytes", p.input_taken AS "inputTaken", p.input_closed AS "inputClosed",
  p.control_sequence AS "controlSequence", p.stdout_bytes AS "stdoutBytes", p.stdout_first AS "stdoutFirst",
  p.stderr_bytes AS "stderrBytes", p.stderr_first AS "stderrFirst", p.exit_code AS "exitCode", p.signal,
  p.timed_out AS "timedOut", p.error, p.version_id AS "versionId", p.started_at AS "startedAt", p.finished_at AS "finishedAt",
  p.created_at AS "createdAt", p.updated_at AS "updatedAt"`);

export type ProcessKey = { environmentId: string; workspaceId: string; kind: ProcessKind; id: string };

export async function findProcess(db: Queryable, key: ProcessKey): Promise<ProcessRow | null> {
  const [row] = await db.query<ProcessRow>(sql`
    SELECT ${PROCESS_COLUMNS} FROM processes p
    WHERE p.environment_id = ${key.environmentId} AND p.id = ${key.id} AND p.workspace_id = ${key.workspaceId}
      AND p.kind = ${key.kind}`);
  return row ?? null;
}

export async function lockProcess(tx: Tx, key: ProcessKey): Promise<ProcessRow | null> {
  const [row] = await tx.query<ProcessRow>(sql`
    SELECT ${PROCESS_COLUMNS} FROM processes p
    WHERE p.environment_id = ${key.environmentId} AND p.id = ${key.id} AND p.workspace_id = ${key.workspaceId}
      AND p.kind = ${key.kind} FOR NO KEY UPDATE`);
  return row ?? null;
}

/** Newest first, after the process `before`. */
export function listProcesses(
  db: Queryable,
  key: Omit<ProcessKey, "id">,
  before: string | null,
  limit: number,
): Promise<ProcessRow[]> {
  return db.query<ProcessRow>(sql`
    SELECT ${PROCESS_COLUMNS} FROM processes p
    WHERE p.environment_id = ${key.environmentId} AND p.workspace_id = ${key.workspaceId} AND p.kind = ${key.kind}
      AND (${before}::uuid IS NULL OR p.id < ${before}::uuid)
    ORDER BY p.id DESC LIMIT ${limit}`);
}

export type HeldKey = {
  workerId: string;
  environmentId: string;
  materializationId: string;
  epoch: number;
  processId: string;
};

/**
 * Locks a process for a call of the worker that has its workspace; null when that is not so. The materialization is
 * locked with it, so that it cannot be taken from the worker meanwhile.
 */
export async function lockHeldProcess(tx: Tx, key: HeldKey): Promise<ProcessRow | null> {
  const [row] = await tx.query<ProcessRow>(sql`
    SELECT ${PROCESS_COLUMNS} FROM materializations m
    JOIN processes p ON p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id
    WHERE m.environment_id = ${key.environmentId} AND m.id = ${key.materializationId} AND m.epoch = ${key.epoch}
      AND m.worker_id = ${key.workerId} AND m.status IN ('live', 'stopping') AND p.id = ${key.processId}
      AND (p.materialization_id IS NULL OR p.materialization_id = m.id)
    FOR NO KEY UPDATE OF m, p`);
  return row ?? null;
}

/** The active processes of the live workspaces that a worker has, with where they are. */
export function listActiveProcesses(
  db: Queryable,
  workerId: string,
): Promise<(ProcessRow & { liveIn: string })[]> {
  return db.query<ProcessRow & { liveIn: string }>(sql`
    SELECT ${PROCESS_COLUMNS}, m.id AS "liveIn" FROM materializations m
    JOIN processes p ON p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id
    WHERE m.worker_id = ${workerId} AND p.status IN ('pending', 'running')
      AND (m.status = 'live' OR (m.status = 'stopping' AND p.status = 'running'))
      AND (p.materialization_id IS NULL OR p.materialization_id = m.id)
    ORDER BY p.id`);
}

export function listActiveInWorkspace(
  db: Queryable,
  environmentId: string,
  workspaceId: string,
): Promise<ProcessRow[]> {
  return db.query<ProcessRow>(sql`
    SELECT ${PROCESS_COLUMNS} FROM processes p
    WHERE p.environment_id = ${environmentId} AND p.workspace_id = ${workspaceId} AND p.status IN ('pending', 'running')
    ORDER BY p.id FOR NO KEY UPDATE`);
}

export async function hasActiveProcesses(
  db: Queryable,
  environmentId: string,
  workspaceId: string,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM processes
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId} AND status IN ('pending', 'running') LIMIT 1`);
  return rows.length === 1;
}

export type InputRow = { position: number; data: Buffer };

/** Input from a position on, at most about `maxBytes` of it. */
export async function listInputs(
  db: Queryable,
  environmentId: string,
  processId: string,
  from: number,
  maxBytes: number,
): Promise<InputRow[]> {
  const rows = await db.query<InputRow & { before: number }>(sql`
    SELECT position, data, before FROM (
      SELECT position, data, sum(length(data)) OVER (ORDER BY position)::int8 - length(data) AS before FROM process_inputs
      WHERE environment_id = ${environmentId} AND process_id = ${processId} AND position + length(data) > ${from}
    ) i WHERE before < ${maxBytes} ORDER BY position`);
  return rows.map(({ position, data }) => ({ position, data }));
}

export type ControlRow = {
  sequence: number;
  kind: "signal" | "resize" | "close";
  signal: string | null;
  cols: number | null;
  rows: number | null;
};

export function listControls(
  db: Queryable,
  environmentId: string,
  processId: string,
  after: number,
): Promise<ControlRow[]> {
  return db.query<ControlRow>(sql`
    SELECT sequence, kind, signal, cols, rows FROM process_controls
    WHERE environment_id = ${environmentId} AND process_id = ${processId} AND sequence > ${after}
    ORDER BY sequence LIMIT 200`);
}

export type OutputRow = { position: number; data: Buffer; at: number };
export type StoredStream = Exclude<ProcessStream, "output">;

/** Output after a position: at most `limit` chunks and about `maxBytes`, the first cut to where the position is. */
export async function listOutputs(
  db: Queryable,
  process: { environmentId: string; id: string },
  stream: StoredStream,
  after: number,
  limit: number,
  maxBytes: number,
): Promise<OutputRow[]> {
  const rows = await db.query<OutputRow>(sql`
    WITH start AS (
      SELECT coalesce(max(position), 0) AS position FROM process_outputs
      WHERE environment_id = ${process.environmentId} AND process_id = ${process.id} AND stream = ${stream}
        AND position <= ${after}
    )
    SELECT o.position, o.data, o.at FROM process_outputs o, start s
    WHERE o.environment_id = ${process.environmentId} AND o.process_id = ${process.id} AND o.stream = ${stream}
      AND o.position >= s.position
    ORDER BY o.position LIMIT ${limit + 1}`);
  const page: OutputRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (row.position + row.data.length <= after) continue;
    if (page.length >= limit || (bytes > 0 && bytes + row.data.length > maxBytes)) break;
    const cut = Math.max(0, after - row.position);
    page.push({ position: row.position + cut, data: row.data.subarray(cut), at: row.at });
    bytes += row.data.length - cut;
  }
  return page;
}
