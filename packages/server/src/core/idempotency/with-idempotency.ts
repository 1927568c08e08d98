import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { canonicalDigest } from "./canonical-json.ts";
import { findStoredAnswer } from "./idempotency-reads.ts";
import { reserveKey, storeAnswer } from "./idempotency-writes.ts";

export type KeyedRequest = {
  environmentId: Uuid<"env">;
  /** The operation and its target, such as `deployments.create`. */
  scope: string;
  /** Null when the request has none: the effect simply happens. */
  key: string | null;
  /** The request's body. The key's own fields do not count: the key may as well have come as a header. */
  body: unknown;
  expiresAt: number;
  now: number;
};

/** `body` is JSON text. */
export type Answer = { status: number; body: string };

/** A key can expire and be deleted between the two looks at it; a third time in a row is not chance. */
const MAX_ATTEMPTS = 3;

/**
 * Runs the effect once a key and stores its answer in the same transaction; a repeat gets that answer.
 *
 * @throws DomainError `idempotency_conflict` when the key was used with another body.
 */
export async function withIdempotency(
  tx: Tx,
  request: KeyedRequest,
  effect: () => Promise<Answer>,
): Promise<Answer & { replayed: boolean }> {
  const { environmentId, scope, key, expiresAt, now } = request;
  if (key === null) return { ...(await effect()), replayed: false };
  const requestDigest = canonicalDigest(contentOf(request.body));
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    if (await reserveKey(tx, { environmentId, scope, key, requestDigest, expiresAt, now })) {
      const answer = await effect();
      await storeAnswer(tx, environmentId, scope, key, answer);
      return { ...answer, replayed: false };
    }
    const stored = await findStoredAnswer(tx, environmentId, scope, key);
    if (stored === null) continue;
    if (!stored.requestDigest.equals(requestDigest)) {
      throw new DomainError(
        "idempotency_conflict",
        "The idempotency key was used with another body. Send the same body, or a new key.",
        { idempotency_key: key },
      );
    }
    if (stored.body === null)
      throw new Error(`The answer of ${scope} is stored as a resource, not as a body.`);
    return { status: stored.status, body: stored.body, replayed: true };
  }
  throw new Error("An idempotency key could neither be taken nor found.");
}

function contentOf(body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body ?? null;
  const { idempotency_key: _key, idempotency_key_ttl: _ttl, ...content } = body as Record<string, unknown>;
  return content;
}
