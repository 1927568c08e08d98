import { ApiKey, CreateApiKey, CreatedApiKey, decodeId, encodeId, Page, pageQuery } from "@keelson/contract";
import { Type } from "typebox";
import { findApiKeyRow, listApiKeys } from "../../core/identity/api-key-reads.ts";
import { createApiKey } from "../../core/identity/create-api-key.ts";
import { revokeApiKey } from "../../core/identity/revoke-api-key.ts";
import { notFound } from "../../domain-error.ts";
import { decodeCursor, encodeCursor, pageLimit, toPage } from "../page.ts";
import { environmentOf } from "../project-scope.ts";
import { route, type Route } from "../route.ts";
import { toApiKey } from "../wire/identity.ts";

const LIST = "api_keys";
const tag = "API keys";
const path = "/api/projects/:project_id/environments/:environment_id/api-keys";
const EnvironmentParams = Type.Object({ project_id: Type.String(), environment_id: Type.String() });
const KeyParams = Type.Object({
  project_id: Type.String(),
  environment_id: Type.String(),
  id: Type.String(),
});

function keyIdOf(params: { id: string }): string {
  const id = decodeId("key", params.id);
  if (id === null) throw notFound();
  return id;
}

export const apiKeyRoutes: Route[] = [
  route({
    family: "api",
    method: "GET",
    path,
    operationId: "listApiKeys",
    summary: "List an environment's API keys",
    description: "Newest first, without those that were revoked. `last_used_at` is to the minute.",
    tag,
    access: { kind: "project", permission: "api_keys.read" },
    params: EnvironmentParams,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of API keys.", schema: Page(LIST, ApiKey) } },
    handle: async ({ server, scope, query }) => {
      const environmentId = environmentOf(scope);
      const limit = pageLimit(query.limit);
      const before = decodeCursor(LIST, environmentId, query.cursor);
      const rows = await listApiKeys(server.db, environmentId, before, limit + 1);
      const page = toPage(rows, limit, ({ id }) => encodeCursor(LIST, environmentId, id));
      return { status: 200, body: { api_keys: page.rows.map(toApiKey), next_cursor: page.nextCursor } };
    },
  }),
  route({
    family: "api",
    method: "POST",
    path,
    operationId: "createApiKey",
    summary: "Create an API key",
    description:
      "With some permissions, or all that a developer has in the environment. The key is in the answer and shown nowhere else; only its digest is stored.",
    tag,
    access: { kind: "project", permission: "api_keys.write" },
    params: EnvironmentParams,
    body: CreateApiKey,
    responses: { 201: { description: "The API key, with its text.", schema: CreatedApiKey } },
    examples: { request: { name: "CI", permissions: ["deployments.create"], expires_in: "90d" } },
    audit: { action: "api_keys.create", resource: "api_key" },
    handle: async ({ server, scope, body, audited }) => {
      const { newUuid, makeCredential } = server;
      const context = { newUuid, makeCredential, now: server.clock() };
      const created = await audited(
        (tx) => createApiKey(tx, scope, environmentOf(scope), body, context),
        ({ key }) => ({
          id: encodeId("key", key.id),
          details: { name: key.name, permissions: key.permissions },
        }),
      );
      return { status: 201, body: { ...toApiKey(created.key), api_key: created.text } };
    },
  }),
  route({
    family: "api",
    method: "GET",
    path: `${path}/:id`,
    operationId: "getApiKey",
    summary: "Get an API key",
    description: "Also one that was revoked or has expired. Its text is shown at its creation alone.",
    tag,
    access: { kind: "project", permission: "api_keys.read" },
    params: KeyParams,
    responses: { 200: { description: "The API key.", schema: ApiKey } },
    handle: async ({ server, scope, params }) => {
      const key = await findApiKeyRow(server.db, environmentOf(scope), keyIdOf(params));
      if (key === null) throw notFound();
      return { status: 200, body: toApiKey(key) };
    },
  }),
  route({
    family: "api",
    method: "DELETE",
    path: `${path}/:id`,
    operationId: "revokeApiKey",
    summary: "Revoke an API key",
    description: "It is refused by every server within a second. Revoking it again changes nothing.",
    tag,
    access: { kind: "project", permission: "api_keys.write" },
    params: KeyParams,
    responses: { 204: { description: "The key is revoked." } },
    audit: { action: "api_keys.revoke", resource: "api_key" },
    handle: async ({ server, scope, params, audited }) => {
      const keyId = keyIdOf(params);
      await audited(
        (tx) => revokeApiKey(tx, scope, environmentOf(scope), keyId, server.clock()),
        (revoked) => (revoked ? { id: params.id } : null),
      );
      return { status: 204, body: undefined };
    },
  }),
];
