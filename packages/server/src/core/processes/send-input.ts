import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { noteUse } from "../workspaces/note-use.ts";
import { lockProcess, type ProcessKey, type ProcessRow } from "./process-reads.ts";
import { appendInput, closeInput } from "./process-writes.ts";
import { requireTaking } from "./require-taking.ts";

/** Input that the process has not taken is kept up to this; its sender is to wait then. */
export const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/**
 * Appends to the input of a process, or ends it.
 *
 * @param offset where the bytes are to begin; null for the end.
 * @returns the bytes taken so far.
 * @throws DomainError `not_found`, `invalid_state` for a process or an input that has ended, `offset_mismatch`,
 * `rate_limited` when too much waits to be read.
 */
export async function sendInput(
  tx: Tx,
  key: ProcessKey,
  input: { data: Buffer; offset: number | null } | "close",
  now: number,
): Promise<{ offset: number }> {
  // The materialization before the process, as everywhere.
  const workerId = await noteUse(tx, key, now);
  const process = await lockProcess(tx, key);
  if (process === null) throw notFound();
  if (workerId !== null) tx.wake(wakeKeys.workerWorkspaces(workerId));
  if (input === "close") {
    if (!process.inputClosed) await closeInput(tx, process.environmentId, process.id);
    return { offset: process.inputBytes };
  }
  requireOpen(process);
  const { data, offset } = input;
  if (offset !== null && offset !== process.inputBytes) {
    throw new DomainError(
      "offset_mismatch",
      `${process.inputBytes} bytes have been taken; send the ones after them.`,
      { offset: process.inputBytes },
    );
  }
  if (process.inputBytes - process.inputTaken + data.length > MAX_WAITING_BYTES) {
    throw new DomainError("rate_limited", "The process does not read its input. Send it more slowly.", {
      waiting_bytes: process.inputBytes - process.inputTaken,
    });
  }
  if (data.length > 0) await appendInput(tx, process, data);
  return { offset: process.inputBytes + data.length };
}

function requireOpen(process: ProcessRow): void {
  requireTaking(process);
  if (process.inputClosed)
    throw new DomainError("invalid_state", "The input has been closed.", { status: process.status });
}
