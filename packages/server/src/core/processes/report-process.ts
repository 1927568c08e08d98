import {
  decodeId,
  encodeId,
  type ProcessEnded,
  type ProcessOutput,
  type ProcessOutputStored,
  type ProcessStarted,
  type Uuid,
} from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { leaseLost } from "../workspaces/lease-lost.ts";
import { noteHeldUse } from "../workspaces/note-use.ts";
import { findVersion } from "../versions/version-reads.ts";
import type { ProcessEnding } from "./process-writes.ts";
import { afterLoss, decideEnded, decideStarted, mayRerun } from "./processes.ts";
import type { HeldProcessKey } from "./held-process-writes.ts";
import { lockHeldProcess, type ProcessRow } from "./process-reads.ts";
import {
  appendOutputs,
  dropOldOutput,
  markEnded,
  markRerun,
  markRunning,
  type NewOutput,
} from "./process-writes.ts";

/** At least this much of each output is kept; it is dropped in portions. */
export const KEPT_OUTPUT_BYTES = 8 * 1024 * 1024;
export const DROPPED_AT_ONCE_BYTES = 4 * 1024 * 1024;

type ProcessFields = ProcessStarted;

/** Bytes of each output of the present try. */
type StoredOutput = ProcessOutputStored;

type HeldProcess = ProcessRow & { isStopping: boolean };

/** @throws DomainError `lease_lost` when there can be no such process. */
export function heldKeyOf(workerId: Uuid<"wkr">, fields: ProcessFields): HeldProcessKey {
  const environmentId = decodeId("env", fields.environment_id);
  const materializationId = decodeId("mat", fields.materialization_id);
  const kind = fields.process_id.startsWith("pty_") ? "pty" : "exec";
  const processId = decodeId(kind, fields.process_id);
  if (environmentId === null || materializationId === null || processId === null) throw leaseLost();
  return { workerId, environmentId, materializationId, epoch: fields.epoch, processId, kind };
}

async function lockHeld(tx: Tx, workerId: Uuid<"wkr">, fields: ProcessFields): Promise<HeldProcess> {
  const key = heldKeyOf(workerId, fields);
  const process = await lockHeldProcess(tx, key);
  if (process === null || process.kind !== key.kind) throw leaseLost();
  return process;
}

/** What is reported of a locked process is a use of what it runs in, which was locked with it. */
const noteReport = (tx: Tx, process: ProcessRow, fields: ProcessFields, now: number): Promise<void> =>
  noteHeldUse(tx, process.environmentId, decodeId("mat", fields.materialization_id) as Uuid<"mat">, now);

/** @throws DomainError `lease_lost`; `invalid_state` when the process has ended: the worker ends it. */
export async function reportStarted(
  tx: Tx,
  workerId: Uuid<"wkr">,
  fields: ProcessStarted,
  now: number,
): Promise<ProcessRow> {
  const process = await lockHeld(tx, workerId, fields);
  const decision = decideStarted(process.status);
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: process.status });
  const materializationId = decodeId("mat", fields.materialization_id) as Uuid<"mat">;
  if (decision.kind === "move")
    await markRunning(tx, process.environmentId, process.id, materializationId, now);
  await noteReport(tx, process, fields, now);
  return process;
}

/**
 * Appends output, at offsets of the present try. Bytes that were stored before are not stored again; bytes that would leave a gap are refused.
 *
 * @throws DomainError `lease_lost`, `offset_mismatch` with what is stored, `invalid_request` for a stream that is not the
 * process's.
 */
export async function reportOutput(
  tx: Tx,
  workerId: Uuid<"wkr">,
  report: ProcessOutput,
  now: number,
): Promise<StoredOutput> {
  const process = await lockHeld(tx, workerId, report);
  const ends = { stdout: process.stdoutBytes, stderr: process.stderrBytes };
  const base = { stdout: process.stdoutBase, stderr: process.stderrBase };
  const outputs: NewOutput[] = [];
  for (const [index, chunk] of report.chunks.entries()) {
    if ((chunk.stream === "output") !== (process.kind === "pty"))
      throw invalidRequest([{ path: `chunks.${index}.stream`, message: `is not one of a ${process.kind}` }]);
    const stream = chunk.stream === "output" ? "stdout" : chunk.stream;
    const end = ends[stream];
    const offset = base[stream] + chunk.offset;
    if (offset > end) {
      throw new DomainError("offset_mismatch", "Bytes are missing before these; send them first.", {
        stdout: process.kind === "exec" ? ends.stdout - base.stdout : 0,
        stderr: ends.stderr - base.stderr,
        output: process.kind === "pty" ? ends.stdout : 0,
      });
    }
    const data = Buffer.from(chunk.data, "base64").subarray(end - offset);
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
  const isPty = process.kind === "pty";
  return {
    stdout: isPty ? 0 : ends.stdout - base.stdout,
    stderr: ends.stderr - base.stderr,
    output: isPty ? ends.stdout : 0,
  };
}

/**
 * Ends a process. What has ended keeps its end, so a repeat changes nothing.
 *
 * @throws DomainError `lease_lost`, `invalid_state`, `invalid_request` for an end that says both or neither of exit code
 * and signal, or a version of another workspace.
 */
export async function reportEnded(
  tx: Tx,
  workerId: Uuid<"wkr">,
  report: ProcessEnded,
  now: number,
): Promise<ProcessRow> {
  const process = await lockHeld(tx, workerId, report);
  tx.wake(wakeKeys.process(process.id));
  return settleEnd(tx, process, report, now);
}

type EndFacts = Pick<ProcessEnding, "exitCode" | "signal" | "timedOut" | "error">;

const factsOf = (report: Omit<ProcessEnded, keyof ProcessFields>): EndFacts => ({
  exitCode: report.exit_code ?? null,
  signal: report.signal ?? null,
  timedOut: report.timed_out ?? false,
  error: report.error?.message.replaceAll("\0", "\ufffd") ?? null,
});

const hasBoth = ({ exitCode, signal }: EndFacts): boolean => exitCode !== null && signal !== null;

/** How a process has exited, by its own will or by a signal; null when the report says something else, or both. */
export function exitOf(report: Omit<ProcessEnded, keyof ProcessFields>): EndFacts | null {
  const facts = factsOf(report);
  if (report.outcome !== "exited" || hasBoth(facts)) return null;
  return facts.exitCode === null && facts.signal === null ? null : facts;
}

/**
 * What a worker says of the end of a locked process. What the agent's own stop cut off is lost, as when the agent had been
 * killed: only who asked for the workspace's stop wanted its commands to end.
 */
export async function settleEnd(
  tx: Tx,
  process: HeldProcess,
  report: ProcessEnded,
  now: number,
): Promise<ProcessRow> {
  const isRerun = mayRerun(process);
  const outcome = report.outcome === "cancelled" && isRerun && !process.isStopping ? "lost" : report.outcome;
  const decision = decideEnded(process.kind, process.status, outcome, afterLoss(process));
  if (decision.kind === "refuse")
    throw new DomainError("invalid_state", decision.message, { status: process.status });
  if (decision.kind === "none") return process;
  if (decision.to === "pending") {
    await markRerun(tx, process.environmentId, process.id, now);
    await noteReport(tx, process, report, now);
    return process;
  }
  const facts = factsOf(report);
  const isWhole = report.outcome === "exited" ? exitOf(report) !== null : !hasBoth(facts);
  if (!isWhole) throw invalidRequest([{ path: "exit_code", message: "send either exit_code or signal" }]);
  const ending = {
    status: decision.to,
    ...facts,
    versionId: await requireOwnVersion(tx, process, report.version_id ?? null),
  };
  await markEnded(tx, process.environmentId, process.id, ending, now);
  await noteReport(tx, process, report, now);
  return process;
}

/**
 * Ends processes with the commit that has what they changed, so that nobody takes one for lost whose work is kept.
 *
 * @throws DomainError as `reportEnded`.
 */
export async function endCommitted(
  tx: Tx,
  workerId: Uuid<"wkr">,
  ended: readonly ProcessEnded[],
  versionId: Uuid<"wsv">,
  now: number,
): Promise<void> {
  const inOrder = [...ended].sort((a, b) => (a.process_id < b.process_id ? -1 : 1));
  for (const report of inOrder) {
    const process = await lockHeld(tx, workerId, report);
    if (report.outcome !== "exited" || process.status !== "running") continue;
    tx.wake(wakeKeys.process(process.id));
    await settleEnd(tx, process, { ...report, version_id: encodeId("wsv", versionId) }, now);
  }
}

async function requireOwnVersion(
  tx: Tx,
  process: ProcessRow,
  text: string | null,
): Promise<Uuid<"wsv"> | null> {
  if (text === null) return null;
  const id = decodeId("wsv", text);
  const version = id === null ? null : await findVersion(tx, process.environmentId, id);
  if (version?.workspaceId === process.workspaceId) return version.id;
  throw invalidRequest([{ path: "version_id", message: "must be a version of the process's workspace" }]);
}
