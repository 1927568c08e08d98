import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { insertLiveProcess } from "./live-process-writes.ts";
import type { ProcessRow } from "./process-reads.ts";
import { insertProcess, type ProcessInsert } from "./process-writes.ts";

export type ProcessCreation = Omit<ProcessInsert, "id">;

export type CreatedProcess = {
  process: ProcessRow;
  /** The materialization where it is to begin and its worker; null while the workspace is not live. */
  live: { materializationId: Uuid<"mat">; workerId: Uuid<"wkr"> } | null;
};

/**
 * Creates a process in a live workspace, in one statement; null, and nothing is done, when the workspace is not live.
 *
 * @param givenTo the materialization for which the poll of a worker waits here, if that may begin what it is given.
 */
export async function createLiveProcess(
  db: Queryable,
  newUuid: NewUuid,
  creation: ProcessCreation,
  givenTo: Uuid<"mat"> | null = null,
): Promise<CreatedProcess | null> {
  // What is to run again when it is lost begins with a version of what is there.
  const taker = creation.onLost === "rerun" ? null : givenTo;
  const inserted = await insertLiveProcess(db, { ...creation, id: newUuid() }, taker);
  if (inserted === null) return null;
  const { liveIn: materializationId, workerId, ...process } = inserted;
  return { process, live: { materializationId, workerId } };
}

/** Creates a process of a locked workspace, live or not. */
export const createProcess = (tx: Tx, newUuid: NewUuid, creation: ProcessCreation): Promise<ProcessRow> =>
  insertProcess(tx, { ...creation, id: newUuid() });
