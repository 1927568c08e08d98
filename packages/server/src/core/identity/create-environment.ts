import type { CreateNamed, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import type { Actor } from "./identity.ts";
import { chooseSlug, slugTaken } from "./slugs.ts";
import { findEnvironment, findWorkerGroupFor, lockProject, type EnvironmentRow } from "./tenancy-reads.ts";
import { insertEnvironment } from "./tenancy-writes.ts";

type Context = { newUuid: NewUuid; now: number };

/**
 * Makes an environment of a project.
 *
 * @throws DomainError `already_exists` when the project has an environment of that slug.
 */
export async function createEnvironment(
  tx: Tx,
  _actor: Actor,
  place: { organizationId: Uuid<"org">; projectId: Uuid<"proj"> },
  named: CreateNamed,
  context: Context,
): Promise<EnvironmentRow> {
  const { organizationId, projectId } = place;
  await lockProject(tx, projectId);
  const id = await addEnvironment(tx, organizationId, projectId, named, context);
  const environment = await findEnvironment(tx, projectId, id);
  if (environment === null) throw new Error("An environment vanished while it was made.");
  return environment;
}

/** Adds it to a project that nobody else changes meanwhile, and gives its id. */
export async function addEnvironment(
  tx: Tx,
  organizationId: Uuid<"org">,
  projectId: Uuid<"proj">,
  { name, slug }: CreateNamed,
  { newUuid, now }: Context,
): Promise<Uuid<"env">> {
  const workerGroupId = await findWorkerGroupFor(tx, organizationId);
  if (workerGroupId === null) throw new Error("There is no worker group; the first start makes one.");
  const id = newUuid<"env">();
  const chosen = chooseSlug(name, slug);
  if (!(await insertEnvironment(tx, { id, projectId, name, slug: chosen, workerGroupId, now })))
    throw slugTaken("environment", chosen);
  return id;
}
