import { CompleteToken, LIMITS, TokenCompletion } from "@keelson/contract";
import { findCallbackToken } from "../../../core/tokens/find-callback-token.ts";
import { toCompletionData } from "../../../core/tokens/complete-tokens.ts";
import { notFound } from "../../../domain-error.ts";
import { ANY_MEDIA_TYPE } from "../../edge/any-body.ts";
import { UNAUDITED } from "../../edge/audit.ts";
import { callbackData } from "./callback-data.ts";
import { ANY_ORIGIN } from "../../edge/cors.ts";
import { Id, Text } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { completionReply } from "./wire.ts";
import { EXAMPLE_COMPLETION, exampleCompleted } from "./examples.ts";

/** Completion by those who have no credential of the environment: a browser and a provider, each with one secret. */

const tag = "Tokens";

const browserRoute = route({
  in: ["api-public"],
  method: "POST",
  path: "/tokens/:id/complete",
  name: "publicCompleteToken",
  summary: "Complete a token from a browser",
  description:
    "Completes the token with its own `public_access_token`. Pages of any origin may call this route.",
  tag,
  access: { kind: "completion_token" },
  cors: ANY_ORIGIN,
  params: { id: Id("tok") },
  body: CompleteToken,
  responses: { 200: { description: "The token as it is completed.", schema: TokenCompletion } },
  examples: { request: EXAMPLE_COMPLETION, response: exampleCompleted({ kind: "public", id: null }) },
  handle: async ({ server, scope: { environmentId, tokenId }, params, body }) => {
    // Another token's id tells no more than none.
    if (params.id !== tokenId) throw notFound();
    const data = toCompletionData(body.data ?? null);
    const by = { kind: "public", id: null } as const;
    return completionReply(await server.tokenCompleter.complete({ environmentId, tokenId, data, by }));
  },
});

const callbackRoute = route({
  in: ["api-public"],
  method: "POST",
  path: "/tokens/:id/callback/:secret",
  name: "callbackCompleteToken",
  summary: "Complete a token by a provider's callback",
  description:
    "The `callback_url` of the token's creation. Takes any body: JSON is the data as it is, the fields of a form are an object, other text is " +
    "`{content_type, text}`, anything else `{content_type, base64}`, no body null. A provider that sends the same again is answered 200 " +
    "`already_completed`. A wrong id and a wrong secret are one answer. Not for browsers: no CORS header is ever sent.",
  tag,
  access: { kind: "public" },
  params: { id: Text(), secret: Text() },
  rawBody: { bodyLimitBytes: LIMITS.bodyBytes, mediaType: ANY_MEDIA_TYPE },
  audit: UNAUDITED.callback,
  responses: { 200: { description: "The token as it is completed.", schema: TokenCompletion } },
  examples: { response: exampleCompleted({ kind: "callback", id: null }) },
  handle: async ({ server, params, body, request }) => {
    const token = await findCallbackToken(server.db, params.id, params.secret);
    if (token === null) throw notFound();
    // Base64 makes a body that is allowed longer than data otherwise may be.
    const data = toCompletionData(await callbackData(body, request.contentType), LIMITS.bodyBytes * 2);
    const by = { kind: "callback", id: null } as const;
    return completionReply(await server.tokenCompleter.complete({ ...token, data, by }));
  },
});

export const publicTokenRoutes: RouteDefinition[] = [browserRoute, callbackRoute];
