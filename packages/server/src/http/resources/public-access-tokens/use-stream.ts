import {
  coversPermission,
  decodeId,
  encodeId,
  LIMITS,
  type PublicStreamPermission,
  type SendRecords,
  type Uuid,
} from "@keelson/contract";
import { decideUse, directionOf, type StreamAccess } from "../../../core/public-access/public-access.ts";
import { hasUseLeft } from "../../../core/public-access/public-access-reads.ts";
import { countUse, spent, usePublicAccess } from "../../../core/public-access/use-public-access.ts";
import { prepareRecords } from "../../../core/streams/prepare-records.ts";
import { interruptMessage, type InterruptOutcome } from "../../../core/streams/interrupt-message.ts";
import type { OpenMessage } from "../../../core/streams/message.ts";
import { findMessage, type MessageFilter } from "../../../core/streams/message-reads.ts";
import { findStreams } from "../../../core/streams/stream-reads.ts";
import type { Queryable, Tx } from "../../../db/queryable.ts";
import { DomainError } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { Reply, RequestFacts } from "../../edge/route.ts";
import { sessionIdOf, type SessionAddress } from "../sessions/naming.ts";
import { appendRecords, repeatedAppend } from "../streams/append-records.ts";
import { readRecordsReply, type ReadQuery } from "../streams/read-stream.ts";
import { checkStreamNames, type StreamTarget, type StreamTargets } from "../streams/stream-target.ts";

/** What browsers do with public access tokens: each token does one thing to one stream. */

/**
 * The stream that a request names, if the token's scope covers the request.
 *
 * @throws DomainError `scope_mismatch`, whether or not what was named is there.
 */
async function coveredStream(
  server: ServerContext,
  access: StreamAccess,
  permission: PublicStreamPermission,
  address: SessionAddress,
  name: string,
  correlationIds: readonly (string | null)[],
): Promise<StreamTarget> {
  const { environmentId } = access;
  const sessionId = await namedSession(server.db, access, address);
  const [stream] =
    sessionId === null ? [] : await findStreams(server.db, [{ environmentId, sessionId, name }]);
  const decision = decideUse(access, { permission, stream: stream ?? null, correlationIds });
  if (decision.kind === "refuse") throw new DomainError("scope_mismatch", decision.message);
  return { environmentId, sessionId: access.sessionId, name, direction: directionOf(permission) };
}

/** Null when there is no such session. */
export const namedSession = (
  db: Queryable,
  access: StreamAccess,
  address: SessionAddress,
): Promise<Uuid<"sess"> | null> =>
  sessionIdOf(db, access, address).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === "not_found") return null;
    throw error;
  });

/** Sends input with a public access token. */
export async function appendPublicly(
  server: ServerContext,
  access: StreamAccess,
  address: SessionAddress,
  name: string,
  body: SendRecords,
  idempotencyKey: string | null,
): Promise<Reply> {
  const correlationIds = (body.records ?? [body]).map((record) => record.correlation_id ?? null);
  const target = await coveredStream(server, access, "session.input.send", address, name, correlationIds);
  const source = {
    kind: "public_access_token",
    id: encodeId("pat", access.id),
    runId: null,
    attemptNumber: null,
    messageId: null,
  } as const;
  if (body.while_busy === "interrupt" && !coversPermission(access.permission, "session.interrupt"))
    throw new DomainError(
      "scope_mismatch",
      "This public access token interrupts nothing: send without while_busy.",
    );
  const mayInterrupt = (message: OpenMessage): boolean => isCovered(access, message);
  if (access.maxUses === null)
    return appendRecords(server, target, body, idempotencyKey, source, { mayInterrupt });
  // What is wrong with the body is told before a use is counted.
  prepareRecords(body, server.newUuid);
  // Looked at first, so that a repeat of the use that was the last one is found below.
  const isLeft = await hasUseLeft(server.db, access);
  // A repeat of what was answered already is not another use, so that a lost answer costs a browser nothing.
  const repeated =
    idempotencyKey === null ? null : await repeatedAppend(server, target, body, idempotencyKey, source);
  if (repeated !== null) return repeated;
  if (!isLeft) throw spent(access);
  // A use and its record are one transaction: a server that ends in between takes no use without a record.
  const first = (tx: Tx): Promise<void> => countUse(tx, access);
  return appendRecords(server, target, body, idempotencyKey, source, { first, mayInterrupt });
}

/** Whether the token is for the message's stream and exchange. */
const isCovered = (
  { streamIds, correlationId }: StreamAccess,
  message: { streamId: Uuid<"strm">; correlationId: string | null },
): boolean =>
  streamIds.includes(message.streamId) && (correlationId === null || correlationId === message.correlationId);

/** Reads output with a public access token: a page, or streams of which the opening is the use. */
export async function readPublicly(
  server: ServerContext,
  access: StreamAccess,
  address: SessionAddress,
  stream: string,
  query: ReadQuery,
  request: RequestFacts,
): Promise<Reply> {
  const wanted = query.correlation_id ?? access.correlationId;
  const targets: StreamTarget[] = [];
  for (const name of stream.split(",").slice(0, LIMITS.followedStreams))
    targets.push(await coveredStream(server, access, "session.output.read", address, name, [wanted]));
  // After the scope, which says nothing of what is there.
  checkStreamNames(stream);
  const narrowed = wanted === null ? query : { ...query, correlation_id: wanted };
  return usePublicAccess(server.db, access, () =>
    readRecordsReply(server, targets as unknown as StreamTargets, narrowed, request),
  );
}

/**
 * Which messages a page reads with a public access token: those of the stream that it names, or of all of the token's. A page is a
 * use.
 *
 * @throws DomainError `scope_mismatch`, whether or not what was named is there.
 */
export async function messagesPublicly(
  server: ServerContext,
  access: StreamAccess,
  address: SessionAddress,
  stream: string | undefined,
): Promise<MessageFilter> {
  const { correlationId } = access;
  if (stream !== undefined)
    await coveredStream(server, access, "session.messages.read", address, stream, [correlationId]);
  else if ((await namedSession(server.db, access, address)) !== access.sessionId) throw otherScope();
  return { stream: stream ?? null, streamIds: access.streamIds, correlationId, isOpen: false };
}

const otherScope = (): DomainError =>
  new DomainError("scope_mismatch", "This public access token is for another session or message.");

/** Interrupts a message with a public access token, in one transaction with the use. */
export async function interruptPublicly(
  tx: Tx,
  server: ServerContext,
  access: StreamAccess,
  address: SessionAddress,
  messageId: string,
): Promise<InterruptOutcome> {
  const id = decodeId("msg", messageId);
  const { environmentId, sessionId } = access;
  const isOfSession = (await namedSession(tx, access, address)) === sessionId;
  const message =
    id === null || !isOfSession ? null : await findMessage(tx, { environmentId, sessionId, id });
  if (id === null || message === null || !isCovered(access, message)) throw otherScope();
  await countUse(tx, access);
  return interruptMessage(
    tx,
    { newUuid: server.newUuid, now: server.clock() },
    { environmentId, sessionId, id },
  );
}
