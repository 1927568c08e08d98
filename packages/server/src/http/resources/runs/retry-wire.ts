import { formatDuration } from "@keelson/contract";
import type { ResolvedRetry } from "../../../core/runs/retry-policy.ts";

export type WireRetry = { maxAttempts: number; json: string };

const CACHE_SIZE = 1_000;
const cache = new Map<string, WireRetry>();

/** A retry policy as stored, in the words of the wire. Policies are few, and each is in very many runs. */
export function wireRetry(stored: string): WireRetry {
  const known = cache.get(stored);
  if (known !== undefined) return known;
  const { maxAttempts, initialDelayMs, maxDelayMs, factor, jitter } = JSON.parse(stored) as ResolvedRetry;
  const json = JSON.stringify({
    max_attempts: maxAttempts,
    initial_delay: formatDuration(initialDelayMs),
    max_delay: formatDuration(maxDelayMs),
    factor,
    jitter,
  });
  if (cache.size >= CACHE_SIZE) cache.clear();
  const wire = { maxAttempts, json };
  cache.set(stored, wire);
  return wire;
}
