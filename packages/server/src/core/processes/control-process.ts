import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { noteUse } from "../materializations/note-use.ts";
import { decideCancel, isOver, type NewControl } from "./processes.ts";
import { lockProcess, type ProcessKey } from "./process-reads.ts";
import { insertControl, markEnded, NO_ENDING } from "./process-writes.ts";

const ENDING_SIGNALS = new Set(["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT"]);

/**
 * Sends a signal, a new size or the close to a process. One that has not begun is ended at once by what would end it;
 * closing what has ended changes nothing.
 *
 * @returns the worker to tell.
 * @throws DomainError `not_found`, `invalid_state` when the process has ended.
 */
export async function controlProcess(
  tx: Tx,
  key: ProcessKey,
  control: NewControl,
  now: number,
): Promise<{ workerId: string | null }> {
  // The materialization before the process, as everywhere.
  const workerId = await noteUse(tx, key, now);
  const process = await lockProcess(tx, key);
  if (process === null) throw notFound();
  const { environmentId, id, kind, status } = process;
  if (isOver(status)) {
    if (control.kind === "close") return { workerId: null };
    throw new DomainError("invalid_state", `The process is ${status}.`, { status });
  }
  const ends = control.kind === "close" || (control.kind === "signal" && ENDING_SIGNALS.has(control.signal));
  const decision = decideCancel(kind, status);
  if (ends && decision.kind === "move") {
    await markEnded(tx, environmentId, id, { ...NO_ENDING, status: decision.to }, now);
    return { workerId: null };
  }
  await insertControl(tx, environmentId, id, control);
  return { workerId };
}
