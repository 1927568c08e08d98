import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { requestMaterialization } from "../materializations/request-materialization.ts";
import type { ProcessRow } from "./process-reads.ts";
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
  const { environmentId, workspaceId, createdAt } = creation;
  const workspace = await requestMaterialization(tx, newUuid, environmentId, workspaceId, createdAt);
  const process = await insertProcess(tx, { ...creation, id: newUuid() });
  return { process, workerId: workspace.materializationStatus === "live" ? workspace.workerId : null };
}
