import { readOrigin, type StoredOrigin } from "../../../core/credentials/credential-origin.ts";
import {
  CompleteToken,
  CreatedToken,
  CreateToken,
  decodeId,
  encodeId,
  ListTokens,
  Token,
  TokenCompletion,
} from "@keelson/contract";
import { cancelToken } from "../../../core/tokens/cancel-token.ts";
import { toCompletionData } from "../../../core/tokens/complete-tokens.ts";
import { createTokens, toNewToken } from "../../../core/tokens/create-tokens.ts";
import { findToken, listTokens } from "../../../core/tokens/token-reads.ts";
import { callbackUrl, deriveTokenSecrets } from "../../../core/tokens/token-secrets.ts";
import type { Tx } from "../../../db/queryable.ts";
import { notFound } from "../../../domain-error.ts";
import { filterId } from "../../edge/filter-id.ts";
import { fieldsOf } from "../../edge/keep-reply.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import {
  EXAMPLE_COMPLETION,
  EXAMPLE_CREATE_TOKEN,
  EXAMPLE_CREATED_TOKEN,
  EXAMPLE_TOKEN,
  exampleCompleted,
} from "./examples.ts";
import {
  cancelReply,
  completionReply,
  createdTokenJson,
  keptTokenJson,
  tokenJson,
  withoutOrigin,
} from "./wire.ts";

/** Token routes: on /api a user chooses the environment. Who has no credential of it completes by `public-routes.ts`. */

const common = { in: ["v1", "api"], tag: "Tokens" } as const;
const one = { params: { id: Id("tok") } } as const;

export const tokenRoutes: RouteDefinition[] = [
  route({
    ...common,
    method: "POST",
    path: "/tokens",
    name: "createToken",
    summary: "Create a completion token",
    description:
      "Something that happens once, elsewhere: a person's decision, a provider's answer. Only this answer has `public_access_token`, with " +
      "which a browser completes the token, and `callback_url`, which a provider posts to; a repeat with the same idempotency key has them too.",
    access: { kind: "environment", permission: "tokens.create" },
    body: CreateToken,
    transaction: "required",
    idempotency: { stored: "tokens.create" },
    responses: { 201: { description: "The pending token with its secrets.", schema: CreatedToken } },
    examples: { request: EXAMPLE_CREATE_TOKEN, response: EXAMPLE_CREATED_TOKEN },
    handle: async ({ tx, server, scope: { environmentId, projectId }, body }) => {
      const owner = { environmentId, projectId, id: server.newUuid<"tok">(), runId: null };
      const [token] = await createTokens(tx, server, [toNewToken(owner, body, server.clock())]);
      if (token === undefined) throw new Error("A token was not created.");
      return { status: 201, json: keptTokenJson(token, server.origin) };
    },
    // What is stored under the key has no secret; those follow from the id and origin, now and when the creation is repeated.
    afterCommit: async ({ server }, kept) => {
      const { id: shownId, ...fields } = fieldsOf<{ id: string } & StoredOrigin>(kept);
      const origin = readOrigin(fields);
      const id = decodeId("tok", shownId);
      if (id === null) throw new Error("The stored answer of a creation names no token.");
      const { publicAccessToken, callbackSecret } = deriveTokenSecrets(server.keyring, id, origin);
      const secrets = {
        publicAccessToken,
        callbackUrl: callbackUrl(server.publicUrl(), id, callbackSecret),
      };
      return { ...kept, json: createdTokenJson(withoutOrigin(kept.json, origin), secrets) };
    },
  }),
  listRoute({
    ...common,
    path: "/tokens",
    name: "listTokens",
    summary: "List completion tokens",
    description:
      "Newest first, or longest waiting first with `order=oldest`. The credentials that complete a token are not included. A token must match all filters.",
    access: { kind: "environment", permission: "tokens.read" },
    items: "tokens",
    resource: Token,
    example: EXAMPLE_TOKEN,
    query: ListTokens,
    defaults: { order: "newest" },
    filter: ({ status, run_id, tag, order }) => ({
      statuses: [...new Set(status)],
      runId: filterId("run_id", "run", run_id),
      tags: tag ?? [],
      isOldestFirst: order === "oldest",
    }),
    read: ({ server, scope }, { filter, after, limit }) =>
      listTokens(server.db, scope.environmentId, filter, after, limit),
    toJson: tokenJson,
  }),
  route({
    ...common,
    ...one,
    method: "GET",
    path: "/tokens/:id",
    name: "getToken",
    summary: "Get a completion token",
    description: "Shows `data` once the token is completed, and never its secrets.",
    access: { kind: "environment", permission: "tokens.read" },
    responses: { 200: { description: "The token.", schema: Token } },
    examples: { response: EXAMPLE_TOKEN },
    handle: async ({ server, scope, params }) => {
      const token = await findToken(server.db, scope.environmentId, params.id);
      if (token === null) throw notFound();
      return { status: 200, json: tokenJson(token) };
    },
  }),
  route({
    ...common,
    ...one,
    method: "POST",
    path: "/tokens/:id/complete",
    name: "completeToken",
    summary: "Complete a token",
    description:
      "The first completion is stored forever and answers `completed`. The same again, compared by the canonical form of RFC 8785, answers " +
      "`already_completed`; other data is 409 `token_completion_conflict` and changes nothing. A cancelled token is 409 `token_cancelled`, one " +
      "whose time has run out 409 `token_expired`. The body must be I-JSON (RFC 7493), `data` at most 512 KiB; without `data` it is null.",
    access: { kind: "environment", permission: "tokens.complete" },
    body: CompleteToken,
    responses: { 200: { description: "The token as it is completed.", schema: TokenCompletion } },
    examples: {
      request: EXAMPLE_COMPLETION,
      response: exampleCompleted({ kind: "api_key", id: "key_01kahvn0a3e8wrk4q2m6v1c9tx" }),
    },
    audit: { action: "tokens.complete", resource: "token", by: "people", written: "in the operation" },
    handle: async ({ server, scope, params, body, auditIn }) => {
      const data = toCompletionData(body.data ?? null);
      const completion = { environmentId: scope.environmentId, tokenId: params.id, data, by: scope.caller };
      const event = { id: encodeId("tok", params.id) };
      const record = auditIn === null ? {} : { record: (tx: Tx) => auditIn(tx, event) };
      return completionReply(await server.tokenCompleter.complete({ ...completion, ...record }));
    },
  }),
  route({
    ...common,
    ...one,
    method: "POST",
    path: "/tokens/:id/cancel",
    name: "cancelToken",
    summary: "Cancel a token",
    description:
      "Nobody can complete a cancelled token. Cancelling again changes nothing. A completed or expired token is 409 `invalid_state`.",
    access: { kind: "environment", permission: "tokens.cancel" },
    transaction: "required",
    responses: { 200: { description: "The cancelled token.", schema: Token } },
    examples: { response: { ...EXAMPLE_TOKEN, status: "cancelled" } },
    audit: { action: "tokens.cancel", resource: "token", by: "people" },
    handle: async ({ tx, server, scope: { environmentId }, params, audit }) => {
      const outcome = await cancelToken(tx, { environmentId, tokenId: params.id, now: server.clock() });
      audit(outcome.status === "cancelled" ? { id: encodeId("tok", params.id) } : null);
      return cancelReply(outcome);
    },
  }),
];
