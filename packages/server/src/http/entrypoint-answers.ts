import { decodeId } from "@keelson/contract";
import type { CachedDeployment, CachedEntrypoint } from "../core/entrypoints/deployment-cache.ts";
import {
  findEntrypoint,
  listEntrypoints,
  type EntrypointKind,
  type EntrypointRow,
} from "../core/entrypoints/entrypoint-reads.ts";
import { notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { Reply } from "./route.ts";

/** What tasks and actors differ in. Both are what the current deployment declares, under an id that stays. */
export type EntrypointForm = {
  kind: EntrypointKind;
  list: "tasks" | "actors";
  toResource: (row: EntrypointRow, deployment: CachedDeployment, entrypoint: CachedEntrypoint) => object;
};

/** A page of those that the current deployment declares; empty while there is none. */
export async function answerEntrypointPage(
  { db, deployments }: ServerContext,
  environmentId: string,
  { kind, list, toResource }: EntrypointForm,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const before = decodeCursor(list, environmentId, query.cursor);
  const deployment = await deployments.current(environmentId);
  if (deployment === null) return { status: 200, body: { [list]: [], next_cursor: null } };
  const declared = deployment[list];
  const rows = await listEntrypoints(db, environmentId, kind, [...declared.keys()], before, limit + 1);
  const page = toPage(rows, limit, ({ id }) => encodeCursor(list, environmentId, id));
  const resources = page.rows.flatMap((row) => {
    const entrypoint = declared.get(row.declaredId);
    return entrypoint === undefined ? [] : [toResource(row, deployment, entrypoint)];
  });
  return { status: 200, body: { [list]: resources, next_cursor: page.nextCursor } };
}

/** @throws DomainError `not_found` unless the current deployment declares it */
export async function answerEntrypoint(
  { db, deployments }: ServerContext,
  environmentId: string,
  { kind, list, toResource }: EntrypointForm,
  text: string,
): Promise<Reply> {
  const id = decodeId(kind, text);
  const row = id === null ? null : await findEntrypoint(db, environmentId, kind, id);
  const deployment = row === null ? null : await deployments.current(environmentId);
  const entrypoint = row === null ? undefined : deployment?.[list].get(row.declaredId);
  if (row === null || deployment === null || entrypoint === undefined) throw notFound();
  return { status: 200, body: toResource(row, deployment, entrypoint) };
}
