import { interruption } from "./exit-codes.ts";

/** A group, npm and our own starter may all pass one signal on: what comes so soon after the first is the same request. */
const SAME_REQUEST_MS = 1_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

export type Requests = {
  /** Aborted when the process is asked to end: by a signal, or by the end of whoever started it over a channel. */
  signal: AbortSignal;
  /** From now on only a person's second Ctrl-C ends the process before its parts have ended in order. */
  endInOrder(): void;
  isInOrder(): boolean;
};

export type HearingOptions = {
  source: Pick<NodeJS.Process, "on">;
  /** Whether somebody may be typing. */
  isAtTerminal: () => boolean;
  monotonic: () => number;
  /** Ends the process without waiting. */
  leave: () => void;
};

/** Hears what asks this process to end. The first request aborts; a second one does not ask. */
export function hearSignals({ source, isAtTerminal, monotonic, leave }: HearingOptions): Requests {
  const controller = new AbortController();
  let isInOrder = false;
  let firstAt = 0;
  const onSignal = (name: (typeof SIGNALS)[number]): void => {
    if (!controller.signal.aborted) {
      firstAt = monotonic();
      controller.abort(interruption(name));
      return;
    }
    if (monotonic() - firstAt < SAME_REQUEST_MS) return;
    if (!isInOrder || (name === "SIGINT" && isAtTerminal())) leave();
  };
  for (const name of SIGNALS) source.on(name, () => onSignal(name));
  source.on("disconnect", () => {
    if (!controller.signal.aborted) onSignal("SIGTERM");
  });
  return {
    signal: controller.signal,
    endInOrder: () => {
      isInOrder = true;
    },
    isInOrder: () => isInOrder,
  };
}
