import { decodeId, type ProcessEnded, type ProcessOutput, type ProcessStarted } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { leaseLost } from "../materializations/lock-held-materialization.ts";
import { noteHeldUse } from "../materializations/note-held-use.ts";
import { findVersion } from "../versions/version-reads.ts";
import { decideEnded, decideStarted } from "./processes.ts";
import { lockHeldProcess, type ProcessRow, type StoredStream } from "./process-reads.ts";
import { appendOutputs, dropOldOutput, markEnded, markRunning, type NewOutput } from "./process-writes.ts";

/** At least this much of each output is kept; it is dropped in portions. */
export const KEPT_OUTPUT_BYTES = 8 * 1024 * 1024;
const DROPPED_AT_ONCE_BYTES = 4 * 1024 * 1024;

type ProcessFields = ProcessStarted;

async function lockHeld(tx: Tx, workerId: string, fields: ProcessFields): Promise<ProcessRow> {
  const environmentId = decodeId("env", fields.environment_id);
  const materializationId = decodeId("mat", fields.materialization_id);
  const kind = fields.process_id.startsWith("pty_") ? "pty" : "exec";
  const processId = decodeId(kind, fields.process_id);
  if (environmentId === null || materializationId === null || processId === null) throw leaseLost();
  const key = { workerId, environmentId, materializationId, epoch: fields.epoch, processId };
  const process = await lockHeldProcess(tx, key);
  if (process === null || process.kind !== kind) throw leaseLost();
  return process;
}

/** What is reported of a locked process is a use of what it runs in, which was locked with it. */
const noteReport = (tx: Tx, process: ProcessRow, fields: ProcessFields, now: number): Promise<void> =>
  noteHeldUse(tx, process.environmentId, decodeId("mat", fields.materialization_id) as string, now);

/** @throws DomainError `lease_lost`; `invalid_state` when the process has ended: the worker ends it. */
export async function reportStarted(
  tx: Tx,
  workerId: string,
  fields: ProcessStarted,
  now: number,
): Promise<ProcessRow> {
  const process = await lockHeld(tx, workerId, fields);
  const decision = decideStarted(process.status);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: process.status });
  const materializationId = decodeId("mat", fields.materialization_id) as string;
  if (decision.kind === "move")
    await markRunning(tx, process.environmentId, process.id, materializationId, now);
  await noteReport(tx, process, fields, now);
  return process;
}

/**
 * Appends output. Bytes that were stored before are not stored again; bytes that would leave a gap are refused.
 *
 * @throws DomainError `lease_lost`, `offset_mismatch` with what is stored, `invalid_request` for a stream that is not the
 * process's.
 */
export async function reportOutput(
  tx: Tx,
  workerId: string,
  report: ProcessOutput,
  now: number,
): Promise<{ process: ProcessRow; ends: Record<StoredStream, number> }> {
  const process = await lockHeld(tx, workerId, report);
  const ends = { stdout: process.stdoutBytes, stderr: process.stderrBytes };
  const outputs: NewOutput[] = [];
  for (const [index, chunk] of report.chunks.entries()) {
    if ((chunk.stream === "output") !== (process.kind === "pty"))
      throw invalidRequest([{ path: `chunks.${index}.stream`, message: `is not one of a ${process.kind}` }]);
    const stream = chunk.stream === "output" ? "stdout" : chunk.stream;
    const end = ends[stream];
    if (chunk.offset > end) {
      throw new DomainError("offset_mismatch", "Bytes are missing before these; send them first.", {
        stdout: process.kind === "exec" ? ends.stdout : 0,
        stderr: ends.stderr,
        output: process.kind === "pty" ? ends.stdout : 0,
      });
    }
    const data = Buffer.from(chunk.data, "base64").subarray(end - chunk.offset);
    if (data.length === 0) continue;
    outputs.push({ stream, position: end, data, at: Date.parse(chunk.at) });
    ends[stream] = end + data.length;
  }
  if (outputs.length > 0) await appendOutputs(tx, process, outputs, ends);
  for (const stream of ["stdout", "stderr"] as const) {
    const first = stream === "stdout" ? process.stdoutFirst : process.stderrFirst;
    if (ends[stream] - first > KEPT_OUTPUT_BYTES + DROPPED_AT_ONCE_BYTES)
      await dropOldOutput(tx, process, stream, ends[stream] - KEPT_OUTPUT_BYTES);
  }
  if (outputs.length > 0) await noteReport(tx, process, report, now);
  return { process, ends };
}

/**
 * Ends a process. What has ended keeps its end, so a repeat changes nothing.
 *
 * @throws DomainError `lease_lost`, `invalid_state`, `invalid_request` for an end that says both or neither of exit code
 * and signal, or a version of another workspace.
 */
export async function reportEnded(
  tx: Tx,
  workerId: string,
  report: ProcessEnded,
  now: number,
): Promise<ProcessRow> {
  const process = await lockHeld(tx, workerId, report);
  const decision = decideEnded(process.kind, process.status, report.outcome);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: process.status });
  if (decision.kind === "none") return process;
  const { exit_code: exitCode = null, signal = null } = report;
  if (
    report.outcome === "exited"
      ? (exitCode === null) === (signal === null)
      : exitCode !== null && signal !== null
  )
    throw invalidRequest([{ path: "exit_code", message: "send either exit_code or signal" }]);
  const ending = {
    status: decision.to,
    exitCode,
    signal,
    timedOut: report.timed_out ?? false,
    error: report.error?.message.replaceAll("\0", "\ufffd") ?? null,
    versionId: await requireOwnVersion(tx, process, report.version_id ?? null),
  };
  await markEnded(tx, process.environmentId, process.id, ending, now);
  await noteReport(tx, process, report, now);
  return process;
}

async function requireOwnVersion(tx: Tx, process: ProcessRow, text: string | null): Promise<string | null> {
  if (text === null) return null;
  const id = decodeId("wsv", text);
  const version = id === null ? null : await findVersion(tx, process.environmentId, id);
  if (version?.workspaceId === process.workspaceId) return version.id;
  throw invalidRequest([{ path: "version_id", message: "must be a version of the process's workspace" }]);
}
