import type { RunEvent } from "@keelson/contract";

export type AttemptOutcome = "running" | "succeeded" | "continued" | "failed" | "lost" | "cancelled";

/** An attempt of a run, as its events tell. Times are milliseconds; `fromMs` is null when its code never began. */
export type Attempt = {
  number: number;
  fromMs: number | null;
  toMs: number | null;
  outcome: AttemptOutcome;
  /** Why it ended, where it did not succeed. */
  message: string | null;
  stack: string | null;
};

const ENDS: Partial<Record<RunEvent["kind"], AttemptOutcome>> = {
  "run.succeeded": "succeeded",
  "run.continued": "continued",
  "run.failed": "failed",
  "run.system_failed": "failed",
  "run.cancelled": "cancelled",
  "run.retry_delayed": "failed",
  "lease.lost": "lost",
};
const BEGINS: readonly RunEvent["kind"][] = ["run.started", "run.resumed"];

/** The attempts so far, the first first. A lease that is lost before the code begins costs none and is none. */
export function attemptsOf(events: readonly RunEvent[]): Attempt[] {
  const attempts = new Map<number, Attempt>();
  for (const event of events) {
    const { kind, attempt_number: number } = event;
    if (number === null) continue;
    const known = attempts.get(number);
    const atMs = Date.parse(event.at);
    if (BEGINS.includes(kind)) {
      // After a wait it is still the same attempt, also where its lease was lost meanwhile.
      const fromMs = known?.fromMs ?? atMs;
      attempts.set(number, { number, fromMs, toMs: null, outcome: "running", message: null, stack: null });
      continue;
    }
    const outcome = ENDS[kind];
    if (outcome === undefined || (known !== undefined && known.toMs !== null)) continue;
    if (known === undefined && (outcome === "lost" || outcome === "cancelled")) continue;
    const { stack } = event.attributes;
    attempts.set(number, {
      number,
      fromMs: known?.fromMs ?? null,
      toMs: atMs,
      outcome,
      message: outcome === "succeeded" || outcome === "continued" ? null : event.message,
      stack: typeof stack === "string" ? stack : null,
    });
  }
  return [...attempts.values()];
}
