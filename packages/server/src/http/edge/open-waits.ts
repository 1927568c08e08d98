import type { ServerResponse } from "node:http";
import { DomainError } from "../../domain-error.ts";

/** Begins to look whether the caller may still wait; the returned function ends that. */
export type WatchCaller = (refuse: (refusal: DomainError) => void) => () => void;

/**
 * Requests that may wait long: their signal says that the caller hung up, that the server is about to stop, or that the
 * caller may not wait any longer. In the last case the signal's reason is what a new request would be refused with.
 */
export type OpenWaits = {
  /** A signal of its own for the request that is answered by `response`. */
  signalOf(response: ServerResponse, watch?: WatchCaller): AbortSignal;
  /** Ends all waits, and those that come later at once. */
  abortAll(): void;
};

/** One for all: to make such an error takes longer than all else of a wait that nobody makes. */
const OVER = new DOMException("Nobody waits any longer.", "AbortError");

export function createOpenWaits(): OpenWaits {
  const open = new Set<AbortController>();
  let stopped = false;
  return {
    signalOf: (response, watch) => {
      const controller = new AbortController();
      if (stopped || response.destroyed || response.closed) {
        controller.abort(OVER);
        return controller.signal;
      }
      open.add(controller);
      const leave = watch?.((refusal) => controller.abort(refusal));
      response.once("close", () => {
        leave?.();
        open.delete(controller);
        controller.abort(OVER);
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

/** What ended a wait whose caller may not wait any longer; null when something else did, or nothing. */
export const refusalOf = (signal: AbortSignal): DomainError | null =>
  signal.reason instanceof DomainError ? signal.reason : null;
