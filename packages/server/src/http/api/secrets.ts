import { Page, pageQuery, PutSecret, Secret } from "@keelson/contract";
import { Type } from "typebox";
import { route, type Route } from "../route.ts";
import {
  answerSecretByName,
  answerSecretDelete,
  answerSecretList,
  answerSecretPut,
} from "../secret-answers.ts";
import { EXAMPLE_PUT_SECRET, EXAMPLE_SECRET } from "../secret-examples.ts";

const common = { family: "api", tag: "Secrets" } as const;
const read = { kind: "environment", permission: "secrets.read" } as const;
const write = { kind: "environment", permission: "secrets.write" } as const;
const one = { params: Type.Object({ name: Type.String() }) } as const;

export const apiSecretRoutes: Route[] = [
  route({
    ...common,
    method: "GET",
    path: "/api/secrets",
    operationId: "apiListSecrets",
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
    ...one,
    method: "GET",
    path: "/api/secrets/:name",
    operationId: "apiGetSecret",
    summary: "Get a secret",
    description: "Its state and times; not its value.",
    access: read,
    responses: { 200: { description: "The secret.", schema: Secret } },
    examples: { response: EXAMPLE_SECRET },
    handle: ({ server, scope, params }) => answerSecretByName(server, scope, params.name),
  }),
  route({
    ...common,
    ...one,
    method: "PUT",
    path: "/api/secrets/:name",
    operationId: "apiPutSecret",
    summary: "Set a secret",
    description:
      "Creates the secret, or gives it a new version; a revoked one is revived. Attempts that have begun keep the version they were given.",
    access: write,
    body: PutSecret,
    responses: {
      200: { description: "The secret with its new version.", schema: Secret },
      201: { description: "The new secret.", schema: Secret },
    },
    examples: { request: EXAMPLE_PUT_SECRET, response: EXAMPLE_SECRET },
    audit: { action: "secrets.put", resource: "secret" },
    handle: ({ server, scope, params, body, audited }) =>
      answerSecretPut(server, scope, params.name, body.value, audited),
  }),
  route({
    ...common,
    ...one,
    method: "DELETE",
    path: "/api/secrets/:name",
    operationId: "apiDeleteSecret",
    summary: "Delete a secret",
    description: "With its values. Runs that need it fail when they are leased.",
    access: write,
    responses: { 204: { description: "The secret is gone." } },
    audit: { action: "secrets.delete", resource: "secret" },
    handle: ({ scope, params, audited }) => answerSecretDelete(scope, params.name, audited),
  }),
];
