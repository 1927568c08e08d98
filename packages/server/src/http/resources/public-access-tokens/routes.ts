import {
  CreatedPublicAccessToken,
  CreatePublicAccessToken,
  decodeId,
  encodeId,
  type EnvironmentPermission,
  isFilePermission,
  DEFAULT_INPUT_STREAM,
  DEFAULT_OUTPUT_STREAM,
  PUBLIC_RUN_PERMISSION,
  type PublicAccessScope,
  type PublicRunPermission,
  type PublicScope,
  type StreamDirection,
  type Uuid,
} from "@keelson/contract";
import {
  createPublicAccess,
  type PublicAccessCreation,
  derivePublicAccessToken,
  publicAccessLifeMs,
} from "../../../core/public-access/create-public-access.ts";
import { directionOf } from "../../../core/public-access/public-access.ts";
import {
  readOrigin,
  storeOrigin,
  type Keyring,
  type StoredOrigin,
} from "../../../core/credentials/credential-origin.ts";
import { invalidRequest, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { forbidden } from "../../edge/check-caller.ts";
import { fieldsOf, keepReply } from "../../edge/keep-reply.ts";
import { toTimestamp } from "../../edge/time.ts";
import { sessionIdOf, type SessionAddress } from "../sessions/naming.ts";
import { UNAUDITED } from "../../edge/audit.ts";
import {
  route,
  type EnvironmentScope,
  type KeptReply,
  type Reply,
  type RouteDefinition,
} from "../../edge/route.ts";
import { EXAMPLE_SESSION } from "../sessions/examples.ts";

/** What a caller needs itself to give it to a browser: a token never gives more than its maker has. */
const GIVEN: Readonly<Record<PublicScope, readonly EnvironmentPermission[]>> = {
  "session.input.send": ["sessions.write"],
  "session.output.read": ["sessions.read"],
  "session.messages.read": ["sessions.read"],
  "session.interrupt": ["sessions.write"],
  "session.files.read": ["sessions.read"],
  "session.files.write": ["sessions.write"],
  "session.chat": ["sessions.read", "sessions.write"],
  "run.read": ["runs.read"],
};

/** @throws DomainError `invalid_request` for a scope that names its streams in another way than its type does. */
function streamsOf({ type, stream, inputs, outputs, correlation_id }: SessionScope): StreamOfScope[] {
  if (isFilePermission(type)) {
    const named = [stream, inputs, outputs, correlation_id].some((field) => field !== undefined);
    if (!named) return [];
    const message = `${type} is for all files of the session; send neither streams nor a correlation_id`;
    throw invalidRequest([{ path: "scope", message }]);
  }
  if (type !== "session.chat") {
    if (stream === undefined) throw invalidRequest([{ path: "scope.stream", message: "required" }]);
    if (inputs !== undefined || outputs !== undefined)
      throw invalidRequest([
        { path: "scope", message: "inputs and outputs are for session.chat; send stream" },
      ]);
    return [{ name: stream, direction: directionOf(type) }];
  }
  if (stream !== undefined)
    throw invalidRequest([
      { path: "scope.stream", message: "session.chat has several streams; send inputs and outputs" },
    ]);
  const of = (direction: StreamDirection, names: readonly string[]) =>
    names.map((name) => ({ name, direction }));
  return [
    ...of("input", inputs ?? [DEFAULT_INPUT_STREAM]),
    ...of("output", outputs ?? [DEFAULT_OUTPUT_STREAM]),
  ];
}

type SessionScope = Exclude<PublicAccessScope, { type: PublicRunPermission }>;
type StreamOfScope = { name: string; direction: StreamDirection };

type Shown = Omit<CreatedPublicAccessToken, "public_access_token">;
/** What is kept of a creation for its repeats. `cell`: the tag that the token carries, if it carries one. */
type Kept = Shown & StoredOrigin;

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

const addressOf = (session: SessionScope["session"]): SessionAddress =>
  session.type === "id" ? { id: session.id } : { externalId: session.external_id };

/**
 * What the token is to be for.
 *
 * @throws DomainError `invalid_request`, `not_found`
 */
async function targetOf(
  server: ServerContext,
  { environmentId }: EnvironmentScope,
  scope: PublicAccessScope,
): Promise<PublicAccessCreation["target"]> {
  if (scope.type === PUBLIC_RUN_PERMISSION) {
    const runId = decodeId("run", scope.run);
    if (runId === null) throw notFound();
    return { permission: scope.type, runId };
  }
  const streams = streamsOf(scope);
  const sessionId = await sessionIdOf(server.db, { environmentId }, addressOf(scope.session));
  return { permission: scope.type, sessionId, streams, correlationId: scope.correlation_id ?? null };
}

const toShown = (
  scope: PublicAccessScope,
  {
    id,
    expiresAt,
    maxUses,
    now,
  }: { id: Uuid<"pat">; expiresAt: number; maxUses: number | null; now: number },
): Shown => ({
  id: encodeId("pat", id),
  scope,
  expires_at: toTimestamp(expiresAt),
  max_uses: maxUses,
  created_at: toTimestamp(now),
});

/** The token follows from its id and origin, and is not stored with the reply. */
function withToken(keyring: Keyring, kept: KeptReply): Reply {
  const { id: shownId, cell, key, ...rest } = fieldsOf<Kept>(kept);
  const id = decodeId("pat", shownId);
  if (id === null) throw new Error("The stored answer of a creation names no public access token.");
  const token = derivePublicAccessToken(keyring, id, readOrigin({ cell, key }));
  const body: CreatedPublicAccessToken = { id: shownId, public_access_token: token, ...rest };
  return { status: kept.status, body, headers: kept.headers };
}

export const publicAccessTokenRoutes: RouteDefinition[] = [
  route({
    in: ["api"],
    method: "POST",
    path: "/public-access-tokens",
    name: "createPublicAccessToken",
    summary: "Create a public access token",
    description:
      "Gives a browser one permission on one stream: `session.input.send`, `session.output.read`, `session.messages.read` or " +
      "`session.interrupt`; or one on the files of a session: `session.files.read` or `session.files.write`; or `session.chat`, which is all " +
      "six in a conversation; or `run.read`, to watch one run. `correlation_id` restricts it to records with " +
      "that id, and to no files. The caller needs the same permissions: `sessions.write` to send, interrupt and upload, `sessions.read` to read, `runs.read` to watch a run. The session has an id, or an external id " +
      "(the open session with it, or else the newest); the token belongs to that session. The stream is created if it does not exist; a stream of " +
      "the other direction is 409 `stream_direction_mismatch`. Each request is one use, and each connection of an event stream is one. A refused " +
      "request is not a use, and neither is an append that is repeated with its idempotency key.",
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
    handle: async (call) => {
      const { server, scope, body } = call;
      // Before a repeat is answered as well: the reply holds the token.
      const lacked = GIVEN[body.scope.type].find((given) => !scope.permissions.has(given));
      if (lacked !== undefined) throw forbidden(lacked);
      const now = server.clock();
      const creation = {
        id: server.newUuid<"pat">(),
        origin: server.origin,
        environmentId: scope.environmentId,
        target: await targetOf(server, scope, body.scope),
        maxUses: body.max_uses ?? null,
        expiresAt: now + publicAccessLifeMs(body.expires_in),
        now,
      };
      const kept = await keepReply(call, { operation: "public_access_tokens.create" }, async (tx) => {
        await createPublicAccess(tx, server.newUuid, server.keyring, creation);
        const shown = toShown(body.scope, creation);
        const reply: Kept = { ...shown, ...storeOrigin(server.origin) };
        return { status: 201, body: reply };
      });
      return withToken(server.keyring, kept);
    },
  }),
];
