import {
  decodeId,
  type ProcessEnded,
  type ProcessOutput,
  type ProcessOutputStored,
  type ProcessStarted,
  type Uuid,
} from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { appendHeld, endHeld, startHeld, type HeldEnding, type HeldOutput } from "./held-process-writes.ts";
import type { NewOutput } from "./process-writes.ts";
import {
  DROPPED_AT_ONCE_BYTES,
  exitOf,
  heldKeyOf,
  KEPT_OUTPUT_BYTES,
  reportEnded,
  reportOutput,
  reportStarted,
} from "./report-process.ts";

export type ReportContext = {
  db: Database;
  wakes: Wakes;
  /** Told of what was stored, by its place in all output of the process, before anyone is woken for it. */
  offer: (processId: Uuid<"exec" | "pty">, stored: readonly NewOutput[]) => void;
};

/** As `reportStarted`, in one statement where the process waits in a live workspace. */
export async function takeStarted(
  { db, wakes }: Pick<ReportContext, "db" | "wakes">,
  workerId: Uuid<"wkr">,
  fields: ProcessStarted,
  now: number,
): Promise<void> {
  const key = heldKeyOf(workerId, fields);
  if (!(await startHeld(db, key, now)))
    await db.transaction((tx) => reportStarted(tx, workerId, fields, now));
  wakes.wake(wakeKeys.process(key.processId));
}

/** As `reportOutput`, in one statement where the output goes on where what is stored ends. */
export async function takeOutput(
  { db, wakes, offer }: ReportContext,
  workerId: Uuid<"wkr">,
  report: ProcessOutput,
  now: number,
): Promise<ProcessOutputStored> {
  const key = heldKeyOf(workerId, report);
  const output = toHeldOutput(report, key.kind);
  const ends = output === null ? null : await appendHeld(db, key, output, now);
  if (output === null || ends === null) {
    const stored = await db.transaction((tx) => reportOutput(tx, workerId, report, now));
    wakes.wake(wakeKeys.process(key.processId));
    return stored;
  }
  offer(key.processId, inAll(output.outputs, ends));
  wakes.wake(wakeKeys.process(key.processId));
  return key.kind === "pty"
    ? { stdout: 0, stderr: 0, output: ends.stdout }
    : { stdout: ends.stdout, stderr: ends.stderr, output: 0 };
}

/** As `reportEnded`, in one statement where the process runs in a live workspace and has exited. */
export async function takeEnded(
  { db, wakes }: Pick<ReportContext, "db" | "wakes">,
  workerId: Uuid<"wkr">,
  report: ProcessEnded,
  now: number,
): Promise<void> {
  const key = heldKeyOf(workerId, report);
  const ending = toHeldEnding(report);
  if (ending !== null && (await endHeld(db, key, ending, now)))
    return wakes.wake(wakeKeys.process(key.processId));
  await db.transaction((tx) => reportEnded(tx, workerId, report, now));
}

/** Null when it is not the usual end: that is looked at under the lock. */
function toHeldEnding(report: ProcessEnded): HeldEnding | null {
  const { version_id: version = null } = report;
  const versionId = version === null ? null : decodeId("wsv", version);
  const ending = exitOf(report);
  return ending === null || (version !== null && versionId === null) ? null : { ...ending, versionId };
}

/** Output of the present try, by its place in the output of all tries. */
const inAll = (
  outputs: readonly NewOutput[],
  { stdoutBase, stderrBase }: { stdoutBase: number; stderrBase: number },
): NewOutput[] =>
  outputs.map((output) => ({
    ...output,
    position: output.position + (output.stream === "stdout" ? stdoutBase : stderrBase),
  }));

/** Null when it is nothing, not all of the process's own streams, or has a gap: that is looked at under the lock. */
function toHeldOutput({ chunks }: ProcessOutput, kind: "exec" | "pty"): HeldOutput | null {
  const ends: { stdout: number | null; stderr: number | null } = { stdout: null, stderr: null };
  const after = { stdout: null as number | null, stderr: null as number | null };
  const outputs: NewOutput[] = [];
  for (const chunk of chunks) {
    if ((chunk.stream === "output") !== (kind === "pty")) return null;
    const stream = chunk.stream === "output" ? "stdout" : chunk.stream;
    const data = Buffer.from(chunk.data, "base64");
    if (data.length === 0 || (ends[stream] ?? chunk.offset) !== chunk.offset) return null;
    after[stream] ??= chunk.offset;
    outputs.push({ stream, position: chunk.offset, data, at: Date.parse(chunk.at) });
    ends[stream] = chunk.offset + data.length;
  }
  return outputs.length === 0
    ? null
    : { outputs, after, keptBytes: KEPT_OUTPUT_BYTES + DROPPED_AT_ONCE_BYTES };
}
