import { useSyncExternalStore, type ReactNode } from "react";
import { describeAge, describeCountdown, describeDuration, describeLeft } from "./describe-time.ts";

const TICK_MS = 1000;
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all that is shown: it ticks while something is. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    // It stood still while nothing showed it.
    nowMs = Date.now();
    timer = setInterval(() => {
      nowMs = Date.now();
      for (const one of listeners) one();
    }, TICK_MS);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The present, to the second, in milliseconds. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => nowMs);

const ABSOLUTE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

/** The whole date and time where the viewer is. */
export const absoluteTime = (at: string): string => ABSOLUTE.format(new Date(at));

/** How long ago, or how far off; the date and time on hover. `isPast`: it has happened, whatever this machine's clock says. */
export function Time({ at, isPast = false }: { at: string | null; isPast?: boolean }): ReactNode {
  const now = useNow();
  if (at === null) return <span className="text-quiet">–</span>;
  const offsetMs = Date.parse(at) - now;
  return (
    <time dateTime={at} title={absoluteTime(at)} className="whitespace-nowrap">
      {describeAge(isPast ? Math.min(-1, offsetMs) : offsetMs)}
    </time>
  );
}

/** From `from` to `to`, or until now and counting. */
export function Duration({ from, to }: { from: string | null; to: string | null }): ReactNode {
  const now = useNow();
  if (from === null) return <span className="text-quiet">–</span>;
  const ms = (to === null ? now : Date.parse(to)) - Date.parse(from);
  return (
    <span className="whitespace-nowrap tabular-nums" title={`since ${absoluteTime(from)}`}>
      {describeDuration(Math.max(0, ms))}
    </span>
  );
}

/**
 * Counts down to a time: "`before` in 0:12", then `due`. Who listens hears it when few marks are passed, and not each
 * second; nothing in it moves.
 */
export function CountDown({ at, before, due }: { at: string; before: string; due: string }): ReactNode {
  const leftMs = Date.parse(at) - useNow();
  return (
    <span title={absoluteTime(at)} data-countdown>
      <span aria-hidden className="tabular-nums">
        {leftMs <= 0 ? due : `${before} in ${describeCountdown(leftMs)}`}
      </span>
      <span role="status" className="sr-only">
        {leftMs <= 0 ? due : `${before} ${describeLeft(leftMs)}, at ${absoluteTime(at)}`}
      </span>
    </span>
  );
}
