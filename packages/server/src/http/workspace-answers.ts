import {
  decodeId,
  HEADERS,
  LIMITS,
  type CreateSandboxWorkspace,
  type CreateWorkspace,
  type UpdateWorkspace,
} from "@keelson/contract";
import { wakeKeys } from "../core/feeds/wakes.ts";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../core/idempotency/with-idempotency.ts";
import { changeFiles } from "../core/workspaces/change-files.ts";
import { createWorkspace, resolveOrigin } from "../core/workspaces/create-workspace.ts";
import { deleteWorkspace } from "../core/workspaces/delete-workspace.ts";
import { changeWorkspace } from "../core/workspaces/change-workspace.ts";
import { requireWorkspace } from "../core/workspaces/require-workspace.ts";
import { findWorkspace, listWorkspaces } from "../core/workspaces/workspace-reads.ts";
import { toStoredTree } from "../core/versions/store-tree.ts";
import { findVersion, listVersions, type VersionRow } from "../core/versions/version-reads.ts";
import { invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { answerWorkspaceItem } from "./materialization-answers.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "./page.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { toVersion, toWorkspace } from "./wire/workspace.ts";

/** What the workspace routes of both families answer. */

const LIST = "workspaces";

export function workspaceIdOf(text: string): string {
  const id = decodeId("ws", text);
  if (id === null) throw notFound();
  return id;
}

function metadataText(metadata: Record<string, unknown> | undefined): string | null {
  if (metadata === undefined) return null;
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) > LIMITS.metadataBytes)
    throw invalidRequest([{ path: "metadata", message: `may have ${LIMITS.metadataBytes} bytes at most` }]);
  return text;
}

function checkExternalId(externalId: string | null): void {
  if (externalId !== null && Buffer.byteLength(externalId) > LIMITS.externalIdBytes)
    throw invalidRequest([
      { path: "external_id", message: `may have ${LIMITS.externalIdBytes} bytes at most` },
    ]);
}

/** @param sandbox the declared id of the path's sandbox, else the body's. */
export async function answerWorkspaceCreate(
  server: ServerContext,
  scope: EnvironmentScope,
  body: CreateWorkspace & CreateSandboxWorkspace,
  request: RequestFacts,
  operation: string,
): Promise<Reply> {
  const { environmentId, projectId } = scope;
  const now = server.clock();
  const externalId = body.external_id ?? null;
  checkExternalId(externalId);
  const metadata = metadataText(body.metadata);
  const expiresAt = idempotencyExpiry(body.idempotency_key_ttl, now);
  const keyed = { environmentId, scope: operation, key: request.idempotencyKey, body, expiresAt, now };
  const wanted = { sandbox: body.sandbox ?? null, fromVersionId: body.from_version_id ?? null };
  // A repeat is answered as the first time even when what it names has gone since.
  const origin = await resolveOrigin(server, environmentId, wanted).catch((error: unknown) => ({ error }));
  const answer = await server.db.transaction((tx) =>
    withIdempotency(tx, keyed, async () => {
      if ("error" in origin) throw origin.error;
      const tags = body.tags ?? null;
      const creation = { environmentId, projectId, origin, externalId, metadata, tags, now };
      const workspace = await createWorkspace(tx, server.newUuid, creation);
      return { status: 201, body: JSON.stringify(toWorkspace(workspace)) };
    }),
  );
  return {
    status: answer.status,
    json: answer.body,
    ...(answer.replayed ? { headers: { [HEADERS.idempotencyReplayed]: "true" } } : {}),
  };
}

export async function answerWorkspaceList(
  server: ServerContext,
  scope: EnvironmentScope,
  query: { limit?: number; cursor?: string; external_id?: string; sandbox?: string; tag?: string[] },
): Promise<Reply> {
  const { environmentId } = scope;
  const limit = pageLimit(query.limit);
  const before = decodeCursor(LIST, environmentId, query.cursor);
  const filter = {
    externalId: query.external_id ?? null,
    sandbox: query.sandbox ?? null,
    tags: query.tag ?? [],
  };
  const rows = await listWorkspaces(server.db, environmentId, filter, before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(LIST, environmentId, row.id));
  return {
    status: 200,
    body: { workspaces: page.rows.map((row) => toWorkspace(row)), next_cursor: page.nextCursor },
  };
}

export async function answerWorkspace(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
): Promise<Reply> {
  const workspace = await findWorkspace(server.db, scope.environmentId, workspaceId);
  if (workspace === null) throw notFound();
  return answerWorkspaceItem(server, scope, workspace, 200);
}

export async function answerWorkspaceUpdate(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  body: UpdateWorkspace,
): Promise<Reply> {
  const change = { metadata: metadataText(body.metadata), tags: body.tags ?? null };
  await server.db.transaction((tx) =>
    changeWorkspace(tx, scope.environmentId, workspaceId, change, server.clock()),
  );
  return answerWorkspace(server, scope, workspaceId);
}

export async function answerWorkspaceDelete(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
): Promise<Reply> {
  const { workerId } = await server.db.transaction((tx) =>
    deleteWorkspace(tx, server.newUuid, scope.environmentId, workspaceId, server.clock()),
  );
  server.wakes.wake(wakeKeys.workspace(workspaceId));
  if (workerId !== null) server.wakes.wake(wakeKeys.workerWorkspaces(workerId));
  return answerWorkspace(server, scope, workspaceId);
}

/** A version of the workspace, both named by a path. */
export async function requireVersion(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  versionText: string,
): Promise<VersionRow> {
  const versionId = decodeId("wsv", versionText);
  const version = versionId === null ? null : await findVersion(server.db, scope.environmentId, versionId);
  if (version === null || version.workspaceId !== workspaceId) throw notFound();
  return version;
}

export async function answerVersionList(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  const { environmentId } = scope;
  await requireWorkspace(server.db, environmentId, workspaceId);
  const limit = pageLimit(query.limit, LIMITS.workspaceVersionsDefault);
  const list = `versions ${workspaceId}`;
  const before = decodeCursor(list, environmentId, query.cursor);
  const rows = await listVersions(server.db, environmentId, workspaceId, before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(list, environmentId, row.id));
  return { status: 200, body: { versions: page.rows.map(toVersion), next_cursor: page.nextCursor } };
}

/** The files of a version become the current ones, as a new version. */
export async function answerRestore(
  server: ServerContext,
  scope: EnvironmentScope,
  workspaceId: string,
  versionText: string,
): Promise<Reply> {
  const { environmentId } = scope;
  const version = await requireVersion(server, scope, workspaceId, versionText);
  const manifestDigest = version.manifestDigest.toString("hex");
  const { tree, blobs } = await server.trees.load(environmentId, manifestDigest);
  const restored = await changeFiles(server, environmentId, workspaceId, async () =>
    toStoredTree(tree, manifestDigest, blobs),
  );
  server.wakes.wake(wakeKeys.workspace(workspaceId));
  return { status: restored.created ? 201 : 200, body: toVersion(restored.version) };
}
