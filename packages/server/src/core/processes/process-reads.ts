import type { OnLost, ProcessStream, Uuid } from "@keelson/contract";
import { amongLive } from "../../db/among-live.ts";
import { joinByKey } from "../../db/join-by-key.ts";
import { isBefore } from "../../db/pages.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import type { Among, LiveRow } from "../../live-ids.ts";
import type { ProcessKind, ProcessStatus } from "./processes.ts";

/** JSON is text, times are milliseconds. */
export type ProcessRow = {
  environmentId: Uuid<"env">;
  id: Uuid<"exec" | "pty">;
  workspaceId: Uuid<"ws">;
  kind: ProcessKind;
  status: ProcessStatus;
  materializationId: Uuid<"mat"> | null;
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
  /** Its close was taken: it takes nothing else. */
  closing: boolean;
  controlSequence: number;
  stdoutBytes: number;
  stdoutFirst: number;
  stderrBytes: number;
  stderrFirst: number;
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  error: string | null;
  versionId: Uuid<"wsv"> | null;
  startedAt: number | null;
  finishedAt: number | null;
  createdAt: number;
  updatedAt: number;
  onLost: OnLost;
  reruns: number;
  /** It counts as started since it was created, because the poll of its worker waited for it. */
  given: boolean;
  runId: Uuid<"run"> | null;
  /** It is to run again once its run asks for it. */
  awaitsRun: boolean;
  /** Where the output of the present try begins. */
  stdoutBase: number;
  stderrBase: number;
};

export const PROCESS_COLUMNS = rawSql(`
  p.environment_id, p.id, p.workspace_id, p.kind, p.status,
  p.materialization_id, p.command, p.cwd, p.env_names, p.env, p.timeout_ms,
  p.cols, p.rows, p.input_bytes, p.input_taken, p.input_closed, p.closing,
  p.control_sequence, p.stdout_bytes, p.stdout_first,
  p.stderr_bytes, p.stderr_first, p.exit_code, p.signal,
  p.timed_out, p.error, p.version_id, p.started_at, p.finished_at,
  p.created_at, p.updated_at,
  p.on_lost, p.reruns, p.given, p.run_id, p.awaits_run, p.stdout_base,
  p.stderr_base`);

export type ProcessKey = {
  environmentId: Uuid<"env">;
  workspaceId: Uuid<"ws">;
  kind: ProcessKind;
  id: Uuid<"exec" | "pty">;
};

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
      AND ${isBefore(sql`p.id`, before)}
    ORDER BY p.id DESC LIMIT ${limit}`);
}

export type HeldKey = {
  workerId: Uuid<"wkr">;
  environmentId: Uuid<"env">;
  materializationId: Uuid<"mat">;
  epoch: number;
  processId: Uuid<"exec" | "pty">;
};

/**
 * Locks a process for a call of the worker that has its workspace; null when that is not so. The materialization is
 * locked with it, so that it cannot be taken from the worker meanwhile.
 */
export async function lockHeldProcess(
  tx: Tx,
  key: HeldKey,
): Promise<(ProcessRow & { isStopping: boolean }) | null> {
  const [row] = await tx.query<ProcessRow & { isStopping: boolean }>(sql`
    SELECT ${PROCESS_COLUMNS}, m.status = 'stopping' AS is_stopping FROM materializations m
    JOIN processes p ON p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id
    WHERE m.environment_id = ${key.environmentId} AND m.id = ${key.materializationId} AND m.epoch = ${key.epoch}
      AND m.worker_id = ${key.workerId} AND m.status IN ('live', 'stopping') AND p.id = ${key.processId}
      AND (p.materialization_id IS NULL OR p.materialization_id = m.id)
    FOR NO KEY UPDATE OF m, p`);
  return row ?? null;
}

/**
 * The active processes of the live workspaces that a worker has, with where they are.
 *
 * @param live which processes may be active
 */
export function listActiveProcesses(
  db: Queryable,
  workerId: Uuid<"wkr">,
  live: Among | null,
): Promise<(ProcessRow & { liveIn: Uuid<"mat"> })[]> {
  return db.query<ProcessRow & { liveIn: Uuid<"mat"> }>(sql`
    ${amongLive(
      live,
      sql`p.id`,
      (isAmong) => sql`
    SELECT ${PROCESS_COLUMNS}, m.id AS live_in FROM materializations m
    JOIN processes p ON p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id
    WHERE m.worker_id = ${workerId} AND p.status IN ('pending', 'running') AND NOT p.awaits_run AND ${isAmong}
      AND (m.status = 'live' OR (m.status = 'stopping' AND p.status = 'running'))
      AND (p.materialization_id IS NULL OR p.materialization_id = m.id)`,
    )}
    ORDER BY id`);
}

/** Active processes with an id before that one, of each environment. */
export const listActive = (db: Queryable, before: string, live: Among | null): Promise<LiveRow[]> =>
  db.query<LiveRow>(
    amongLive(
      live,
      sql`p.id`,
      (isAmong) => sql`
    SELECT p.environment_id AS group, p.id FROM processes p
    WHERE p.status IN ('pending', 'running') AND p.id < ${before}::uuid AND ${isAmong}
    ORDER BY p.environment_id, p.workspace_id, p.id`,
    ),
  );

/** What waits for workspaces that are being prepared, with where it is to begin. */
export function listWaitingFor(
  db: Queryable,
  materializations: readonly { environmentId: Uuid<"env">; id: Uuid<"mat"> }[],
): Promise<(ProcessRow & { liveIn: Uuid<"mat"> })[]> {
  return db.query<ProcessRow & { liveIn: Uuid<"mat"> }>(sql`
    SELECT ${PROCESS_COLUMNS}, m.id AS live_in
    FROM unnest(${materializations.map((m) => m.environmentId)}::uuid[], ${materializations.map((m) => m.id)}::uuid[])
      AS i (environment_id, id)
    JOIN materializations m ON m.environment_id = i.environment_id AND m.id = i.id
    JOIN processes p ON p.environment_id = m.environment_id AND p.workspace_id = m.workspace_id
    WHERE m.status = 'preparing' AND p.status = 'pending' AND NOT p.awaits_run
      AND (p.materialization_id IS NULL OR p.materialization_id = m.id)
    ORDER BY p.id`);
}

/** Locks those of a workspace's processes that are nobody else's. */
export function lockWaiting(
  tx: Tx,
  {
    environmentId,
    id,
    workspaceId,
  }: { environmentId: Uuid<"env">; id: Uuid<"mat">; workspaceId: Uuid<"ws"> },
  processIds: readonly Uuid<"exec" | "pty">[],
): Promise<ProcessRow[]> {
  return tx.query<ProcessRow>(sql`
    SELECT ${PROCESS_COLUMNS} FROM processes p
    WHERE p.environment_id = ${environmentId} AND p.workspace_id = ${workspaceId} AND p.id = ANY(${processIds}::uuid[])
      AND NOT p.awaits_run AND (p.materialization_id IS NULL OR p.materialization_id = ${id})
    ORDER BY p.id FOR NO KEY UPDATE`);
}

export function listActiveInWorkspace(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<ProcessRow[]> {
  return db.query<ProcessRow>(sql`
    SELECT ${PROCESS_COLUMNS} FROM processes p
    WHERE p.environment_id = ${environmentId} AND p.workspace_id = ${workspaceId} AND p.status IN ('pending', 'running')
    ORDER BY p.id FOR NO KEY UPDATE`);
}

export async function hasActiveProcesses(
  db: Queryable,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<boolean> {
  const rows = await db.query(sql`
    SELECT 1 AS found FROM processes
    WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId} AND status IN ('pending', 'running') LIMIT 1`);
  return rows.length === 1;
}

export type ControlRow = {
  sequence: number;
  kind: "signal" | "resize" | "close";
  signal: string | null;
  cols: number | null;
  rows: number | null;
};

/** A process that a worker says it has, with what it has of what was sent to it. */
export type KnownProcess = {
  environmentId: Uuid<"env">;
  materializationId: Uuid<"mat">;
  epoch: number;
  id: Uuid<"exec" | "pty">;
  /** Bytes of input. */
  input: number;
  /** It has the end of the input, too. */
  isClosed: boolean;
  /** The last control. */
  control: number;
};

/** The same as columns of a statement. */
export const knownColumns = (known: readonly KnownProcess[]): Sql => sql`
  unnest(${known.map((k) => k.environmentId)}::uuid[], ${known.map((k) => k.materializationId)}::uuid[],
    ${known.map((k) => k.epoch)}::integer[], ${known.map((k) => k.id)}::uuid[], ${known.map((k) => k.input)}::bigint[],
    ${known.map((k) => k.isClosed)}::boolean[], ${known.map((k) => k.control)}::integer[])
    AS k (environment_id, materialization_id, epoch, id, input, is_closed, control)`;

export type SentRow = {
  kind: ProcessKind;
  id: Uuid<"exec" | "pty">;
  /** Where the data begins. */
  offset: number;
  data: Buffer;
  /** The input ends with the data. */
  closed: boolean;
  /** It was closed, which the worker does not know. */
  closesInput: boolean;
  /** JSON of `ControlRow[]`. */
  controls: string;
};

/**
 * What was sent to processes that a worker says it has live, and it lacks: about `maxBytes` of input each, and the controls.
 * Both in one statement: a control that was sent before some input is never read after it.
 */
export function listSent(
  db: Queryable,
  workerId: Uuid<"wkr">,
  known: readonly KnownProcess[],
  maxBytes: number,
): Promise<SentRow[]> {
  return db.query<SentRow>(sql`
    SELECT p.kind, p.id, k.input AS "offset", i.data,
      p.input_closed AND k.input + length(i.data) >= p.input_bytes AS closed,
      p.input_closed AND NOT k.is_closed AS closes_input, c.controls::text AS controls
    FROM ${knownColumns(known)}
    JOIN materializations m ON m.environment_id = k.environment_id AND m.id = k.materialization_id AND m.epoch = k.epoch
      AND m.worker_id = ${workerId}
    ${joinByKey("processes", "p", sql`p.environment_id = k.environment_id AND p.id = k.id`)}
    CROSS JOIN LATERAL (
      SELECT coalesce(string_agg(substr(data, greatest(k.input - position, 0)::integer + 1), ''::bytea ORDER BY position), ''::bytea) AS data
      FROM (
        SELECT position, data, sum(length(data)) OVER (ORDER BY position) - length(data) AS before FROM process_inputs
        WHERE environment_id = p.environment_id AND process_id = p.id AND position + length(data) > k.input
      ) b WHERE before < ${maxBytes}
    ) i
    CROSS JOIN LATERAL (
      SELECT coalesce(json_agg(json_build_object('sequence', sequence, 'kind', kind, 'signal', signal, 'cols', cols, 'rows', rows)
        ORDER BY sequence), '[]') AS controls
      FROM (
        SELECT sequence, kind, signal, cols, rows FROM process_controls
        WHERE environment_id = p.environment_id AND process_id = p.id AND sequence > k.control ORDER BY sequence LIMIT 200
      ) s
    ) c
    WHERE p.workspace_id = m.workspace_id AND p.status IN ('pending', 'running') AND NOT p.awaits_run
      AND (m.status = 'live' OR (m.status = 'stopping' AND p.status = 'running'))
      AND (p.materialization_id IS NULL OR p.materialization_id = m.id)
      AND (p.input_bytes > k.input OR (p.input_closed AND NOT k.is_closed) OR p.control_sequence > k.control)
    ORDER BY p.id`);
}

export type OutputRow = { position: number; data: Buffer; at: number };
export type StoredStream = Exclude<ProcessStream, "output">;

/** Output after a position: at most `limit` chunks and about `maxBytes`, the first cut to where the position is. */
export async function listOutputs(
  db: Queryable,
  process: { environmentId: Uuid<"env">; id: Uuid<"exec" | "pty"> },
  stream: StoredStream,
  after: number,
  limit: number,
  maxBytes: number,
): Promise<OutputRow[]> {
  const rows = await db.query<OutputRow>(sql`
    SELECT position, data, at FROM process_outputs
    WHERE environment_id = ${process.environmentId} AND process_id = ${process.id} AND stream = ${stream}
      AND position >= coalesce((
        SELECT max(position) FROM process_outputs
        WHERE environment_id = ${process.environmentId} AND process_id = ${process.id} AND stream = ${stream}
          AND position <= ${after}
      ), 0)
    ORDER BY position LIMIT ${limit + 1}`);
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
