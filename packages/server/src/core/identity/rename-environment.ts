import type { UpdateNamed, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";
import type { Actor } from "./identity.ts";
import { slugTaken } from "./slugs.ts";
import { findEnvironment, lockProject, type EnvironmentRow } from "./tenancy-reads.ts";
import { updateEnvironment } from "./tenancy-writes.ts";

/**
 * Gives an environment another name or slug.
 *
 * @throws DomainError `already_exists` when another environment of the project has the slug.
 */
export async function renameEnvironment(
  tx: Tx,
  _actor: Actor,
  { projectId, environmentId }: { projectId: Uuid<"proj">; environmentId: Uuid<"env"> },
  { name, slug }: UpdateNamed,
  now: number,
): Promise<EnvironmentRow> {
  await lockProject(tx, projectId);
  const change = { name: name ?? null, slug: slug ?? null, now };
  const isFree = await updateEnvironment(tx, projectId, environmentId, change);
  if (!isFree && slug !== undefined) throw slugTaken("environment", slug);
  const environment = await findEnvironment(tx, projectId, environmentId);
  if (environment === null) throw notFound();
  return environment;
}
