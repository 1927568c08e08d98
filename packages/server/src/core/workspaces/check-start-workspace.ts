import { decodeId, type Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { invalidRequest } from "../../domain-error.ts";
import { findWorkspace } from "./workspace-reads.ts";

/**
 * Checks the workspace that a start names; a start that names none costs nothing. One that is deleted afterwards is found
 * out by the worker that takes the run up.
 *
 * @throws DomainError `invalid_request` unless it is an active one of the environment.
 */
export async function checkStartWorkspace(
  db: Queryable,
  environmentId: Uuid<"env">,
  text: string | undefined,
): Promise<void> {
  if (text === undefined) return;
  const id = decodeId("ws", text);
  const workspace = id === null ? null : await findWorkspace(db, environmentId, id);
  if (workspace?.status === "active") return;
  throw invalidRequest([
    {
      path: "workspace_id",
      message: "there is no such workspace in this environment; take the id of an active one",
    },
  ]);
}
