import { useSyncExternalStore, type ReactNode } from "react";
import { describeAge, describeDuration } from "./describe-time.ts";

const TICK_MS = 1000;
const listeners = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all that is shown: it ticks while something is. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const one of listeners) one();
  }, TICK_MS);
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

/** How long ago, or how far off; the date and time on hover. */
export function Time({ at }: { at: string | null }): ReactNode {
  const now = useNow();
  if (at === null) return <span className="text-quiet">–</span>;
  return (
    <time dateTime={at} title={absoluteTime(at)} className="whitespace-nowrap">
      {describeAge(Date.parse(at) - now)}
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
