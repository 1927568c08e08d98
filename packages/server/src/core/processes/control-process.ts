import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { noteUse } from "../workspaces/note-use.ts";
import { decideCancel, isOver, type NewControl } from "./processes.ts";
import { requireTaking } from "./require-taking.ts";
import { lockProcess, type ProcessKey } from "./process-reads.ts";
import { insertControl, markEnded, NO_ENDING } from "./process-writes.ts";

const ENDING_SIGNALS = new Set(["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT"]);

/**
 * Sends a signal, a new size or the close to a process. One that has not begun is ended at once by what would end it;
 * closing what has ended, or is to be closed, changes nothing. The close of a command asks it to end, and kills it when it does not.
 *
 * @throws DomainError `not_found`, `invalid_state` when the process has ended, or is to be closed.
 */
export async function controlProcess(
  tx: Tx,
  key: ProcessKey,
  control: NewControl,
  now: number,
): Promise<void> {
  // The materialization before the process, as everywhere.
  const workerId = await noteUse(tx, key, now);
  const process = await lockProcess(tx, key);
  if (process === null) throw notFound();
  const { environmentId, id, kind, status } = process;
  if (control.kind === "close" && (isOver(status) || process.closing)) return;
  requireTaking(process);
  tx.wake(wakeKeys.process(id));
  const ends = control.kind === "close" || (control.kind === "signal" && ENDING_SIGNALS.has(control.signal));
  const decision = decideCancel(kind, status);
  if (ends && decision.kind === "move") {
    await markEnded(tx, environmentId, id, { ...NO_ENDING, status: decision.to }, now);
    return;
  }
  await insertControl(tx, environmentId, id, control);
  if (workerId !== null) tx.wake(wakeKeys.workerWorkspaces(workerId));
}
