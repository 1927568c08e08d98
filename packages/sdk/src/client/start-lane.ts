import type { Run } from "./resources.ts";
import { LIMITS } from "@keelson/contract/plain";
import type { DurationInput } from "../duration-input.ts";
import { toRequestText } from "../json-text.ts";
import { createStartSender, loneRequest, type Waiting } from "./start-requests.ts";
import type { Transport } from "./transport.ts";
import { runShape } from "./wire-shapes.ts";

export type Start = { task: string; body: object; signal?: AbortSignal; requestTimeout?: DurationInput };

export type StartLane = (start: Start) => Promise<Run>;

/** Requests under way at once; what is called meanwhile is the next batch. */
const IN_FLIGHT = 2;
/** Below the body limit by enough for what is around the starts. */
const BATCH_BYTES = 900 * 1024;

const encoder = new TextEncoder();

/** How many of the waiting starts fit one request; at least one. */
function countBatch(waiting: readonly Waiting[]): number {
  let bytes = 0;
  for (const [count, start] of waiting.entries()) {
    bytes += start.bytes;
    if (count > 0 && (count === LIMITS.batchStarts || bytes > BATCH_BYTES)) return count;
  }
  return waiting.length;
}

/** A start whose caller may leave before it is answered. */
function createWaiting(
  { task, signal }: Start,
  text: string,
  resolve: Waiting["resolve"],
  reject: Waiting["reject"],
): Waiting {
  // The exact size matters only near the limit; a UTF-16 unit is at most three bytes.
  const bytes = task.length + 16 + (text.length > 8192 ? encoder.encode(text).length : text.length * 3);
  if (signal === undefined) return { task, text, bytes, settled: false, resolve, reject };
  const onAbort = (): void => {
    start.settled = true;
    reject(signal.reason);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const start: Waiting = {
    ...{ task, text, bytes, settled: false },
    resolve: (run) => {
      signal.removeEventListener("abort", onAbort);
      resolve(run);
    },
    reject: (error) => {
      signal.removeEventListener("abort", onAbort);
      reject(error);
    },
  };
  return start;
}

/**
 * Coalesces concurrent starts. A lone start goes out at once through its own route; what is called in the same tick,
 * or while two requests are under way, shares the next batch. Each caller gets its own run or error as if it had
 * been alone.
 */
export function createStartLane(transport: Transport): StartLane {
  const send = createStartSender(transport);
  let waiting: Waiting[] = [];
  let inFlight = 0;
  let scheduled = false;

  function flush(): void {
    scheduled = false;
    while (inFlight < IN_FLIGHT && waiting.length > 0) {
      const count = countBatch(waiting);
      const batch = waiting.slice(0, count).filter((start) => !start.settled);
      waiting = waiting.slice(count);
      if (batch.length === 0) continue;
      inFlight += 1;
      void send(batch).finally(() => {
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

  return (start) =>
    new Promise((resolve, reject) => {
      const { task, body, signal, requestTimeout } = start;
      signal?.throwIfAborted();
      const text = toRequestText(body);
      if (requestTimeout === undefined) {
        enqueue(createWaiting(start, text, resolve, reject));
        return;
      }
      // A time limit of its own cannot be kept in a request shared with others.
      const own = signal === undefined ? { requestTimeout } : { requestTimeout, signal };
      resolve(transport.ask(runShape, { ...loneRequest(task, text), ...own }));
    });
}
