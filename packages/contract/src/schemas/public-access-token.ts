import { Type, type Static } from "typebox";
import { LIMITS } from "../limits.ts";
import { PUBLIC_RUN_PERMISSION, PUBLIC_SESSION_PERMISSIONS } from "../public-access.ts";
import { DEFAULT_INPUT_STREAM, DEFAULT_OUTPUT_STREAM } from "../sessions.ts";
import { DurationText, Id, IdempotencyKey, Nullable, Timestamp } from "./primitives.ts";
import { ExternalId } from "./session.ts";
import { CorrelationId, StreamName } from "./stream.ts";

/** Which session, by its id or by the external id of the open one, else the newest. */
export const SessionReference = Type.Union([
  Type.Object(
    { type: Type.Literal("id"), id: Type.String({ maxLength: 64 }) },
    { additionalProperties: false },
  ),
  Type.Object(
    { type: Type.Literal("external_id"), external_id: ExternalId },
    { additionalProperties: false },
  ),
]);
export type SessionReference = Static<typeof SessionReference>;

const chatStreams = (fallback: string) =>
  Type.Optional(
    Type.Array(StreamName, {
      minItems: 1,
      maxItems: LIMITS.chatStreams,
      uniqueItems: true,
      description: `Of \`session.chat\`. Default \`${fallback}\` alone.`,
    }),
  );

/**
 * One permission on one stream, one on the files of a session, or all of them in a conversation, on request for one correlation id
 * alone.
 */
const PublicSessionScope = Type.Object(
  {
    type: Type.Enum([...PUBLIC_SESSION_PERMISSIONS, "session.chat"]),
    session: SessionReference,
    stream: Type.Optional({
      ...StreamName,
      description: "Required, except for `session.chat` and the files of a session.",
    }),
    inputs: chatStreams(DEFAULT_INPUT_STREAM),
    outputs: chatStreams(DEFAULT_OUTPUT_STREAM),
    correlation_id: Type.Optional({
      ...CorrelationId,
      description: "Not for files. A `session.chat` token for one correlation id has no access to files.",
    }),
  },
  { additionalProperties: false },
);

/** To watch one run. */
const PublicRunScope = Type.Object(
  {
    type: Type.Literal(PUBLIC_RUN_PERMISSION),
    run: Type.String({ maxLength: 64, description: "The id of the run." }),
  },
  { additionalProperties: false },
);

/** What a public access token may do. */
export const PublicAccessScope = Type.Union([PublicSessionScope, PublicRunScope], {
  $id: "PublicAccessScope",
});
export type PublicAccessScope = Static<typeof PublicAccessScope>;

export const CreatePublicAccessToken = Type.Object(
  {
    scope: PublicAccessScope,
    expires_in: Type.Optional(Type.String({ ...DurationText, description: "15m by default, at most 24h." })),
    max_uses: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    idempotency_key: Type.Optional(IdempotencyKey),
    idempotency_key_ttl: Type.Optional(DurationText),
  },
  { additionalProperties: false, $id: "CreatePublicAccessToken" },
);
export type CreatePublicAccessToken = Static<typeof CreatePublicAccessToken>;

export const CreatedPublicAccessToken = Type.Object(
  {
    id: Id("pat"),
    public_access_token: Type.String({ description: "Shown only here." }),
    scope: PublicAccessScope,
    expires_at: Timestamp,
    max_uses: Nullable(Type.Integer()),
    created_at: Timestamp,
  },
  { $id: "CreatedPublicAccessToken" },
);
export type CreatedPublicAccessToken = Static<typeof CreatedPublicAccessToken>;
