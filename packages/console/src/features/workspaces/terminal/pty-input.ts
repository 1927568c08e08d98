/**
 * Sends what is typed, in order: what comes while a piece is under way goes with the next, so that a slow line carries
 * few requests. After `stop` nothing more is sent.
 */
export function createInputBatches(
  write: (bytes: Uint8Array, options: { signal: AbortSignal }) => Promise<void>,
  onFailure: (error: unknown) => void,
): { push: (bytes: Uint8Array) => void; stop: () => void } {
  const controller = new AbortController();
  let waiting: Uint8Array[] = [];
  let isSending = false;

  const run = async (): Promise<void> => {
    isSending = true;
    try {
      while (waiting.length > 0 && !controller.signal.aborted) {
        const bytes = joined(waiting);
        waiting = [];
        await write(bytes, { signal: controller.signal });
      }
    } catch (error) {
      waiting = [];
      if (!controller.signal.aborted) onFailure(error);
    } finally {
      isSending = false;
    }
  };
  return {
    push: (bytes) => {
      waiting.push(bytes);
      if (!isSending) void run();
    },
    stop: () => controller.abort(new DOMException("You left the terminal.", "AbortError")),
  };
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
