import type { CachedDeployment, CachedEntrypoint } from "../../../core/entrypoints/deployment-cache.ts";
import {
  findEntrypoint,
  listEntrypoints,
  type EntrypointKind,
  type EntrypointRow,
} from "../../../core/entrypoints/entrypoint-reads.ts";
import { notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { PageRequest } from "../../edge/list-route.ts";
import type { EnvironmentScope } from "../../edge/route.ts";

/** What tasks and actors differ in. Both are what the current deployment declares, under an id that stays. */
export type EntrypointForm = {
  kind: EntrypointKind;
  list: "tasks" | "actors";
  toResource: (row: EntrypointRow, deployment: CachedDeployment, entrypoint: CachedEntrypoint) => object;
};

type Declared = { id: string; resource: object };

/** Those that the current deployment declares; none while there is no deployment. */
export async function listDeclared(
  { db, deployments }: ServerContext,
  { environmentId }: EnvironmentScope,
  { kind, list, toResource }: EntrypointForm,
  { after, limit }: PageRequest<undefined>,
): Promise<Declared[]> {
  const deployment = await deployments.current(environmentId);
  if (deployment === null) return [];
  const declared = deployment[list];
  const rows = await listEntrypoints(db, environmentId, kind, [...declared.keys()], after, limit);
  return rows.flatMap((row) => {
    const entrypoint = declared.get(row.declaredId);
    return entrypoint === undefined
      ? []
      : [{ id: row.id, resource: toResource(row, deployment, entrypoint) }];
  });
}

/** @throws DomainError `not_found` unless the current deployment declares it */
export async function findDeclared(
  { db, deployments }: ServerContext,
  { environmentId }: EnvironmentScope,
  { kind, list, toResource }: EntrypointForm,
  id: string,
): Promise<object> {
  const row = await findEntrypoint(db, environmentId, kind, id);
  const deployment = row === null ? null : await deployments.current(environmentId);
  const entrypoint = row === null ? undefined : deployment?.[list].get(row.declaredId);
  if (row === null || deployment === null || entrypoint === undefined) throw notFound();
  return toResource(row, deployment, entrypoint);
}
