import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { requestMaterialization } from "../materializations/request-materialization.ts";
import { findProcess, type ProcessRow } from "./process-reads.ts";
import { insertProcess, type ProcessInsert } from "./process-writes.ts";

export type ProcessCreation = Omit<ProcessInsert, "id">;

/**
 * Creates a process, and asks for its workspace to be live, where it is started.
 *
 * @returns it and the worker to tell, if the workspace is live.
 * @throws DomainError `not_found`, `invalid_state` when the workspace is being deleted.
 */
export async function createProcess(
  tx: Tx,
  newUuid: NewUuid,
  creation: ProcessCreation,
): Promise<{ process: ProcessRow; workerId: string | null }> {
  const { environmentId, workspaceId, kind, createdAt } = creation;
  const workspace = await requestMaterialization(tx, newUuid, environmentId, workspaceId, createdAt);
  const id = newUuid();
  await insertProcess(tx, { ...creation, id });
  const process = await findProcess(tx, { environmentId, workspaceId, kind, id });
  if (process === null) throw new Error("A process is not there after its insert.");
  return { process, workerId: workspace.materializationStatus === "live" ? workspace.workerId : null };
}
