import type { DecidedEvent, Decision, LiveRun } from "../runs/run.ts";

/** What infrastructure takes from a run: a worker that is lost, a process that is killed from outside, a failed download. */

/** Why a lease ended without an outcome: its worker was silent, was late to end the attempt, or gave the lease back itself. */
export type LeaseLoss = "not_renewed" | "overrun" | "worker";

/** Attempts beyond `max_attempts` that a run gets for those that infrastructure ended. */
const EXTRA_ATTEMPTS = 5;

/** How often in a row workers may take a run without beginning its code. With the delays below that is over an hour. */
export const MAX_SETBACKS = 20;

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 300_000;

/** Until a worker may try again: at once after the first time, then 1 s, 2 s, 4 s and so on up to 5 minutes. */
const setbackDelayMs = (setbacks: number): number =>
  setbacks <= 1 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (setbacks - 2));

const lostEvent = (message: string): DecidedEvent => ({ kind: "lease.lost", severity: "warn", message });

function systemFailed(lost: DecidedEvent, message: string): Decision {
  const failure = { kind: "lease_lost", message, stack: null, retryable: false } as const;
  return {
    kind: "end",
    ending: { status: "system_failed", failure, output: null },
    events: [lost, { kind: "run.system_failed", severity: "error", message }],
  };
}

/** The lease ended before the code began: that costs no attempt. The next try comes later each time. */
export function decideSetback(run: LiveRun, message: string): Decision {
  const setbacks = run.setbacks + 1;
  const delayMs = setbackDelayMs(setbacks);
  if (setbacks >= MAX_SETBACKS) {
    return systemFailed(
      lostEvent(message),
      `Workers took the run ${setbacks} times in a row and could not begin its code. The last time: ${message}`,
    );
  }
  if (delayMs === 0)
    return {
      kind: "move",
      to: "queued",
      setback: true,
      events: [lostEvent(message), { kind: "run.queued" }],
    };
  const later = `${message} The run is queued again in ${delayMs / 1000} s.`;
  return { kind: "move", to: "queued", setback: true, retryDelayMs: delayMs, events: [lostEvent(later)] };
}

/**
 * The attempt ended after its code had begun, and not by its code. It counts, but does not end the run while extra
 * attempts are left. `delayMs` is how long the next one waits; null when the loss itself took long enough.
 */
export function decideLostAttempt(
  run: LiveRun,
  maxAttempts: number,
  message: string,
  delayMs: number | null,
): Decision {
  const lost = lostEvent(message);
  if (run.attemptNumber >= maxAttempts + EXTRA_ATTEMPTS) {
    return systemFailed(
      lost,
      `${message} All attempts of the run are spent: max_attempts is ${maxAttempts}, and ${EXTRA_ATTEMPTS} more were given because infrastructure ended attempts.`,
    );
  }
  if (delayMs === null) return { kind: "move", to: "queued", events: [lost, { kind: "run.queued" }] };
  const attributes = { kind: "lease_lost", message, delay_ms: delayMs } as const;
  const delayed: DecidedEvent = { kind: "run.retry_delayed", severity: "warn", message, attributes };
  return { kind: "move", to: "retry_delayed", retryDelayMs: delayMs, events: [lost, delayed] };
}
