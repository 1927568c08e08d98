/** Calls `act` once when the signal is aborted, not before the turn is over, and no more when `over` has settled. */
export function whenAborted(signal: AbortSignal | undefined, act: () => void, over: Promise<unknown>): void {
  if (signal === undefined) return;
  if (signal.aborted) return queueMicrotask(act);
  signal.addEventListener("abort", act, { once: true });
  const forget = (): void => signal.removeEventListener("abort", act);
  over.then(forget, forget);
}
