// What happened to an environment's runs minute by minute, from samples of how many were ever created and ended.
// A sample is taken when a minute begins and says what had happened before it, so a minute's runs are the difference of
// two. Without a sample nothing had happened since the one before. Edges of minutes are as exact as samples are punctual:
// a run may count for the minute next to its own, and none is lost or counted twice.

export const ENDINGS = ["succeeded", "failed", "cancelled", "expired", "system_failed"] as const;

export type RunTotals = { created: number } & Record<(typeof ENDINGS)[number], number>;

/** `at` in milliseconds; the totals are those of all time. */
export type RunCountSample = RunTotals & { at: number };

export const MINUTE_MS = 60_000;

export const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS;

const NOTHING: RunTotals = {
  created: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  system_failed: 0,
};

const FIELDS = ["created", ...ENDINGS] as const;

/** A server of an older version takes what it drops off the same counts; that is not shown as less than nothing. */
const difference = (later: RunTotals, earlier: RunTotals): RunTotals =>
  Object.fromEntries(FIELDS.map((field) => [field, Math.max(0, later[field] - earlier[field])])) as RunTotals;

/**
 * The newest `count` minutes up to `now`, oldest first.
 *
 * @param samples in order of time: the newest from before the first minute, if there is one, and all since
 * @param totals as they are now
 */
export function activityMinutes(
  samples: readonly RunCountSample[],
  totals: RunTotals,
  now: number,
  count: number,
): RunCountSample[] {
  const last = minuteOf(now);
  const minutes: RunCountSample[] = [];
  let next = 0;
  let before = NOTHING;
  for (let at = last - (count - 1) * MINUTE_MS; at <= last; at += MINUTE_MS) {
    const totalsAt = (time: number): RunTotals => {
      let known = before;
      for (let sample = samples[next]; sample !== undefined && sample.at <= time; sample = samples[next]) {
        known = sample;
        next += 1;
      }
      return known;
    };
    before = totalsAt(at);
    const after = at === last ? totals : totalsAt(at + MINUTE_MS);
    minutes.push({ at, ...difference(after, before) });
    before = after;
  }
  return minutes;
}
