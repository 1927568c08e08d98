import { encodeId, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { StaleReadError } from "../../db/stale-read-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { requestProcess } from "../materializations/request-process.ts";
import { checkCwd, commandText, decodeBase64, processTimeoutMs } from "../processes/exec-request.ts";
import { findWorkspace, lockWorkspace, type WorkspaceRow } from "../workspaces/workspace-reads.ts";
import { enterJournal, goOn } from "./durable-operations.ts";
import { toDurableError } from "./effect-operations.ts";
import type { Change } from "../executions/execution.ts";
import { settleJournal } from "../executions/settle-changes.ts";
import {
  type LeasedContent,
  refuse,
  type Batch,
  type LeasedOperation,
  type OperationOutcome,
} from "./report-batch.ts";

/** Commands that runs start in their workspaces. */

type ExecsOperation = Extract<LeasedContent, { kind: "execs" }>;

/**
 * The workspaces of these runs that this worker has now. Workspaces are locked last, when all of the report is written; this
 * look is earlier, so that a command without a workspace is refused before anything is made of it.
 */
export async function findHeldWorkspaces(
  tx: Tx,
  operations: readonly LeasedOperation[],
  { facts, workerId }: Batch,
): Promise<Set<string>> {
  const held = new Set<string>();
  for (const { environmentId, runId, operation } of operations) {
    const workspaceId = facts.runs.get(runId)?.workspaceId ?? null;
    if (operation.kind !== "execs" || workspaceId === null || held.has(workspaceId)) continue;
    if (isHeldBy(workerId, await findWorkspace(tx, environmentId, workspaceId))) held.add(workspaceId);
  }
  return held;
}

function isHeldBy(workerId: Uuid<"wkr">, workspace: WorkspaceRow | null): boolean {
  const status = workspace?.materializationStatus ?? null;
  const isHere = workspace?.workerId === workerId && (status === "preparing" || status === "live");
  return isHere && workspace.status === "active";
}

const LOST: OperationOutcome = {
  ok: false,
  code: "lease_lost",
  message: "The workspace of the run is not on this worker any more; stop the run and report nothing for it.",
};

/**
 * Enters it in the journal; the process is made when everything else of the report is written. One whose workspace this
 * worker has lost is refused like an operation of a lost lease: the run goes on elsewhere, without a trace of it.
 */
export function performExec(
  batch: Batch,
  change: Change,
  index: number,
  operation: ExecsOperation,
): OperationOutcome {
  const { environmentId, runId } = change.execution;
  const workspaceId = batch.facts.runs.get(runId)?.workspaceId ?? null;
  if (workspaceId === null) return refuse("invalid_state", "The run works in no workspace.");
  if (!batch.facts.heldWorkspaces.has(workspaceId)) return LOST;
  const {
    position,
    place = null,
    name,
    command,
    cwd = "",
    env = {},
    stdin = "",
    timeout,
    on_lost: onLost = "rerun",
  } = operation;
  const effect = { position, place, kind: "exec", name, value: null } as const;
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
  const creation = {
    environmentId,
    workspaceId,
    kind: "exec",
    env,
    ...size,
    ...checked,
    onLost,
    runId,
  } as const;
  const { workerGroupId } = change.execution;
  batch.execs.push({ entry, workerGroupId, creation: { ...creation, createdAt: batch.now }, index });
  // What it answers is known when the process is made.
  return { ok: true };
}

/** Makes the processes, workspaces in the order of their ids, as every transaction that locks several does. */
export async function startExecs(
  tx: Tx,
  newUuid: NewUuid,
  { execs, workerId }: Batch,
  outcomes: OperationOutcome[],
): Promise<void> {
  const made = [];
  const inOrder = [...execs].sort((a, b) => (a.creation.workspaceId < b.creation.workspaceId ? -1 : 1));
  for (const { entry, workerGroupId, creation, index } of inOrder) {
    const workspace = await lockWorkspace(tx, creation.environmentId, creation.workspaceId);
    if (!isHeldBy(workerId, workspace)) throw new StaleReadError("The worker lost the workspace meanwhile.");
    const { process } = await requestProcess(tx, newUuid, workerGroupId, creation);
    entry.value = JSON.stringify({ id: encodeId("exec", process.id) });
    made.push(entry);
    outcomes[index] = { ok: true, value: { kind: "effect", entry: "exec", value: entry.value, error: null } };
  }
  await settleJournal(tx, made);
  if (made.length > 0) tx.wake(wakeKeys.workerWorkspaces(workerId));
}
