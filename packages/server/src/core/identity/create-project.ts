import type { CreateNamed, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { addEnvironment } from "./create-environment.ts";
import type { Actor } from "./identity.ts";
import { chooseSlug, slugTaken } from "./slugs.ts";
import { findProject, lockOrganization, type ProjectRow } from "./tenancy-reads.ts";
import { insertProject } from "./tenancy-writes.ts";

/** What a project begins with, as the first one did. */
const FIRST_ENVIRONMENTS = ["Development", "Production"] as const;

/**
 * Makes a project with the environments `development` and `production`.
 *
 * @throws DomainError `already_exists` when the organization has a project of that slug.
 */
export async function createProject(
  tx: Tx,
  _actor: Actor,
  organizationId: Uuid<"org">,
  { name, slug }: CreateNamed,
  { newUuid, now }: { newUuid: NewUuid; now: number },
): Promise<ProjectRow> {
  await lockOrganization(tx, organizationId);
  const id = newUuid<"proj">();
  const chosen = chooseSlug(name, slug);
  if (!(await insertProject(tx, { id, organizationId, name, slug: chosen, now })))
    throw slugTaken("project", chosen);
  for (const first of FIRST_ENVIRONMENTS)
    await addEnvironment(tx, organizationId, id, { name: first }, { newUuid, now });
  const project = await findProject(tx, organizationId, id);
  if (project === null) throw new Error("A project vanished while it was made.");
  return project;
}
