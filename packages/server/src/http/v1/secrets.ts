import { CreateSecret, Page, pageQuery, PutSecret, Secret } from "@keelson/contract";
import { Type } from "typebox";
import { route, type Route } from "../route.ts";
import {
  answerSecretCreate,
  answerSecretItem,
  answerSecretList,
  answerSecretRevoke,
  answerSecretRotate,
  secretIdOf,
} from "../secret-answers.ts";
import { EXAMPLE_CREATE_SECRET, EXAMPLE_PUT_SECRET, EXAMPLE_SECRET } from "../secret-examples.ts";

const common = { family: "v1", tag: "Secrets" } as const;
const read = { kind: "environment", permission: "secrets.read" } as const;
const write = { kind: "environment", permission: "secrets.write" } as const;
const one = { params: Type.Object({ id: Type.String() }) } as const;

export const secretRoutes: Route[] = [
  route({
    ...common,
    method: "GET",
    path: "/v1/secrets",
    operationId: "listSecrets",
    summary: "List secrets",
    description: "Newest first. Values are never given back.",
    access: read,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of secrets.", schema: Page("secrets", Secret) } },
    examples: { response: { secrets: [EXAMPLE_SECRET], next_cursor: null } },
    handle: ({ server, scope, query }) => answerSecretList(server, scope, query),
  }),
  route({
    ...common,
    method: "POST",
    path: "/v1/secrets",
    operationId: "createSecret",
    summary: "Create a secret",
    description:
      "Tasks that declare the name are given the value. A name that is taken, also by a revoked secret, is 409 `already_exists`.",
    access: write,
    body: CreateSecret,
    idempotency: "own",
    responses: { 201: { description: "The secret, without its value.", schema: Secret } },
    examples: {
      request: EXAMPLE_CREATE_SECRET,
      response: { ...EXAMPLE_SECRET, version: 1, rotated_at: null },
    },
    audit: { action: "secrets.create", resource: "secret" },
    handle: ({ server, scope, body, request, audited }) =>
      answerSecretCreate(server, scope, body, request, audited),
  }),
  route({
    ...common,
    ...one,
    method: "GET",
    path: "/v1/secrets/:id",
    operationId: "getSecret",
    summary: "Get a secret",
    description: "Its name, state and times; not its value.",
    access: read,
    responses: { 200: { description: "The secret.", schema: Secret } },
    examples: { response: EXAMPLE_SECRET },
    handle: ({ server, scope, params }) => answerSecretItem(server, scope, secretIdOf(params)),
  }),
  route({
    ...common,
    ...one,
    method: "POST",
    path: "/v1/secrets/:id/rotate",
    operationId: "rotateSecret",
    summary: "Rotate a secret",
    description:
      "A new version for attempts that begin from now on; one that has begun keeps its own. A revoked secret is 409 `invalid_state`.",
    access: write,
    body: PutSecret,
    responses: { 200: { description: "The secret with its new version.", schema: Secret } },
    examples: { request: EXAMPLE_PUT_SECRET, response: EXAMPLE_SECRET },
    audit: { action: "secrets.rotate", resource: "secret" },
    handle: ({ server, scope, params, body, audited }) =>
      answerSecretRotate(server, scope, secretIdOf(params), body.value, audited),
  }),
  route({
    ...common,
    ...one,
    method: "POST",
    path: "/v1/secrets/:id/revoke",
    operationId: "revokeSecret",
    summary: "Revoke a secret",
    description:
      "Destroys every value; runs that need it fail when they are leased. Repeating it changes nothing. A PUT under the name revives it.",
    access: write,
    responses: { 200: { description: "The revoked secret.", schema: Secret } },
    examples: {
      response: { ...EXAMPLE_SECRET, status: "revoked", revoked_at: "2026-11-20T10:00:00.000Z" },
    },
    audit: { action: "secrets.revoke", resource: "secret" },
    handle: ({ server, scope, params, audited }) =>
      answerSecretRevoke(server, scope, secretIdOf(params), audited),
  }),
];
