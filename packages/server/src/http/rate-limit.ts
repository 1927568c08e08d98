import type { Clock } from "../clock.ts";
import type { Principal } from "../core/credentials/principal.ts";
import { DomainError } from "../domain-error.ts";

/** Counts a request; throws DomainError `rate_limited` when its caller has had as many in this second as it may. */
export type RateLimit = (principal: Principal | null, address: string) => void;

const WINDOW_MS = 1_000;

/**
 * Limits requests a second for each credential, and for each address without a valid one, on this server. Workers are
 * not limited: their polls and reports are paced by what there is to do.
 *
 * @returns null when nothing is limited.
 */
export function createRateLimit(perSecond: number, clock: Clock): RateLimit | null {
  if (perSecond === 0) return null;
  let window = 0;
  let counts = new Map<string, number>();
  return (principal, address) => {
    if (principal?.kind === "worker") return;
    const now = Math.floor(clock() / WINDOW_MS);
    if (now !== window) {
      window = now;
      counts = new Map();
    }
    const caller = principal === null ? `address ${address}` : `${principal.kind} ${principal.id}`;
    const count = (counts.get(caller) ?? 0) + 1;
    counts.set(caller, count);
    if (count <= perSecond) return;
    throw new DomainError(
      "rate_limited",
      `At most ${perSecond} requests a second are taken; send fewer, or wait a second.`,
      {
        limit: perSecond,
      },
    );
  };
}
