import type { UpdateNamed, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import type { Actor } from "./identity.ts";
import { slugTaken } from "./slugs.ts";
import { findProject, lockOrganization, type ProjectRow } from "./tenancy-reads.ts";
import { updateProject } from "./tenancy-writes.ts";

/**
 * Gives a project another name or slug.
 *
 * @throws DomainError `already_exists` when another project has the slug.
 */
export async function renameProject(
  tx: Tx,
  _actor: Actor,
  { organizationId, projectId }: { organizationId: Uuid<"org">; projectId: Uuid<"proj"> },
  { name, slug }: UpdateNamed,
  now: number,
): Promise<ProjectRow> {
  await lockOrganization(tx, organizationId);
  const change = { name: name ?? null, slug: slug ?? null, now };
  const isFree = await updateProject(tx, organizationId, projectId, change);
  if (!isFree && slug !== undefined) throw slugTaken("project", slug);
  const project = await findProject(tx, organizationId, projectId);
  if (project === null) throw notFound();
  return project;
}
