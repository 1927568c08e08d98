import { ApiKey, CreateApiKey, CreatedApiKey, encodeId, PageQuery } from "@keelson/contract";
import { findApiKeyRow, listApiKeys } from "../../../core/identity/api-key-reads.ts";
import { createApiKey } from "../../../core/identity/create-api-key.ts";
import { revokeApiKey } from "../../../core/identity/revoke-api-key.ts";
import { notFound } from "../../../domain-error.ts";
import { environmentOf } from "../../edge/project-scope.ts";
import { Id, Text } from "../../edge/params.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { toApiKey } from "./wire.ts";

const tag = "API keys";
const path = "/projects/:project_id/environments/:environment_id/api-keys";
const EnvironmentParams = { project_id: Text(), environment_id: Text() };
const KeyParams = { ...EnvironmentParams, id: Id("key") };

export const apiKeyRoutes: RouteDefinition[] = [
  listRoute({
    in: ["api"],
    path,
    name: "listApiKeys",
    summary: "List an environment's API keys",
    description: "Newest first, without revoked keys. `last_used_at` is accurate to the minute.",
    tag,
    access: { kind: "project", permission: "api_keys.read" },
    params: EnvironmentParams,
    items: "api_keys",
    title: "API keys",
    resource: ApiKey,
    query: PageQuery,
    read: ({ server, scope }, { after, limit }) => listApiKeys(server.db, environmentOf(scope), after, limit),
    toWire: (row) => toApiKey(row),
  }),
  route({
    in: ["api"],
    method: "POST",
    path,
    name: "createApiKey",
    summary: "Create an API key",
    description:
      "Creates a key with the given permissions, or with all permissions of a developer in the environment. Only this response shows the key; the " +
      "server stores its digest.",
    tag,
    access: { kind: "project", permission: "api_keys.write" },
    params: EnvironmentParams,
    body: CreateApiKey,
    responses: { 201: { description: "The API key, with its text.", schema: CreatedApiKey } },
    examples: { request: { name: "CI", permissions: ["deployments.create"], expires_in: "90d" } },
    transaction: "required",
    audit: { action: "api_keys.create", resource: "api_key" },
    handle: async ({ tx, server: { newUuid, makeCredential, clock }, scope, body, audit }) => {
      const context = { newUuid, makeCredential, now: clock() };
      const { key, text } = await createApiKey(tx, scope, environmentOf(scope), body, context);
      audit({ id: encodeId("key", key.id), details: { name: key.name, permissions: key.permissions } });
      return { status: 201, body: { ...toApiKey(key), api_key: text } };
    },
  }),
  route({
    in: ["api"],
    method: "GET",
    path: `${path}/:id`,
    name: "getApiKey",
    summary: "Get an API key",
    description:
      "Also shows revoked and expired tokens. The text of a token is shown only when it is created.",
    tag,
    access: { kind: "project", permission: "api_keys.read" },
    params: KeyParams,
    responses: { 200: { description: "The API key.", schema: ApiKey } },
    handle: async ({ server, scope, params }) => {
      const key = await findApiKeyRow(server.db, environmentOf(scope), params.id);
      if (key === null) throw notFound();
      return { status: 200, body: toApiKey(key) };
    },
  }),
  route({
    in: ["api"],
    method: "DELETE",
    path: `${path}/:id`,
    name: "revokeApiKey",
    summary: "Revoke an API key",
    description:
      "This server refuses the key from the next request on, other servers within 100 ms. Revoking again changes nothing.",
    tag,
    access: { kind: "project", permission: "api_keys.write" },
    params: KeyParams,
    responses: { 204: { description: "The key is revoked." } },
    transaction: "required",
    audit: { action: "api_keys.revoke", resource: "api_key" },
    handle: async ({ tx, server, scope, params, audit, onCommit }) => {
      const revoked = await revokeApiKey(tx, scope, environmentOf(scope), params.id, server.clock());
      audit(revoked ? { id: encodeId("key", params.id) } : null);
      onCommit(() => server.credentialCache.forget({ kind: "api_key", id: params.id }));
      return { status: 204, body: undefined };
    },
  }),
];
