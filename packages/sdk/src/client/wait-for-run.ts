import { toMilliseconds, type DurationInput } from "../duration-input.ts";
import type { Run } from "./resources.ts";
import { isTerminalRunStatus } from "@keelson/contract/plain";
import { sleep } from "./clock.ts";
import { AuthenticationError, ApiError, NotFoundError, PermissionError, TimeoutError } from "./errors.ts";
import { followStream } from "./follow-stream.ts";
import type { Transport } from "./transport.ts";
import { KeelsonError } from "../keelson-error.ts";
import { runShape } from "./wire-shapes.ts";

/** Options of `runs.wait()`. */
export type WaitOptions = {
  /**
   * Reject with a TimeoutError after this time; the run continues. Default: never. A server that was reached once is asked
   * until it answers again; one that never was is given up after about a minute.
   */
  timeout?: DurationInput;
  /** Ends the call, or the wait; it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Reject with a RunFailedError when the run ends otherwise than succeeded. Default false. */
  throwOnFailure?: boolean;
};

/** The run of a `wait` with `throwOnFailure` ended otherwise than succeeded. */
export class RunFailedError extends KeelsonError {
  override readonly name: string = "RunFailedError";
  /** The run as it ended. */
  readonly run: Run;

  constructor(run: Run) {
    super(`Run ${run.id} ${run.status}${run.failure === null ? "" : `: ${run.failure.message}`}`);
    this.run = run;
  }
}

const FIRST_POLL_MS = 250;
const LAST_POLL_MS = 5_000;
/** Connections in a row that brought nothing before streams are given up for asking. */
const STREAM_TRIES = 3;
/**
 * Questions in a row without an answer, each of them repeated on its own, before a wait gives up that never had one: about a
 * minute, as for an address where nobody is. A server that has answered once comes back, however long it takes.
 */
const POLL_TRIES = 10;

/** Whether the answer would be the same to every further question. */
const isFinal = (error: unknown): boolean =>
  !(error instanceof ApiError) ||
  error instanceof NotFoundError ||
  error instanceof AuthenticationError ||
  error instanceof PermissionError;

async function followToEnd(
  transport: Transport,
  id: string,
  signal: AbortSignal,
  onConnect: () => void,
): Promise<void> {
  const path = `/api/runs/${encodeURIComponent(id)}/events?follow=1`;
  const options = { signal, onConnect, onGap: () => undefined, maxReconnects: STREAM_TRIES };
  for await (const event of followStream(transport, path, options)) {
    if (event.event === "end") return;
  }
}

/**
 * Reads the run's events to their end; when streams do not get through (a proxy, the limit of connections), asks again
 * and again.
 */
async function untilEnded(transport: Transport, id: string, signal: AbortSignal): Promise<Run> {
  let isKnown = false;
  try {
    await followToEnd(transport, id, signal, () => (isKnown = true));
  } catch (error) {
    if (isFinal(error)) throw error;
  }
  let failures = 0;
  for (let delayMs = FIRST_POLL_MS; ; delayMs = Math.min(LAST_POLL_MS, delayMs * 1.5)) {
    try {
      const path = `/v1/runs/${encodeURIComponent(id)}`;
      const run = await transport.ask(runShape, { method: "GET", path, signal });
      if (isTerminalRunStatus(run.status)) return run;
      isKnown = true;
    } catch (error) {
      failures += 1;
      if (isFinal(error) || (!isKnown && failures >= POLL_TRIES)) throw error;
    }
    await sleep(delayMs, signal);
  }
}

export async function waitForRun(transport: Transport, id: string, options: WaitOptions): Promise<Run> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(options.signal?.reason);
  options.signal?.throwIfAborted();
  options.signal?.addEventListener("abort", onAbort, { once: true });
  const { timeout } = options;
  const timeoutMs = timeout === undefined ? undefined : toMilliseconds(timeout, "timeout");
  const giveUp = (): void =>
    controller.abort(
      new TimeoutError({
        code: "timeout",
        message: `Run ${id} has not ended within ${timeoutMs} ms; it continues`,
      }),
    );
  const timer = timeoutMs === undefined ? undefined : setTimeout(giveUp, timeoutMs);
  try {
    const run = await untilEnded(transport, id, controller.signal);
    if (options.throwOnFailure === true && run.status !== "succeeded") throw new RunFailedError(run);
    return run;
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", onAbort);
  }
}
