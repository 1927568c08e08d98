import { useMemo, useSyncExternalStore } from "react";
import type { WatchRunOptions } from "../browser.ts";
import type { AnyTask } from "../task.ts";
import type { LiveStore } from "./live-store.ts";
import { NO_RUN, runStore, type LiveRun } from "./run-store.ts";
import { useStable } from "./use-stable.ts";

export type { LiveRun } from "./run-store.ts";

/** Which run `useRun()` shows. */
export type RunTarget = Pick<WatchRunOptions, "url" | "run" | "token" | "fetch">;

const NO_STORE: LiveStore<LiveRun<never>> = { subscribe: () => () => undefined, read: () => NO_RUN };

/**
 * A run, live: its status, metadata, output and failure, as `watchRun()` of `@keelson/sdk/browser` gives them. `null` shows no run, for
 * example before it is started. `useRun<typeof report>()` has the type of the task's output.
 *
 * @example
 * ```ts
 * import { useRun } from "@keelson/sdk/react";
 *
 * export function Progress({ url, run, token }: { url: string; run: string; token: string }) {
 *   const { run: report, error } = useRun({ url, run, token });
 *   if (error !== null) return "Its progress cannot be shown.";
 *   return report === null ? "…" : `${report.status} ${report.metadata["progress"] ?? ""}`;
 * }
 * ```
 */
export function useRun<T extends AnyTask = AnyTask>(target: RunTarget | null): LiveRun<T> {
  const { url = null, run = null, token = null, fetch } = target ?? {};
  const ask = useStable((need: { renew: boolean }) => (typeof token === "function" ? token(need) : ""));
  const given = typeof token === "function" ? ask : token;
  const store = useMemo<LiveStore<LiveRun<T>>>(
    () =>
      url === null || run === null || given === null
        ? NO_STORE
        : runStore<T>({ url, run, token: given, ...(fetch !== undefined && { fetch }) }),
    [url, run, given, fetch],
  );
  return useSyncExternalStore(store.subscribe, store.read, store.read);
}
