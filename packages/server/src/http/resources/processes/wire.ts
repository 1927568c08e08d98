import {
  encodeId,
  formatDuration,
  type Exec,
  type ExecResult,
  type OutputChunk,
  type ProcessControl,
  type ProcessInput,
  type ProcessStart,
  type Pty,
} from "@keelson/contract";
import type { LiveProcess, ProcessWork } from "../../../core/processes/look-for-processes.ts";
import { isOver } from "../../../core/processes/processes.ts";
import type { OutputRow, ProcessRow } from "../../../core/processes/process-reads.ts";
import { toTimestamp, toTimestampOrNull } from "../../edge/time.ts";

const DEFAULT_SIZE = { cols: 80, rows: 24 };

/** What is shown for the login shell. */
const argv = (row: ProcessRow): string[] =>
  row.command === null ? [] : (JSON.parse(row.command) as string[]);

const common = (row: ProcessRow) => ({
  workspace_id: encodeId("ws", row.workspaceId),
  command: argv(row),
  cwd: row.cwd,
  env_names: row.envNames,
  exit_code: row.exitCode,
  error: row.error === null ? null : { message: row.error },
  version_id: row.versionId === null ? null : encodeId("wsv", row.versionId),
  started_at: toTimestampOrNull(row.startedAt),
  finished_at: toTimestampOrNull(row.finishedAt),
  created_at: toTimestamp(row.createdAt),
  updated_at: toTimestamp(row.updatedAt),
});

const execFields = (row: ProcessRow) => ({
  id: encodeId("exec", row.id),
  ...common(row),
  status: row.status as Exec["status"],
  signal: row.signal,
  timeout: row.timeoutMs === null ? null : formatDuration(row.timeoutMs),
  timed_out: row.timedOut,
  on_lost: row.onLost,
  reruns: row.reruns,
});

export const toExec = (row: ProcessRow): Exec => ({
  ...execFields(row),
  stdin: { bytes: row.inputBytes, closed: row.inputClosed },
  stdout: { bytes: row.stdoutBytes, earliest_cursor: String(row.stdoutFirst) },
  stderr: { bytes: row.stderrBytes, earliest_cursor: String(row.stderrFirst) },
});

export const toExecResult = (row: ProcessRow, stdout: Buffer, stderr: Buffer): ExecResult => ({
  ...execFields(row),
  stdout: stdout.toString("base64"),
  stderr: stderr.toString("base64"),
  stdout_truncated: stdout.length < row.stdoutBytes - row.stdoutBase,
  stderr_truncated: stderr.length < row.stderrBytes - row.stderrBase,
});

export const toPty = (row: ProcessRow): Pty => ({
  id: encodeId("pty", row.id),
  ...common(row),
  status: row.status as Pty["status"],
  cols: row.cols ?? DEFAULT_SIZE.cols,
  rows: row.rows ?? DEFAULT_SIZE.rows,
  closing: row.closing && !isOver(row.status),
  input: { bytes: row.inputBytes },
  output: { bytes: row.stdoutBytes, earliest_cursor: String(row.stdoutFirst) },
});

export const toOutputChunk = (row: OutputRow): OutputChunk => ({
  offset: row.position,
  data: row.data.toString("base64"),
  at: toTimestamp(row.at),
});

const processId = (row: Pick<ProcessRow, "kind" | "id">): string => encodeId(row.kind, row.id);

export function toProcessStart(row: LiveProcess): ProcessStart {
  const isPty = row.kind === "pty";
  return {
    materialization_id: encodeId("mat", row.liveIn),
    process_id: processId(row),
    kind: row.kind,
    status: row.status === "running" ? "running" : "pending",
    ...(row.given && { given: true }),
    command: row.command === null ? null : argv(row),
    cwd: row.cwd,
    env: row.env === null ? {} : (JSON.parse(row.env) as Record<string, string>),
    timeout: row.timeoutMs === null ? null : formatDuration(row.timeoutMs),
    on_lost: row.onLost,
    cols: row.cols,
    rows: row.rows,
    stored: {
      stdout: isPty ? 0 : row.stdoutBytes - row.stdoutBase,
      stderr: row.stderrBytes - row.stderrBase,
      output: isPty ? row.stdoutBytes : 0,
    },
  };
}

export const toProcessInput = ({
  process,
  offset,
  data,
  closed,
}: ProcessWork["inputs"][number]): ProcessInput => ({
  process_id: processId(process),
  offset,
  data: data.toString("base64"),
  closed,
});

export const toProcessControl = ({ process, control }: ProcessWork["controls"][number]): ProcessControl => ({
  process_id: processId(process),
  sequence: control.sequence,
  kind: control.kind,
  signal: control.signal as ProcessControl["signal"],
  cols: control.cols,
  rows: control.rows,
});
