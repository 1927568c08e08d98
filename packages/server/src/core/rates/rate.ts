/**
 * How often somebody may call. Requests are counted in fixed windows that begin at the same moment on every server; a
 * window that is used up is open again when the next one begins. What is refused is not counted.
 */
export type RatePolicy = {
  /** Tells its counts from those of other policies. */
  name: "credential" | "address" | "failure" | "login" | "poll" | "mint" | LinkBudget;
  /** Of one window. */
  limit: number;
  windowMs: number;
};

/** Of links that are mailed to one person: see core/logins/link-budgets.ts. */
type LinkBudget = "link browser" | "link address" | "link person" | "late link";

/** What may be set; 0 is unlimited. */
export type RateSettings = {
  /** For each credential, a second. */
  credential: number;
  /** For each address, a second: requests without a valid credential. */
  address: number;
  /** For each address, a minute: credentials that are not valid. */
  failures: number;
  /** For each address, a minute: sign-ins. */
  logins: number;
};

/** Where a caller stands after a request. */
export type RateState = {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the window is over: at least 1. */
  resetSeconds: number;
};

export const windowEnd = ({ windowMs }: RatePolicy, now: number): number =>
  (Math.floor(now / windowMs) + 1) * windowMs;

export const rateState = (
  { limit }: RatePolicy,
  { allowed, used }: { allowed: boolean; used: number },
  leftMs: number,
): RateState => ({
  allowed,
  limit,
  remaining: Math.max(0, limit - used),
  resetSeconds: Math.max(1, Math.ceil(leftMs / 1_000)),
});
