import { LIMITS } from "@keelson/contract/plain";
import { toJsonText } from "./json-text.ts";
import type { JsonOf } from "./json-type.ts";
import { NonRetryableError } from "./task-errors.ts";

/** Pieces that wait while others are on their way; the source is not asked for more than that. */
const MAX_WAITING = 200;
const MAX_WAITING_BYTES = 256 * 1024;

/**
 * Appends pieces as they come: the first at once, and what comes while it is on its way together as the next batch.
 * Resolves with all pieces as JSON has them. Rejects with what the source or an append fails with, and when the pieces are more than
 * `maxBytes` of JSON in all.
 */
export async function pipePieces<T>(
  pieces: AsyncIterable<T>,
  append: (batch: readonly T[]) => Promise<void>,
  maxBytes: number,
): Promise<JsonOf<T>[]> {
  const all: JsonOf<T>[] = [];
  let totalBytes = 2;
  let waiting: T[] = [];
  let waitingBytes = 0;
  let sending: Promise<void> | null = null;
  let failure: { error: unknown } | null = null;

  const send = async (): Promise<void> => {
    while (waiting.length > 0 && failure === null) {
      const batch = waiting.slice(0, LIMITS.batchRecords);
      waiting = waiting.slice(batch.length);
      waitingBytes = 0;
      try {
        await append(batch);
      } catch (error) {
        failure = { error };
      }
    }
    sending = null;
  };
  const check = (): void => {
    if (failure !== null) throw failure.error;
  };

  try {
    for await (const piece of pieces) {
      check();
      const text = toJsonText(piece, "piece") ?? "null";
      const bytes = text.length;
      totalBytes += bytes + 1;
      if (totalBytes > maxBytes)
        throw new NonRetryableError(
          `The pieces are more than ${maxBytes} bytes of JSON; pipe them inside a step, which need not keep them`,
        );
      all.push(JSON.parse(text) as JsonOf<T>);
      waiting.push(piece);
      waitingBytes += bytes;
      sending ??= send();
      if (waiting.length >= MAX_WAITING || waitingBytes >= MAX_WAITING_BYTES) await sending;
    }
  } finally {
    // What the source gave before it failed is not sent behind the end of the message.
    await sending;
  }
  check();
  return all;
}

/** What gives the pieces of a message. */
export type Pieces<T> = AsyncIterable<T> | Iterable<T>;

/**
 * The pieces until the signal is aborted. A source that then does not end, or fails, holds nobody up: it is told to return, and left
 * to itself.
 */
export async function* untilAborted<T>(
  open: () => Pieces<T> | Promise<Pieces<T>>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const aborted = new Promise<"aborted">((resolve) => {
    signal.addEventListener("abort", () => resolve("aborted"), { once: true });
  });
  const orAborted = async <V>(value: Promise<V>): Promise<V | "aborted"> => {
    try {
      return await Promise.race([value, aborted]);
    } catch (error) {
      if (signal.aborted) return "aborted";
      throw error;
    }
  };
  if (signal.aborted) return;
  const pieces = await orAborted((async () => open())());
  if (pieces === "aborted") return;
  const source = iterate(pieces);
  let isOver = false;
  try {
    while (!signal.aborted) {
      isOver = true;
      const next = await orAborted(source.next());
      isOver = next !== "aborted" && next.done === true;
      if (next === "aborted" || next.done === true) return;
      yield next.value;
    }
  } finally {
    const returned = isOver ? null : source.return?.();
    if (signal.aborted) returned?.catch(() => undefined);
    else await returned;
  }
}

function iterate<T>(pieces: Pieces<T>): AsyncIterator<T> {
  if (Symbol.asyncIterator in pieces) return pieces[Symbol.asyncIterator]();
  return (async function* () {
    yield* pieces;
  })();
}
