import {
  decodeId,
  encodeId,
  HEADERS,
  type AppendRecords,
  type CreatedPublicAccessToken,
  type CreatePublicAccessToken,
} from "@keelson/contract";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../core/idempotency/with-idempotency.ts";
import {
  createPublicAccess,
  derivePublicAccessToken,
  publicAccessLifeMs,
} from "../core/public-access/create-public-access.ts";
import { decideUse, directionOf, type PublicAccess } from "../core/public-access/public-access.ts";
import { hasUseLeft } from "../core/public-access/public-access-reads.ts";
import { countUse, spent, usePublicAccess } from "../core/public-access/use-public-access.ts";
import { prepareRecords } from "../core/streams/prepare-records.ts";
import { findStreams } from "../core/streams/stream-reads.ts";
import { DomainError } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { sessionIdOf, type SessionAddress } from "./session-answers.ts";
import {
  answerAppend,
  answerRecordRead,
  answerRepeatedAppend,
  type ReadQuery,
  type StreamTarget,
} from "./stream-answers.ts";
import { toTimestamp } from "./wire/time.ts";

/** What the routes of public access tokens answer: their creation, and their use by browsers. */

export async function answerCreate(
  server: ServerContext,
  scope: EnvironmentScope,
  body: CreatePublicAccessToken,
  request: RequestFacts,
): Promise<Reply> {
  const { environmentId } = scope;
  const { session, stream, type, correlation_id: correlationId } = body.scope;
  const now = server.clock();
  const creation = {
    id: server.newUuid(),
    environmentId,
    permission: type,
    stream,
    correlationId: correlationId ?? null,
    maxUses: body.max_uses ?? null,
    expiresAt: now + publicAccessLifeMs(body.expires_in),
    now,
  };
  const keyed = {
    environmentId,
    scope: "public_access_tokens.create",
    key: request.idempotencyKey,
    body,
    expiresAt: idempotencyExpiry(body.idempotency_key_ttl, now),
    now,
  };
  const address = session.type === "id" ? { id: session.id } : { externalId: session.external_id };
  const sessionId = await sessionIdOf(server, scope, address);
  const answer = await server.db.transaction((tx) =>
    withIdempotency(tx, keyed, async () => {
      await createPublicAccess(tx, server.newUuid, server.masterKey, { ...creation, sessionId });
      const shown: Omit<CreatedPublicAccessToken, "public_access_token"> = {
        id: encodeId("pat", creation.id),
        scope: body.scope,
        expires_at: toTimestamp(creation.expiresAt),
        max_uses: creation.maxUses,
        created_at: toTimestamp(now),
      };
      return { status: 201, body: JSON.stringify(shown) };
    }),
  );
  const shown = JSON.parse(answer.body) as Omit<CreatedPublicAccessToken, "public_access_token">;
  const id = decodeId("pat", shown.id);
  if (id === null) throw new Error("The stored answer of a creation names no public access token.");
  const { id: shownId, ...rest } = shown;
  return {
    status: answer.status,
    body: { id: shownId, public_access_token: derivePublicAccessToken(server.masterKey, id), ...rest },
    headers: {
      "cache-control": "no-store",
      ...(answer.replayed ? { [HEADERS.idempotencyReplayed]: "true" } : {}),
    },
  };
}

/**
 * The stream that a request names, if the token's scope covers the request.
 *
 * @throws DomainError `scope_mismatch`, whether or not what was named is there.
 */
async function coveredStream(
  server: ServerContext,
  access: PublicAccess,
  address: SessionAddress,
  name: string,
  correlationIds: readonly (string | null)[],
): Promise<StreamTarget> {
  const { environmentId, permission } = access;
  const sessionId = await sessionIdOf(server, access, address).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === "not_found") return null;
    throw error;
  });
  const [stream] =
    sessionId === null ? [] : await findStreams(server.db, [{ environmentId, sessionId, name }]);
  const decision = decideUse(access, { permission, stream: stream ?? null, correlationIds });
  if (decision.kind === "refuse") throw new DomainError("scope_mismatch", decision.message);
  return { environmentId, sessionId: access.sessionId, name, direction: directionOf(permission) };
}

/** Sends input with a public access token. */
export async function answerPublicAppend(
  server: ServerContext,
  access: PublicAccess,
  address: SessionAddress,
  name: string,
  body: AppendRecords,
  idempotencyKey: string | null,
): Promise<Reply> {
  const correlationIds = (body.records ?? [body]).map((record) => record.correlation_id ?? null);
  const target = await coveredStream(server, access, address, name, correlationIds);
  const source = {
    kind: "public_access_token",
    id: encodeId("pat", access.id),
    runId: null,
    attemptNumber: null,
  } as const;
  if (access.maxUses === null) return answerAppend(server, target, body, idempotencyKey, source);
  // What is wrong with the body is told before a use is counted.
  prepareRecords(body, server.newUuid);
  // Looked at first, so that a repeat of the use that was the last one is found below.
  const isLeft = await hasUseLeft(server.db, access);
  // A repeat of what was answered already is not another use, so that a lost answer costs a browser nothing.
  const repeated =
    idempotencyKey === null ? null : await answerRepeatedAppend(server, target, body, idempotencyKey, source);
  if (repeated !== null) return repeated;
  if (!isLeft) throw spent(access);
  // A use and its record are one transaction: a server that ends in between takes no use without a record.
  return answerAppend(server, target, body, idempotencyKey, source, (tx) => countUse(tx, access));
}

/** Reads output with a public access token: a page, or a stream of which the opening is the use. */
export async function answerPublicRead(
  server: ServerContext,
  access: PublicAccess,
  address: SessionAddress,
  name: string,
  query: ReadQuery,
  request: RequestFacts,
): Promise<Reply> {
  const wanted = query.correlation_id ?? access.correlationId;
  const target = await coveredStream(server, access, address, name, [wanted]);
  const narrowed = wanted === null ? query : { ...query, correlation_id: wanted };
  return usePublicAccess(server.db, access, () => answerRecordRead(server, target, narrowed, request));
}
