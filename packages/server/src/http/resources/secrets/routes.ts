import { createHmac } from "node:crypto";
import {
  CreateSecret,
  encodeId,
  PageQuery,
  PutSecret,
  Secret,
  SECRET_NAME_PATTERN,
  type Uuid,
} from "@keelson/contract";
import {
  findSecret,
  findSecretByName,
  listSecrets,
  type SecretRow,
} from "../../../core/secrets/secret-reads.ts";
import {
  createSecret,
  deleteSecret,
  putSecret,
  revokeSecret,
  rotateSecret,
} from "../../../core/secrets/write-secret.ts";
import { invalidRequest, notFound } from "../../../domain-error.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id, Text } from "../../edge/params.ts";
import { route, type ChangeCall, type Reply, type RouteDefinition } from "../../edge/route.ts";
import { EXAMPLE_CREATE_SECRET, EXAMPLE_PUT_SECRET, EXAMPLE_SECRET } from "./examples.ts";
import { toSecret } from "./wire.ts";

/** Secrets: /api knows them by name, /v1 by id. No reply has a value. */

const tag = "Secrets";
const read = { tag, access: { kind: "environment", permission: "secrets.read" } } as const;
const write = {
  tag,
  access: { kind: "environment", permission: "secrets.write" },
  transaction: "required",
} as const;
const byId = { in: ["v1"], params: { id: Id("sec") } } as const;
const byName = { in: ["api"], params: { name: Text() } } as const;
const item = {
  responses: { 200: { description: "The secret.", schema: Secret } },
  examples: { response: EXAMPLE_SECRET },
} as const;

const NAME = new RegExp(SECRET_NAME_PATTERN);

function secretReply(row: SecretRow | null, status = 200): Reply {
  if (row === null) throw notFound();
  return { status, body: toSecret(row) };
}

/** @throws DomainError `invalid_request` */
function requireName(name: string): void {
  const message = "must be letters, digits and _, a digit not first; up to 128 characters";
  if (!NAME.test(name)) throw invalidRequest([{ path: "name", message }]);
}

/** @throws DomainError `not_found` unless the environment has a secret of that name. */
async function requireSecretId({ tx, scope }: ChangeCall, name: string): Promise<Uuid<"sec">> {
  const row = await findSecretByName(tx, scope.environmentId, name);
  if (row === null) throw notFound();
  return row.id;
}

async function rotate(
  { tx, server, scope: { environmentId }, audit }: ChangeCall,
  secretId: Uuid<"sec">,
  value: string,
): Promise<Reply> {
  await rotateSecret(tx, server, environmentId, secretId, value, server.clock());
  audit({ id: encodeId("sec", secretId) });
  return secretReply(await findSecret(tx, environmentId, secretId));
}

async function revoke(
  { tx, server, scope: { environmentId }, audit }: ChangeCall,
  secretId: Uuid<"sec">,
): Promise<Reply> {
  const revoked = await revokeSecret(tx, environmentId, secretId, server.clock());
  audit(revoked ? { id: encodeId("sec", secretId) } : null);
  return secretReply(await findSecret(tx, environmentId, secretId));
}

const rotation = {
  ...write,
  method: "POST",
  summary: "Rotate a secret",
  description:
    "Adds a version. Attempts that start later use it, and running attempts keep theirs. A revoked secret is 409 `invalid_state`.",
  body: PutSecret,
  responses: { 200: { description: "The secret with its new version.", schema: Secret } },
  examples: { request: EXAMPLE_PUT_SECRET, response: EXAMPLE_SECRET },
  audit: { action: "secrets.rotate", resource: "secret" },
} as const;

const revocation = {
  ...write,
  method: "POST",
  summary: "Revoke a secret",
  description:
    "Destroys all values. Runs that need the secret fail when they are leased. Repeating the call changes nothing. A PUT under the name makes the secret active again.",
  responses: { 200: { description: "The revoked secret.", schema: Secret } },
  examples: {
    response: { ...EXAMPLE_SECRET, status: "revoked", revoked_at: "2026-11-20T10:00:00.000Z" },
  },
  audit: { action: "secrets.revoke", resource: "secret" },
} as const;

const list = listRoute({
  ...read,
  in: ["v1", "api"],
  path: "/secrets",
  name: "listSecrets",
  summary: "List secrets",
  description: "Newest first. Values are never returned.",
  items: "secrets",
  resource: Secret,
  example: EXAMPLE_SECRET,
  query: PageQuery,
  read: ({ server, scope }, { after, limit }) => listSecrets(server.db, scope.environmentId, after, limit),
  toWire: (row) => toSecret(row),
});

const routesById: RouteDefinition[] = [
  route({
    ...write,
    in: ["v1"],
    method: "POST",
    path: "/secrets",
    name: "createSecret",
    summary: "Create a secret",
    description:
      "Tasks that declare the name get the value. A name in use, also by a revoked secret, is 409 `already_exists`.",
    body: CreateSecret,
    idempotency: {
      stored: "secrets.create",
      // A digest of the value itself would let whoever has the database try values.
      content: ({ server, body: { name, value } }) => ({
        name,
        value: createHmac("sha256", server.masterKey).update(value).digest("base64"),
      }),
    },
    responses: { 201: { description: "The secret, without its value.", schema: Secret } },
    examples: {
      request: EXAMPLE_CREATE_SECRET,
      response: { ...EXAMPLE_SECRET, version: 1, rotated_at: null },
    },
    audit: { action: "secrets.create", resource: "secret" },
    handle: async ({ tx, server, scope: { environmentId, projectId }, body: { name, value }, audit }) => {
      const secret = { environmentId, projectId, name, value };
      const id = await createSecret(tx, server, secret, server.clock());
      audit({ id: encodeId("sec", id), details: { name } });
      return secretReply(await findSecret(tx, environmentId, id), 201);
    },
  }),
  route({
    ...read,
    ...byId,
    ...item,
    method: "GET",
    path: "/secrets/:id",
    name: "getSecret",
    summary: "Get a secret",
    description: "Shows the name, state and times of the secret, not its value.",
    handle: async ({ server, scope, params }) =>
      secretReply(await findSecret(server.db, scope.environmentId, params.id)),
  }),
  route({
    ...rotation,
    ...byId,
    path: "/secrets/:id/rotate",
    name: "rotateSecret",
    handle: (call) => rotate(call, call.params.id, call.body.value),
  }),
  route({
    ...revocation,
    ...byId,
    path: "/secrets/:id/revoke",
    name: "revokeSecret",
    handle: (call) => revoke(call, call.params.id),
  }),
];

const routesByName: RouteDefinition[] = [
  route({
    ...read,
    ...byName,
    ...item,
    method: "GET",
    path: "/secrets/:name",
    name: "apiGetSecret",
    summary: "Get a secret",
    description: "Shows the state and times of the secret, not its value.",
    handle: async ({ server, scope, params }) =>
      secretReply(await findSecretByName(server.db, scope.environmentId, params.name)),
  }),
  route({
    ...write,
    ...byName,
    method: "PUT",
    path: "/secrets/:name",
    name: "apiPutSecret",
    summary: "Set a secret",
    description:
      "Creates the secret or adds a version. A revoked secret becomes active again. Running attempts keep their version.",
    body: PutSecret,
    responses: {
      200: { description: "The secret with its new version.", schema: Secret },
      201: { description: "The new secret.", schema: Secret },
    },
    examples: { request: EXAMPLE_PUT_SECRET, response: EXAMPLE_SECRET },
    audit: { action: "secrets.put", resource: "secret" },
    handle: async ({ tx, server, scope: { environmentId, projectId }, params: { name }, body, audit }) => {
      requireName(name);
      const secret = { environmentId, projectId, name, value: body.value };
      const { secretId, created } = await putSecret(tx, server, secret, server.clock());
      audit({ id: encodeId("sec", secretId), details: { name, created } });
      // Read under the row's lock: a later writer's version is not this reply's.
      return secretReply(await findSecret(tx, environmentId, secretId), created ? 201 : 200);
    },
  }),
  route({
    ...rotation,
    ...byName,
    path: "/secrets/:name/rotate",
    name: "apiRotateSecret",
    handle: async (call) => rotate(call, await requireSecretId(call, call.params.name), call.body.value),
  }),
  route({
    ...revocation,
    ...byName,
    path: "/secrets/:name/revoke",
    name: "apiRevokeSecret",
    handle: async (call) => revoke(call, await requireSecretId(call, call.params.name)),
  }),
  route({
    ...write,
    ...byName,
    method: "DELETE",
    path: "/secrets/:name",
    name: "apiDeleteSecret",
    summary: "Delete a secret",
    description: "Deletes the secret with all values. Runs that need it fail when they are leased.",
    responses: { 204: { description: "The secret is gone." } },
    audit: { action: "secrets.delete", resource: "secret" },
    handle: async ({ tx, scope, params: { name }, audit }) => {
      const secretId = await deleteSecret(tx, scope.environmentId, name);
      audit({ id: encodeId("sec", secretId), details: { name } });
      return { status: 204, body: undefined };
    },
  }),
];

export const secretRoutes: RouteDefinition[] = [list, ...routesById, ...routesByName];
