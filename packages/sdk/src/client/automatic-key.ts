import type { DurationInput } from "../duration-input.ts";
import type { ClientConfig } from "./config.ts";
import { randomKey } from "./random.ts";

/** How a creation is made safe to repeat. */
export type KeyOptions = {
  idempotencyKey?: string;
  idempotencyKeyTtl?: DurationInput;
};

const SHORTEST_TTL_MS = 10 * 60_000;
const LONGEST_TTL_MS = 24 * 60 * 60_000;
const LONGEST_PAUSE_MS = 10_000;

/**
 * The server has to remember a key for as long as the client repeats the request, and a key is a row: no longer than
 * that.
 */
function ttlMs({ maxRetries, timeoutMs }: Pick<ClientConfig, "maxRetries" | "timeoutMs">): number {
  const retriesMs = 2 * (maxRetries + 1) * (timeoutMs + LONGEST_PAUSE_MS);
  return Math.round(Math.min(LONGEST_TTL_MS, Math.max(SHORTEST_TTL_MS, retriesMs)));
}

/** The options with an idempotency key: the caller's, or one for this call alone. */
export function withKey<O extends KeyOptions>(
  options: O,
  config: Pick<ClientConfig, "maxRetries" | "timeoutMs">,
): O & { idempotencyKey: string } {
  const { idempotencyKey } = options;
  if (idempotencyKey !== undefined) return { ...options, idempotencyKey };
  return { ...options, idempotencyKey: randomKey(), idempotencyKeyTtl: ttlMs(config) };
}
