import type { Run, StartBatchResult } from "./resources.ts";
import { errorOf, ApiError } from "./errors.ts";
import type { ApiRequest } from "./exchange.ts";
import type { Transport } from "./transport.ts";
import { runShape, startBatchResultShape } from "./wire-shapes.ts";

/**
 * A start that waits for its request; its body was encoded when it was called, so that later changes of the payload do
 * not count.
 */
export type Waiting = {
  task: string;
  text: string;
  bytes: number;
  /** Its caller has left; nothing is to be sent. */
  settled: boolean;
  resolve: (run: Run) => void;
  reject: (error: unknown) => void;
};

/** A start's own request. Each start has a key, so that it may be repeated. */
export const loneRequest = (task: string, text: string): ApiRequest => ({
  method: "POST",
  path: `/v1/tasks/${encodeURIComponent(task)}/start`,
  body: { text },
  repeatable: true,
});

const batchRequest = (starts: readonly Waiting[]): ApiRequest => {
  const items = starts.map(({ task, text }) => {
    const rest = text === "{}" ? "}" : `,${text.slice(1)}`;
    return `{"task":${JSON.stringify(task)}${rest}`;
  });
  return {
    method: "POST",
    path: "/v1/tasks/start-batch",
    body: { text: `{"starts":[${items.join(",")}]}` },
    repeatable: true,
  };
};

/** Whether the request was refused as a whole for its shape or size: nothing of it took effect. */
const refusedWhole = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 400 || error.status === 413);

function toError(result: StartBatchResult["results"][number] | undefined): ApiError {
  if (!result?.error) {
    const message = "The server's answer to a batch does not fit its starts";
    return new ApiError({ code: "unexpected_response", message, outcomeUnknown: true });
  }
  const outcomeUnknown = result.status >= 500 && result.status !== 501 && result.status !== 507;
  return errorOf(result.status, result.error, { outcomeUnknown });
}

/**
 * Sends starts in one request and settles each as if it had been sent alone. A batch that is refused as a whole is
 * halved until the starts at fault stand alone.
 */
export function createStartSender(transport: Transport): (starts: readonly Waiting[]) => Promise<void> {
  async function sendAlone(start: Waiting): Promise<void> {
    try {
      start.resolve(await transport.ask(runShape, loneRequest(start.task, start.text)));
    } catch (error) {
      start.reject(error);
    }
  }

  return async function sendTogether(starts): Promise<void> {
    const [only] = starts;
    if (starts.length === 1 && only !== undefined) return sendAlone(only);
    try {
      const { results } = await transport.ask(startBatchResultShape, batchRequest(starts));
      starts.forEach((start, i) => {
        const result = results[i];
        if (result?.run) start.resolve(result.run);
        else start.reject(toError(result));
      });
    } catch (error) {
      if (!refusedWhole(error)) {
        for (const start of starts) start.reject(error);
        return;
      }
      const half = starts.length >> 1;
      await Promise.all([sendTogether(starts.slice(0, half)), sendTogether(starts.slice(half))]);
    }
  };
}
