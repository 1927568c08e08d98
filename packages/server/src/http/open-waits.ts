import type { ServerResponse } from "node:http";

/** Requests that may wait long: their signal says that the caller hung up or that the server is about to stop. */
export type OpenWaits = {
  /** A signal of its own for the request that is answered by `response`. */
  signalOf(response: ServerResponse): AbortSignal;
  /** Ends all waits, and those that come later at once. */
  abortAll(): void;
};

export function createOpenWaits(): OpenWaits {
  const open = new Set<AbortController>();
  let stopped = false;
  return {
    signalOf: (response) => {
      const controller = new AbortController();
      if (stopped || response.destroyed || response.closed) {
        controller.abort();
        return controller.signal;
      }
      open.add(controller);
      response.once("close", () => {
        open.delete(controller);
        controller.abort();
      });
      return controller.signal;
    },
    abortAll: () => {
      stopped = true;
      for (const controller of open) controller.abort();
      open.clear();
    },
  };
}
