import { toMilliseconds, type DurationInput } from "../duration-input.ts";
import { TimeoutError } from "./errors.ts";
import { followStream } from "./follow-stream.ts";
import { withQuery, type Transport } from "./transport.ts";

/** Options of waiting for a process. */
export type ProcessWaitOptions = {
  /** Reject with a TimeoutError after this time; the process continues. Default: never. */
  timeout?: DurationInput;
  /** Ends the call, or the wait; it rejects with the signal's reason. */
  signal?: AbortSignal;
};

/** After any byte that a process will write: a reader from here is only told of the end. */
const PAST_THE_END = "999999999999999";

/** Resolves when the process has ended, however it ended. `outputPath` is one of its outputs. */
export async function untilProcessEnded(
  transport: Transport,
  outputPath: string,
  { timeout, signal }: ProcessWaitOptions,
): Promise<void> {
  const timeoutMs = timeout === undefined ? undefined : toMilliseconds(timeout, "timeout");
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener("abort", onAbort, { once: true });
  const giveUp = (): void => {
    const message = `The process has not ended within ${timeoutMs} ms; it continues`;
    controller.abort(new TimeoutError({ code: "timeout", message }));
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
  try {
    const options = { cursor: PAST_THE_END, signal: controller.signal };
    for await (const event of followStream(transport, withQuery(outputPath, { follow: 1 }), options))
      if (event.event === "end") return;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
