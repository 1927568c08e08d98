import { HEADERS, type Uuid } from "@keelson/contract";
import { idempotencyExpiry } from "../../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../../core/idempotency/with-idempotency.ts";
import type { Tx } from "../../db/queryable.ts";
import type { ServerContext } from "../../server-context.ts";
import type { JsonReply, KeptReply, Reply, ReplyHeaders, RequestFacts } from "./route.ts";

/** The call of a route whose reply is kept. */
type KeyedCall = {
  server: ServerContext;
  scope: { environmentId: Uuid<"env"> };
  body: unknown;
  request: RequestFacts;
};

export type ReplyKey = {
  /** The operation and its target, such as `deployments.create`. */
  operation: string;
  /** What a repeat must have in common with the first request; the body when absent. */
  content?: unknown;
};

/** Runs an effect once a key, in a transaction that stores its reply as well; a repeat gets that reply. */
export async function keepReply(
  { server, scope: { environmentId }, body, request }: KeyedCall,
  { operation, content = body }: ReplyKey,
  effect: (tx: Tx) => Promise<Reply>,
): Promise<KeptReply> {
  const now = server.clock();
  const ttl = (body as { idempotency_key_ttl?: string }).idempotency_key_ttl;
  const keyed = {
    environmentId,
    scope: operation,
    key: request.idempotencyKey,
    body: content,
    expiresAt: idempotencyExpiry(ttl, now),
    now,
  };
  const { replayed, ...kept } = await server.db.transaction((tx) =>
    withIdempotency(tx, keyed, async () => toStored(await effect(tx))),
  );
  return { status: kept.status, json: kept.body, headers: replayedHeader(replayed), replayed };
}

/** Says that a reply is the one to an earlier request with the same key. */
export const replayedHeader = (replayed: boolean): ReplyHeaders =>
  replayed ? { [HEADERS.idempotencyReplayed]: "true" } : {};

function toStored(reply: Reply): { status: number; body: string } {
  if ("json" in reply) return { status: reply.status, body: reply.json };
  if ("body" in reply) return { status: reply.status, body: JSON.stringify(reply.body) };
  throw new Error("Only a reply in JSON can be kept.");
}

/** The fields of a kept reply that a route completes it with. */
export const fieldsOf = <Fields>({ json }: JsonReply): Fields => JSON.parse(json) as Fields;
