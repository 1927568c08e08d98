import {
  CompleteToken,
  CreatedToken,
  CreateToken,
  LIMITS,
  Page,
  pageQuery,
  Token,
  TOKEN_STATUSES,
  TokenCompletion,
} from "@keelson/contract";
import { Type } from "typebox";
import { toCompletionData } from "../core/tokens/complete-token.ts";
import { route, type Route } from "./route.ts";
import { operationIn, pathIn, type SharedFamily } from "./shared-route.ts";
import {
  answerCancel,
  answerComplete,
  answerCreate,
  answerItem,
  answerList,
  tokenIdOf,
} from "./token-answers.ts";
import {
  EXAMPLE_COMPLETION,
  EXAMPLE_CREATE_TOKEN,
  EXAMPLE_CREATED_TOKEN,
  EXAMPLE_TOKEN,
  exampleCompleted,
} from "./token-examples.ts";

/** Token routes, once for both families: on /api a user chooses the environment. */

const tag = "Tokens";
const TokenParams = Type.Object({ id: Type.String() });

const createRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "POST",
    path: pathIn(family, "/tokens"),
    operationId: operationIn(family, "createToken"),
    summary: "Create a completion token",
    description:
      "Something that happens once, elsewhere: a person's decision, a provider's answer. Only this answer has `public_access_token`, with " +
      "which a browser completes the token, and `callback_url`, which a provider posts to; a repeat with the same idempotency key has them too.",
    tag,
    access: { kind: "environment", permission: "tokens.create" },
    body: CreateToken,
    idempotency: "own",
    responses: { 201: { description: "The pending token with its secrets.", schema: CreatedToken } },
    examples: { request: EXAMPLE_CREATE_TOKEN, response: EXAMPLE_CREATED_TOKEN },
    handle: ({ server, scope, body, request }) => answerCreate(server, scope, body, request),
  });

const listRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/tokens"),
    operationId: operationIn(family, "listTokens"),
    summary: "List completion tokens",
    description: "Newest first.",
    tag,
    access: { kind: "environment", permission: "tokens.read" },
    query: Type.Object(
      {
        ...pageQuery(),
        status: Type.Optional(
          Type.Array(Type.Enum([...TOKEN_STATUSES]), {
            maxItems: TOKEN_STATUSES.length,
            description: "Repeatable.",
          }),
        ),
        run_id: Type.Optional(Type.String({ maxLength: 64, description: "Created by this run." })),
        tag: Type.Optional(
          Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.tagCharacters }), {
            maxItems: LIMITS.tags,
            description: "Repeatable; all must be there.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A page of tokens.", schema: Page("tokens", Token) } },
    examples: { response: { tokens: [EXAMPLE_TOKEN], next_cursor: null } },
    handle: ({ server, scope, query }) => answerList(server, scope, query),
  });

const itemRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/tokens/:id"),
    operationId: operationIn(family, "getToken"),
    summary: "Get a completion token",
    description: "Its `data` once it is completed; never its secrets.",
    tag,
    access: { kind: "environment", permission: "tokens.read" },
    params: TokenParams,
    responses: { 200: { description: "The token.", schema: Token } },
    examples: { response: EXAMPLE_TOKEN },
    handle: ({ server, scope, params }) => answerItem(server, scope, params),
  });

const completeRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "POST",
    path: pathIn(family, "/tokens/:id/complete"),
    operationId: operationIn(family, "completeToken"),
    summary: "Complete a token",
    description:
      "The first completion is stored for ever and answers `completed`. The same again, compared by the canonical form of RFC 8785, answers " +
      "`already_completed`; other data is 409 `token_completion_conflict` and changes nothing. A cancelled token is 409 `token_cancelled`, one " +
      "whose time has run out 409 `token_expired`. The body must be I-JSON (RFC 7493), `data` at most 512 KiB; without `data` it is null.",
    tag,
    access: { kind: "environment", permission: "tokens.complete" },
    params: TokenParams,
    body: CompleteToken,
    isIJson: true,
    responses: { 200: { description: "The token as it is completed.", schema: TokenCompletion } },
    examples: {
      request: EXAMPLE_COMPLETION,
      response: exampleCompleted({ kind: "api_key", id: "key_01kahvn0a3e7at5q9v2m8c6d4r" }),
    },
    handle: ({ server, scope, params, body }) =>
      answerComplete(
        server,
        scope.environmentId,
        tokenIdOf(params),
        toCompletionData(body.data ?? null),
        scope.caller,
      ),
  });

const cancelRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "POST",
    path: pathIn(family, "/tokens/:id/cancel"),
    operationId: operationIn(family, "cancelToken"),
    summary: "Cancel a token",
    description:
      "Nobody can complete it any more. Cancelling it again changes nothing; a completed or expired one is 409 `invalid_state`.",
    tag,
    access: { kind: "environment", permission: "tokens.cancel" },
    params: TokenParams,
    responses: { 200: { description: "The cancelled token.", schema: Token } },
    examples: { response: { ...EXAMPLE_TOKEN, status: "cancelled" } },
    handle: ({ server, scope, params }) => answerCancel(server, scope, params),
  });

export const tokenRoutesIn = (family: SharedFamily): Route[] =>
  [createRoute, listRoute, itemRoute, completeRoute, cancelRoute].map((make) => make(family));
