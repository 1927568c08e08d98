import { watchRun, type WatchedRun, type WatchRunOptions } from "../browser.ts";
import type { AnyTask } from "../task.ts";
import { BEGUN, liveStore, type LiveStatus, type LiveStore } from "./live-store.ts";

/** A run as a component shows it. */
export type LiveRun<T = unknown> = {
  /** The run as it is; null until the first answer. */
  run: WatchedRun<T> | null;
  /** `ended`: the run has ended. `failed`: `error` says why nothing more comes. */
  status: LiveStatus;
  /** Null unless `failed`. */
  error: unknown;
};

/** Nothing is known yet. */
export const NO_RUN: LiveRun<never> = { run: null, ...BEGUN };

export const runStore = <T extends AnyTask>(
  options: Omit<WatchRunOptions, "signal" | "onConnect" | "onReconnect">,
): LiveStore<LiveRun<T>> =>
  liveStore<LiveRun<T>>(NO_RUN, async (set, signal, is) => {
    const watched = watchRun<T>({
      ...options,
      ...{ signal, onConnect: is("live"), onReconnect: is("connecting") },
    });
    for await (const run of watched) set({ run });
  });
