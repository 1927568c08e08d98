import { parseDuration } from "@keelson/contract";
import { invalidRequest } from "../../domain-error.ts";

export const DEFAULT_KEY_LIFE_MS: number = 24 * 3_600_000;
const MAXIMUM_MS = 30 * 24 * 3_600_000;

/**
 * When the key of a request made now is forgotten: after `idempotency_key_ttl`, else after 24 h.
 *
 * @throws DomainError `invalid_request` when it would be kept for no time or for more than 30 days.
 */
export function idempotencyExpiry(ttl: string | undefined, now: number): number {
  if (ttl === undefined) return now + DEFAULT_KEY_LIFE_MS;
  const ms = parseDuration(ttl);
  if (ms === null || ms === 0 || ms > MAXIMUM_MS) {
    throw invalidRequest([{ path: "idempotency_key_ttl", message: "must be a duration from 1ms to 30d" }]);
  }
  return now + ms;
}
