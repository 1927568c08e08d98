import { decodeId, type Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { invalidRequest, type DomainError } from "../../domain-error.ts";
import { findWorkspace, type WorkspaceRow } from "./workspace-reads.ts";
import { markNamed, touchRunWorkspaces } from "./workspace-writes.ts";

/**
 * What a start means for a workspace that was made for another run. `keep`: a caller names it, so it is theirs from now on.
 * `use`: a run starts another one in it, and it is deleted as long after that as after any use. `checked`: it was noted before.
 */
export type Naming = { kind: "keep" } | { kind: "use"; now: number } | { kind: "checked" };

/**
 * Checks the workspace that a start names; a start that names none costs nothing. A caller who names one that was made for a
 * run, and a deletion of it because nobody used it, exclude each other by its row: whoever commits first wins. One that is
 * deleted afterwards by somebody is found out by the worker that takes the run up.
 *
 * @throws DomainError `invalid_request` unless it is an active one of the environment.
 */
export async function checkStartWorkspace(
  db: Queryable,
  environmentId: Uuid<"env">,
  text: string | undefined,
  naming: Naming,
): Promise<void> {
  if (text === undefined) return;
  const id = decodeId("ws", text);
  const workspace = id === null ? null : await findWorkspace(db, environmentId, id);
  if (workspace?.status !== "active") throw refused();
  if (workspace.madeForRunId === null) return;
  if (!(await noteNaming(db, workspace, naming))) throw refused();
}

/** False when it was deleted meanwhile. */
async function noteNaming(
  db: Queryable,
  { environmentId, id }: WorkspaceRow,
  naming: Naming,
): Promise<boolean> {
  switch (naming.kind) {
    case "keep":
      return markNamed(db, environmentId, id);
    case "use": {
      const used = await touchRunWorkspaces(db, environmentId, [id], naming.now);
      // Somebody may have made it theirs meanwhile.
      return used.length === 1 || (await findWorkspace(db, environmentId, id))?.status === "active";
    }
    case "checked":
      return true;
  }
}

const refused = (): DomainError =>
  invalidRequest([
    {
      path: "workspace_id",
      message: "there is no such workspace in this environment; take the id of an active one",
    },
  ]);
