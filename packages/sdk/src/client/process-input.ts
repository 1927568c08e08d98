import { PROCESS_INPUT_BYTES } from "@keelson/contract/plain";
import { bytesOf, encodeBase64 } from "./base64.ts";
import { sleep } from "./clock.ts";
import { ConflictError, ApiError, RateLimitError } from "./errors.ts";
import type { CallOptions } from "./exchange.ts";
import { backoffMs, mayRepeat } from "./retry.ts";
import type { Transport } from "./transport.ts";

/** Appends to a process's input, in the order of the calls. */
export type InputWriter = (content: string | Uint8Array, options?: CallOptions) => Promise<void>;

/** The server's count of the input when it is not what was thought; else null. */
function actualOffset(error: unknown): number | null {
  if (!(error instanceof ConflictError) || error.code !== "offset_mismatch") return null;
  const offset = error.details?.["offset"];
  return typeof offset === "number" ? offset : null;
}

/**
 * Every piece says where it begins, so that one whose answer was lost is sent again without being taken twice. Another
 * writer's bytes in between are no failure: the piece follows them. A process that does not read is waited for.
 *
 * @param begin the bytes of input before the first piece; asked once.
 */
export function createInputWriter(
  transport: Transport,
  path: string,
  begin: (options: CallOptions) => Promise<number>,
): InputWriter {
  let offset: number | null = null;
  let last: Promise<unknown> = Promise.resolve();

  async function sendPiece(piece: Uint8Array, options: CallOptions): Promise<void> {
    let lostAnswer = false;
    for (let failures = 0; ;) {
      try {
        offset ??= await begin(options);
        const body = { json: { data: encodeBase64(piece), offset } };
        const request = { method: "POST", path, body, repeatable: false, ...options } as const;
        ({ offset } = (await transport.request(request)) as { offset: number });
        return;
      } catch (error) {
        const actual = actualOffset(error);
        if (actual !== null) {
          const wasTaken = lostAnswer && offset !== null && actual >= offset + piece.length;
          offset = actual;
          if (wasTaken) return;
          lostAnswer = false;
          continue;
        }
        lostAnswer ||= error instanceof ApiError && error.outcomeUnknown;
        const isFull = error instanceof RateLimitError && error.details?.["waitingBytes"] !== undefined;
        if (!isFull) failures += 1;
        if (failures > transport.config.maxRetries || !mayRepeat(error, true)) throw error;
        const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : null;
        await sleep(backoffMs(Math.max(1, failures), retryAfterMs), options.signal);
      }
    }
  }

  async function send(bytes: Uint8Array, options: CallOptions): Promise<void> {
    for (let at = 0; at < bytes.length; at += PROCESS_INPUT_BYTES)
      await sendPiece(bytes.subarray(at, at + PROCESS_INPUT_BYTES), options);
  }

  return (content, options = {}) => {
    const bytes = bytesOf(content);
    const sent = last.then(() => send(bytes, options));
    // A failure is its own caller's; the next write is tried all the same.
    last = sent.catch(() => undefined);
    return sent;
  };
}
