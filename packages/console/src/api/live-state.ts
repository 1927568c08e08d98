import { useSyncExternalStore } from "react";

/**
 * How well the page hears from the server: the worst of all its streams and of its last requests. Shown in the shell at
 * all times, so that nobody takes an old picture for the present.
 */
export type LiveState = "live" | "connecting" | "reconnecting";

const sources = new Map<symbol, LiveState>();
const listeners = new Set<() => void>();
let worst: LiveState = "live";

function recompute(): void {
  const states = new Set(sources.values());
  const next = states.has("reconnecting") ? "reconnecting" : states.has("connecting") ? "connecting" : "live";
  if (next === worst) return;
  worst = next;
  for (const listener of listeners) listener();
}

/** A stream, or the polling of a page, as one source. `forget` when it has ended. */
export function createLiveSource(): { set: (state: LiveState) => void; forget: () => void } {
  const key = Symbol("source");
  return {
    set: (state) => {
      sources.set(key, state);
      recompute();
    },
    forget: () => {
      sources.delete(key);
      recompute();
    },
  };
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export const useLiveState = (): LiveState => useSyncExternalStore(subscribe, () => worst);
