import type { DurableCall, MessageEnd, WaitState } from "@keelson/contract";
import { LIMITS } from "@keelson/contract/plain";
import { newMessageId } from "./client/random.ts";
import type { CurrentRun } from "./current-run.ts";
import { InterruptedError } from "./durable-errors.ts";
import { UsageError } from "./keelson-error.ts";
import {
  fromStored,
  isEnded,
  toPiped,
  toStored,
  type Piped,
  type PiecesOf,
  type StoredPieces,
} from "./pipe-message.ts";
import { pipePieces, untilAborted, type Pieces } from "./pipe-pieces.ts";
import type { DurableRun } from "./runtime/durable/durable-run.ts";
import type { Hearer } from "./runtime/durable/run-waits.ts";
import type { OpenMessage } from "./runtime/durable/run-messages.ts";
import { runTries } from "./runtime/durable/run-tries.ts";
import { toJsonValue } from "./runtime/output.ts";

/** How a message ends. */
export type EndOptions = {
  /** What readers get of it in the place of its pieces, as JSON of up to 512 KiB. Default: the pieces. */
  data?: unknown;
  /** It is not what it was to be. Default false. */
  failed?: boolean;
};

/** A message that goes on over steps and waits. */
export type OutputMessage<T = unknown> = {
  /** Its id, as readers see it. */
  readonly id: string;
  /** Aborted when the message is interrupted, and when the run is to stop. For what is done inside of steps. */
  readonly signal: AbortSignal;
  /** Somebody has interrupted it. It turns true at one place in the course of the code, the same in a replay. */
  readonly interrupted: boolean;
  /**
   * Appends pieces to it, as `pipe()` of the stream does, and resolves with these pieces. Another try of the step writes its part again: readers
   * know that what the try before it wrote counts no more. One pipe of a message waits for the one before it.
   */
  pipe<P extends T>(pieces: Pieces<P> | PiecesOf<P>): Promise<Piped<P>>;
  /**
   * Ends it, as a durable call. Resolves with how it has ended: `interrupted` when somebody has interrupted it. What its run leaves
   * open ends with the run, as `failed`.
   */
  end(options?: EndOptions): Promise<MessageEnd>;
};

type OutputsCall = Extract<DurableCall, { kind: "outputs" }>;
type Said = NonNullable<OutputsCall["message"]>;
type Records = OutputsCall["records"];

/** What a message is made of, besides its pieces. */
export type MessageOptions<T> = {
  stream: string;
  correlationId: string | null;
  /** Throws for data that does not fit the stream. */
  toRecord(piece: T): Records[number];
  /** Finds the run, and the step that runs. */
  find(method: string): CurrentRun;
};

/** Begins a message. It is open from now on, whatever becomes of this execution, until the code or the end of its run ends it. */
export async function openMessage<T>(run: DurableRun, options: MessageOptions<T>): Promise<OutputMessage<T>> {
  const { stream, correlationId } = options;
  const say = (message: Said, records: Records, position: number | null = null): OutputsCall => ({
    ...{ kind: "outputs", position, stream, message, records },
  });
  const correlation = correlationId === null ? {} : { correlation_id: correlationId };
  const begins = { id: newMessageId(), begins: true, spans: true, ...correlation } as const;
  const isOld = run.replaying;
  const opened = await run.effect("output", stream, (position) => say(begins, [], position));
  const message = new SpanningMessage((opened as { message_id: string }).message_id, {
    ...{ run, options, say, isOld },
  });
  run.messages.opened(message);
  const fields = { kind: "message", message_id: message.id, stream } as const;
  run.hear(stream, fields, message);
  return message;
}

type Means<T> = {
  run: DurableRun;
  options: MessageOptions<T>;
  say(message: Said, records: Records, position?: number | null): OutputsCall;
  /** An earlier execution began it, and may have written to it. */
  isOld: boolean;
};

/** A pipe that writes. `over` never rejects. */
type Writing = { step: string; stop: AbortController; over: Promise<void> };

class SpanningMessage<T> implements OutputMessage<T>, OpenMessage, Hearer {
  readonly id: string;
  readonly signal: AbortSignal;
  readonly #means: Means<T>;
  readonly #interrupt = new AbortController();
  #isInterrupted = false;
  #hasEnded = false;
  /** The position of the wait that hears of its end; 0 while there is none. */
  #heardAt = 0;
  readonly #writing = new Set<Writing>();

  constructor(id: string, means: Means<T>) {
    this.id = id;
    this.#means = means;
    this.signal = AbortSignal.any([means.run.signal, this.#interrupt.signal]);
  }

  get interrupted(): boolean {
    return this.#isInterrupted;
  }

  heardAt(position: number): void {
    this.#heardAt = position;
  }

  /** It was interrupted, or it has ended and that was told with it. */
  heard({ position, value }: WaitState): void {
    if (this.#hasEnded || !(value as { interrupted: boolean }).interrupted) return;
    this.#isInterrupted = true;
    this.#interrupt.abort(new InterruptedError());
    this.#means.run.waits.giveUp(position);
  }

  async beginTry(step: string, attempt: number): Promise<void> {
    if (attempt === 1 && !this.#means.isOld) return;
    const { run, say } = this.#means;
    // A try whose time was over may still write.
    for (const writing of [...this.#writing].filter((one) => one.step === step)) {
      writing.stop.abort(new UsageError("Another try of the step has begun."));
      await writing.over;
    }
    if (isEnded(await run.unjournaled(say({ id: this.id, voids: step }, [])))) this.#lose();
  }

  async pipe<P extends T>(pieces: Pieces<P> | PiecesOf<P>): Promise<Piped<P>> {
    this.#checkOpen("pipe");
    const { run, options } = this.#means;
    const current = options.find("pipe");
    if (current.step !== null) return this.#write(current, pieces, Number.POSITIVE_INFINITY);
    const stored = await run.step<StoredPieces<P>>(options.stream, (step) =>
      runTries(run, options.stream, {
        ...step,
        fn: async () => toStored(await this.#write(options.find("pipe"), pieces, LIMITS.journalValueBytes)),
      }),
    );
    return fromStored(stored);
  }

  async end({ data, failed = false }: EndOptions = {}): Promise<MessageEnd> {
    this.#checkOpen("end");
    const { run, options, say } = this.#means;
    const kept =
      data === undefined ? {} : { data: toJsonValue(data, "The message", LIMITS.journalValueBytes) };
    this.#hasEnded = true;
    await this.#pipesOver();
    const ends = this.#isInterrupted ? "interrupted" : failed ? "failed" : "complete";
    const answer = await run.effect("output", options.stream, (position) =>
      say({ id: this.id, ends, ...kept }, [], position),
    );
    run.messages.ended(this);
    this.#unhear();
    return (answer as { status: MessageEnd }).status;
  }

  async #write<P extends T>(
    { nameMessage }: CurrentRun,
    pieces: Pieces<P> | PiecesOf<P>,
    maxBytes: number,
  ): Promise<Piped<P>> {
    const { run, options, say } = this.#means;
    const part = nameMessage?.() ?? "";
    const stop = new AbortController();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const writing = { step: part.slice(0, part.lastIndexOf(":")), stop, over };
    const before = this.#pipesOver();
    this.#writing.add(writing);
    const stopped = AbortSignal.any([this.#interrupt.signal, stop.signal]);
    let taken = 0;
    const append = async (batch: readonly P[]): Promise<void> => {
      const said = taken === 0 ? { id: this.id, part } : { id: this.id };
      if (isEnded(await run.unjournaled(say(said, batch.map(options.toRecord))))) this.#lose();
      else taken += batch.length;
    };
    const open = (): Pieces<P> | Promise<Pieces<P>> => {
      if (typeof pieces !== "function") return pieces;
      return pieces({ id: this.id, signal: AbortSignal.any([run.signal, stopped]) });
    };
    try {
      await before;
      const all = await pipePieces(untilAborted(open, stopped), append, maxBytes);
      stop.signal.throwIfAborted();
      return toPiped<P>(all.slice(0, taken), this.#interrupt.signal.aborted);
    } finally {
      this.#writing.delete(writing);
      resolve();
    }
  }

  async #pipesOver(): Promise<void> {
    await Promise.all([...this.#writing].map(({ over }) => over));
  }

  /** The server takes nothing more of it: it was interrupted, and ended without its code. */
  #lose(): void {
    this.#interrupt.abort(new InterruptedError());
  }

  /** The server resolved the wait with the end, and need not tell. */
  #unhear(): void {
    if (this.#heardAt === 0) return;
    const { run, options } = this.#means;
    const wait = { id: "", position: this.#heardAt, kind: "message", name: options.stream } as const;
    run.settle([{ ...wait, status: "resolved", timeout_at: null, value: { interrupted: false } }]);
  }

  #checkOpen(method: string): void {
    if (this.#hasEnded) throw new UsageError(`message.${method}() was called after message.end()`);
  }
}
