import { CompleteToken, LIMITS, TokenCompletion } from "@keelson/contract";
import { Type } from "typebox";
import { findCallbackToken } from "../../core/tokens/find-callback-token.ts";
import { toCompletionData } from "../../core/tokens/complete-token.ts";
import { notFound } from "../../domain-error.ts";
import { ANY_MEDIA_TYPE } from "../any-body.ts";
import { UNAUDITED } from "../audit.ts";
import { callbackData } from "../callback-data.ts";
import { ANY_ORIGIN } from "../cors.ts";
import { route, type Route } from "../route.ts";
import { answerComplete, tokenIdOf } from "../token-answers.ts";
import { EXAMPLE_COMPLETION, exampleCompleted } from "../token-examples.ts";

/** Completion by those who have no credential of the environment: a browser and a provider, each with one secret. */

const tag = "Tokens";

const browserRoute = route({
  family: "api-public",
  method: "POST",
  path: "/api/v1/tokens/:id/complete",
  operationId: "publicCompleteToken",
  summary: "Complete a token from a browser",
  description:
    "As the completion by a server, with the token's own `public_access_token`. Pages of any origin may call it.",
  tag,
  access: { kind: "completion_token" },
  cors: ANY_ORIGIN,
  params: Type.Object({ id: Type.String() }),
  body: CompleteToken,
  isIJson: true,
  responses: { 200: { description: "The token as it is completed.", schema: TokenCompletion } },
  examples: { request: EXAMPLE_COMPLETION, response: exampleCompleted({ kind: "public", id: null }) },
  handle: ({ server, scope, params, body }) => {
    // Another token's id tells no more than none.
    if (tokenIdOf(params) !== scope.tokenId) throw notFound();
    const data = toCompletionData(body.data ?? null);
    return answerComplete(server, scope.environmentId, scope.tokenId, data, { kind: "public", id: null });
  },
});

const callbackRoute = route({
  family: "api-public",
  method: "POST",
  path: "/api/v1/tokens/:id/callback/:secret",
  operationId: "callbackCompleteToken",
  summary: "Complete a token by a provider's callback",
  description:
    "The `callback_url` of the token's creation. Takes any body: JSON is the data as it is, the fields of a form are an object, other text is " +
    "`{content_type, text}`, anything else `{content_type, base64}`, no body null. A provider that sends the same again is answered 200 " +
    "`already_completed`. A wrong id and a wrong secret are one answer. Not for browsers: no CORS header is ever sent.",
  tag,
  access: { kind: "public" },
  params: Type.Object({ id: Type.String(), secret: Type.String() }),
  rawBody: { bodyLimitBytes: LIMITS.bodyBytes, mediaType: ANY_MEDIA_TYPE },
  audit: UNAUDITED.callback,
  responses: { 200: { description: "The token as it is completed.", schema: TokenCompletion } },
  examples: { response: exampleCompleted({ kind: "callback", id: null }) },
  handle: async ({ server, params, body, request }) => {
    const token = await findCallbackToken(server.db, params.id, params.secret);
    if (token === null) throw notFound();
    // Base64 makes a body that is allowed longer than data otherwise may be.
    const data = toCompletionData(await callbackData(body, request.contentType), LIMITS.bodyBytes * 2);
    return answerComplete(server, token.environmentId, token.tokenId, data, { kind: "callback", id: null });
  },
});

export const publicTokenRoutes: Route[] = [browserRoute, callbackRoute];
