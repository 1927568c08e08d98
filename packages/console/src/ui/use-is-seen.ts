import { useSyncExternalStore } from "react";

const subscribe = (listener: () => void): (() => void) => {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
};

/** Whether the page is in sight: what only matters to someone who looks can wait until then. */
export const useIsSeen = (): boolean =>
  useSyncExternalStore(subscribe, () => document.visibilityState === "visible");
