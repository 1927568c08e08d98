import { Readable } from "node:stream";
import { SSE_KEEPALIVE_FRAME, SSE_KEEPALIVE_INTERVAL_MS, SSE_RETRY_FRAME, sseFrame } from "@keelson/contract";
import { toErrorReply } from "./error-reply.ts";

/**
 * Frames as a response body: the retry frame first, a comment while nothing comes, an `error` event for a failure after
 * the headers. The stream asks for the next frames only when the socket has taken the last, so a slow reader holds back
 * its own reads and no memory.
 */
export function eventStream(frames: AsyncIterable<string>, requestId: string, onClose: () => void): Readable {
  return Readable.from(withKeepAlive(frames, requestId, onClose), { objectMode: false, highWaterMark: 16_384 });
}

async function* withKeepAlive(frames: AsyncIterable<string>, requestId: string, onClose: () => void): AsyncGenerator<string> {
  const iterator = frames[Symbol.asyncIterator]();
  let timer: NodeJS.Timeout | undefined;
  try {
    yield SSE_RETRY_FRAME;
    let next = iterator.next();
    for (;;) {
      const pause = new Promise<"quiet">((resolve) => {
        timer = setTimeout(() => resolve("quiet"), SSE_KEEPALIVE_INTERVAL_MS);
      });
      const result = await Promise.race([next, pause]);
      clearTimeout(timer);
      if (result === "quiet") {
        yield SSE_KEEPALIVE_FRAME;
        continue;
      }
      if (result.done === true) return;
      yield result.value;
      next = iterator.next();
    }
  } catch (error) {
    yield sseFrame("error", "", JSON.stringify(toErrorReply(error, requestId).body.error));
  } finally {
    clearTimeout(timer);
    onClose();
    await iterator.return?.();
  }
}
