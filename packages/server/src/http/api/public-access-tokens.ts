import { CreatedPublicAccessToken, CreatePublicAccessToken } from "@keelson/contract";
import { UNAUDITED } from "../audit.ts";
import { answerCreate } from "../public-access-answers.ts";
import { route, type Route } from "../route.ts";
import { EXAMPLE_SESSION } from "../session-examples.ts";

const EXAMPLE_REQUEST = {
  scope: {
    type: "session.output.read",
    session: { type: "external_id", external_id: "chat-4711" },
    stream: "output",
    correlation_id: "question-7",
  },
  expires_in: "30m",
  max_uses: 20,
} as const;

export const publicAccessTokenRoutes: Route[] = [
  route({
    family: "api",
    method: "POST",
    path: "/api/public-access-tokens",
    operationId: "createPublicAccessToken",
    summary: "Create a public access token",
    description:
      "Lets a browser do one thing to one stream: `session.input.send` or `session.output.read`, with `correlation_id` only on records that " +
      "carry it. The session is named by its id, or by its external id (the open one, else the newest); the token stays with that session. The " +
      "stream is made if it is not there; one of the other direction is 409 `stream_direction_mismatch`. Every request counts as a use, of an " +
      "event stream its opening, so reconnecting is another; one that is refused does not count, nor does an append that is repeated with its " +
      "idempotency key.",
    tag: "Public access tokens",
    access: { kind: "environment", permission: "public_access_tokens.create" },
    body: CreatePublicAccessToken,
    idempotency: "own",
    audit: UNAUDITED.visitors,
    responses: { 201: { description: "The token, shown only here.", schema: CreatedPublicAccessToken } },
    examples: {
      request: EXAMPLE_REQUEST,
      response: {
        id: "pat_01kahvq3s1fz4w8k6r0t2m5j9c",
        public_access_token: "kl_pub_0000000000000000000000000000000000000",
        scope: EXAMPLE_REQUEST.scope,
        expires_at: "2026-11-20T09:45:00.123Z",
        max_uses: EXAMPLE_REQUEST.max_uses,
        created_at: EXAMPLE_SESSION.created_at,
      },
    },
    handle: ({ server, scope, body, request }) => answerCreate(server, scope, body, request),
  }),
];
