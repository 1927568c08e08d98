import type { Run, StartBatchResult } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { sleep } from "./clock.ts";
import { errorOf, KeelsonError } from "./errors.ts";
import { backoffMs, mayRepeat, type ApiRequest, type Transport } from "./transport.ts";

/** A start that waits for its request: the body is encoded when it is called, so that later changes of the payload do not count. */
type Waiting = {
  task: string;
  text: string;
  bytes: number;
  attempt: number;
  settled: boolean;
  resolve: (run: Run) => void;
  reject: (error: unknown) => void;
};

export type Start = { task: string; body: object; signal?: AbortSignal; timeoutMs?: number };

/** Requests under way at once; what is called meanwhile is the next batch. */
const IN_FLIGHT = 2;
/** Below the body limit by enough for what is around the starts. */
const BATCH_BYTES = 900 * 1024;

const encoder = new TextEncoder();

/** Whether the request was refused as a whole for its shape or size: nothing of it took effect. */
const refusedWhole = (error: unknown): boolean => error instanceof KeelsonError && (error.status === 400 || error.status === 413);

/**
 * Coalesces concurrent starts. A lone start goes out at once through its own route; what is called in the same tick,
 * or while two requests are under way, shares the next batch. Each caller gets its own run or error as if it had
 * been alone: a batch that is refused as a whole is halved until the starts at fault stand alone.
 *
 * One lane holds only starts that may be repeated (they carry an idempotency key) or only starts that may not.
 */
export function createStartLane(transport: Transport, repeatable: boolean): (start: Start) => Promise<Run> {
  let waiting: Waiting[] = [];
  let inFlight = 0;
  let scheduled = false;

  const loneRequest = (task: string, text: string): ApiRequest => ({
    method: "POST",
    path: `/v1/tasks/${encodeURIComponent(task)}/start`,
    body: { text },
    repeatable,
  });

  async function sendAlone(start: Waiting): Promise<void> {
    try {
      start.resolve(await transport.request<Run>(loneRequest(start.task, start.text)));
    } catch (error) {
      start.reject(error);
    }
  }

  function settle(start: Waiting, result: StartBatchResult["results"][number] | undefined): void {
    if (result?.run) {
      start.resolve(result.run);
      return;
    }
    if (!result?.error) {
      const message = "The server's answer to a batch does not fit its starts";
      start.reject(new KeelsonError({ code: "unexpected_response", message, outcomeUnknown: true }));
      return;
    }
    const error = errorOf(result.status, result.error, { outcomeUnknown: result.status >= 500 && result.status !== 501 });
    if (start.attempt > transport.config.maxRetries || !mayRepeat(error, repeatable)) {
      start.reject(error);
      return;
    }
    void sleep(backoffMs(start.attempt, error.retryAfterMs)).then(() => {
      start.attempt += 1;
      enqueue(start);
    });
  }

  async function sendTogether(starts: Waiting[]): Promise<void> {
    const [only] = starts;
    if (starts.length === 1 && only !== undefined) return sendAlone(only);
    const items = starts.map(({ task, text }) => `{"task":${JSON.stringify(task)}${text === "{}" ? "}" : `,${text.slice(1)}`}`);
    try {
      const request = { method: "POST", path: "/v1/tasks/start-batch", body: { text: `{"starts":[${items.join(",")}]}` }, repeatable } as const;
      const { results } = await transport.request<StartBatchResult>(request);
      starts.forEach((start, i) => settle(start, results[i]));
    } catch (error) {
      if (!refusedWhole(error)) {
        for (const start of starts) start.reject(error);
        return;
      }
      const half = starts.length >> 1;
      await Promise.all([sendTogether(starts.slice(0, half)), sendTogether(starts.slice(half))]);
    }
  }

  function takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const start of waiting) {
      bytes += start.bytes;
      if (count > 0 && (count === LIMITS.batchStarts || bytes > BATCH_BYTES)) break;
      count += 1;
    }
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return batch.filter((start) => !start.settled);
  }

  function flush(): void {
    scheduled = false;
    while (inFlight < IN_FLIGHT && waiting.length > 0) {
      const batch = takeBatch();
      if (batch.length === 0) continue;
      inFlight += 1;
      void sendTogether(batch).finally(() => {
        inFlight -= 1;
        flush();
      });
    }
  }

  function enqueue(start: Waiting): void {
    waiting.push(start);
    if (scheduled || inFlight >= IN_FLIGHT) return;
    scheduled = true;
    queueMicrotask(flush);
  }

  return ({ task, body, signal, timeoutMs }) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const text = JSON.stringify(body);
      if (timeoutMs !== undefined) {
        // A time limit of its own cannot be kept in a request shared with others.
        const own = signal === undefined ? { timeoutMs } : { timeoutMs, signal };
        resolve(transport.request<Run>({ ...loneRequest(task, text), ...own }));
        return;
      }
      // The exact size matters only near the limit; a UTF-16 unit is at most three bytes.
      const bytes = task.length + 16 + (text.length > 8192 ? encoder.encode(text).length : text.length * 3);
      const start: Waiting = { task, text, bytes, attempt: 1, settled: false, resolve, reject };
      if (signal !== undefined) {
        const onAbort = (): void => {
          start.settled = true;
          reject(signal.reason as Error);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        start.resolve = (run) => {
          signal.removeEventListener("abort", onAbort);
          resolve(run);
        };
        start.reject = (error) => {
          signal.removeEventListener("abort", onAbort);
          reject(error as Error);
        };
      }
      enqueue(start);
    });
}
