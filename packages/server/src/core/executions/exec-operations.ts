import { encodeId, type Operation } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { createProcess } from "../processes/create-process.ts";
import { checkCwd, commandText, decodeBase64, processTimeoutMs } from "../processes/exec-request.ts";
import { lockWorkspace } from "../workspaces/workspace-reads.ts";
import { enterJournal, goOn } from "./durable-operations.ts";
import { toDurableError } from "./effect-operations.ts";
import type { Change } from "./execution.ts";
import { insertJournal } from "./execution-writes.ts";
import { NOTHING_SETTLED, type Settled } from "./settle-changes.ts";
import { refuse, type Batch, type OperationOutcome } from "./report-batch.ts";

/** Commands that runs start in their workspaces. */

type ExecsOperation = Extract<Operation, { kind: "execs" }>;

/** Enters it in the journal; the process is made when everything else of the report is written. */
export function performExec(
  batch: Batch,
  change: Change,
  index: number,
  operation: ExecsOperation,
): OperationOutcome {
  const { environmentId, runId } = change.execution;
  const workspaceId = batch.facts.runs.get(runId)?.workspaceId ?? null;
  if (workspaceId === null) return refuse("invalid_state", "The run works in no workspace.");
  const { position, name, command, cwd = "", env = {}, stdin = "", timeout } = operation;
  const effect = { position, kind: "exec", name, value: null } as const;
  let checked;
  try {
    checked = {
      command: commandText(command),
      cwd: checkCwd(cwd),
      timeoutMs: processTimeoutMs(timeout),
      input: decodeBase64("stdin", stdin),
    };
  } catch (error) {
    const refusal = JSON.stringify(toDurableError(error));
    const refused = enterJournal(batch, change, [{ ...effect, error: refusal }]);
    if (refused !== null) return refused;
    goOn(batch, change);
    return { ok: true, value: { kind: "effect", entry: "exec", value: null, error: refusal } };
  }
  const refused = enterJournal(batch, change, [{ ...effect, error: null }]);
  const entry = batch.journal.at(-1);
  if (refused !== null || entry === undefined) return refused as OperationOutcome;
  goOn(batch, change);
  // What still runs when the run has ended is ended with it.
  change.execution.endAwaited = true;
  const size = { cols: null, rows: null };
  const creation = { environmentId, workspaceId, kind: "exec", env, ...size, ...checked } as const;
  batch.execs.push({ entry, creation: { ...creation, createdAt: batch.now }, index });
  // What it answers is known when the process is made.
  return { ok: true };
}

const LOST: OperationOutcome = {
  ok: false,
  code: "lease_lost",
  message: "The workspace of the run is not on this worker any more; stop the run and report nothing for it.",
};

/**
 * Makes the processes, workspaces in the order of their ids, as every transaction that locks several does. One whose
 * workspace this worker has lost is refused like an operation of a lost lease: the run goes on elsewhere, without a trace
 * of it in its journal.
 *
 * @returns that this worker has something to start.
 */
export async function startExecs(
  tx: Tx,
  newUuid: NewUuid,
  { execs, workerId }: Batch,
  outcomes: OperationOutcome[],
): Promise<Settled> {
  const made = [];
  const inOrder = [...execs].sort((a, b) => (a.creation.workspaceId < b.creation.workspaceId ? -1 : 1));
  for (const { entry, creation, index } of inOrder) {
    const workspace = await lockWorkspace(tx, creation.environmentId, creation.workspaceId);
    const status = workspace?.materializationStatus ?? null;
    const isHere = workspace?.workerId === workerId && (status === "preparing" || status === "live");
    if (workspace?.status !== "active" || !isHere) {
      outcomes[index] = LOST;
      continue;
    }
    const { process } = await createProcess(tx, newUuid, creation);
    entry.value = JSON.stringify({ id: encodeId("exec", process.id) });
    made.push(entry);
    outcomes[index] = { ok: true, value: { kind: "effect", entry: "exec", value: entry.value, error: null } };
  }
  await insertJournal(tx, made);
  return { ...NOTHING_SETTLED, workspaceWorkerIds: made.length > 0 ? [workerId] : [] };
}
