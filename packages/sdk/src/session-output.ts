import type { StandardTypedV1 } from "@standard-schema/spec";
import type { DurableCall } from "@keelson/contract";
import { DEFAULT_OUTPUT_STREAM, LIMITS } from "@keelson/contract/plain";
import { locateOutsideStep, type CurrentRun, type LocateRun } from "./current-run.ts";
import { checkText } from "./json-text.ts";
import { openMessage, type OutputMessage } from "./output-message.ts";
import { checkData } from "./payload-schema.ts";
import {
  fromStored,
  toStored,
  writeMessage,
  type MessageParts,
  type Piped,
  type PiecesOf,
  type StoredPieces,
} from "./pipe-message.ts";
import type { Pieces } from "./pipe-pieces.ts";
import { runTries } from "./runtime/durable/run-tries.ts";
import { toJsonValue } from "./runtime/output.ts";
import { checkStreamName } from "./session-input.ts";
import { UsageError } from "./keelson-error.ts";

/** Options of `append()` and `pipe()`. */
export type AppendOptions = {
  /**
   * Marks the records of one exchange, so that readers can select them. Up to 256 bytes. You can pass the correlation id
   * of an input record.
   */
  correlationId?: string | null | undefined;
  /** A media type that says how the data is meant. */
  contentType?: string | null | undefined;
};

/** One output stream. */
export type OutputChannel<T = unknown> = {
  /** The stream's name. */
  readonly name: string;
  /**
   * Appends a record of up to 256 KiB of JSON once, and resolves when readers can read it. Inside a step, another try of
   * the step appends again. Rejects with `RefusedError` when the session has ended, and with `DataInvalidError` for data
   * that does not fit the schema of the stream.
   */
  append(data: T, options?: AppendOptions): Promise<void>;
  /**
   * Appends each piece when it arrives, and resolves with all pieces as JSON at the end. Readers know by the `messageId` of
   * the records which pieces belong together, and by a record after them that the message has ended, and how. Another try
   * writes another message. Outside of a step this is one
   * durable call, like a step with the name of the stream: a replay reads nothing from `pieces`. All pieces together
   * then have up to 512 KiB of JSON. Pipe more than that inside a step.
   *
   * When somebody interrupts the message, no more is read from `pieces`, and it resolves with the pieces so far, `interrupted` true.
   * Where an earlier attempt was interrupted after its worker was lost, there are none. Give a function to have the signal of that:
   * `pipe(({ signal }) => streamText({ model, prompt, abortSignal: signal }).textStream)`.
   */
  pipe<P extends T>(pieces: Pieces<P> | PiecesOf<P>, options?: AppendOptions): Promise<Piped<P>>;
  /**
   * Begins a message that goes on over steps, waits and attempts of the run, until `end()`: one answer with the tools that it calls
   * and the approvals that it waits for. When somebody interrupts it, its `signal` is aborted, its pipes resolve, and what the code
   * waits for since then rejects with `InterruptedError`: child runs that it waits for are cancelled, and commands are ended. What it only
   * started goes on. A durable call, so not inside a step.
   */
  message(options?: AppendOptions): Promise<OutputMessage<T>>;
};

/** The default channel. Call it with a name for the channel of that name, with or without a schema of its records. */
export type SessionOutput<T = unknown> = OutputChannel<T> & {
  <S extends StandardTypedV1>(name: string, schema: S): OutputChannel<StandardTypedV1.InferInput<S>>;
  (name: string): OutputChannel;
};

type OutputsCall = Extract<DurableCall, { kind: "outputs" }>;
type SaidOfMessage = NonNullable<OutputsCall["message"]>;
export type OutputRecord = OutputsCall["records"][number];

/** A record as the wire has it. Throws a UsageError for data that is no JSON or too much. */
export function toRecord(data: unknown, { correlationId, contentType }: AppendOptions): OutputRecord {
  const record: OutputRecord = { data: toJsonValue(data, "The record", LIMITS.recordBytes) };
  if (typeof correlationId === "string") {
    checkText(correlationId, "a correlation id");
    record.correlation_id = correlationId;
  }
  if (typeof contentType === "string") {
    checkText(contentType, "a content type");
    record.content_type = contentType;
  }
  return record;
}

function createChannel(locate: LocateRun, name: string, schema: StandardTypedV1 | null): OutputChannel {
  const toChecked = (data: unknown, options: AppendOptions): OutputRecord =>
    toRecord(checkData(schema, data, `The record of "${name}"`), options);
  const find = (method: string): CurrentRun => {
    const current = locate(`session.output("${name}").${method}()`);
    if (current.run.input.session === null)
      throw new UsageError("This run belongs to no session, so it has no output streams");
    return current;
  };
  const call = (position: number | null, records: OutputRecord[], message?: SaidOfMessage): OutputsCall => ({
    kind: "outputs",
    position,
    stream: name,
    ...(message !== undefined && { message }),
    records,
  });
  return {
    name,
    async append(data, options = {}) {
      const { run, step } = find("append");
      const records = [toChecked(data, options)];
      // A stopped run may still say a last word, which no journal needs.
      if (step !== null || run.signal.aborted) await run.unjournaled(call(null, records));
      else await run.effect("output", name, (position) => call(position, records));
    },
    async pipe<T>(pieces: Pieces<T> | PiecesOf<T>, options: AppendOptions = {}): Promise<Piped<T>> {
      const current = find("pipe");
      const parts = (maxBytes: number): MessageParts<T> => ({
        ...{ pieces, maxBytes },
        toRecord: (piece) => toChecked(piece, options),
        say: (message, records) => call(null, records, message),
      });
      if (current.step !== null) return writeMessage(current, parts(Number.POSITIVE_INFINITY));
      const { run } = current;
      const stored = await run.step<StoredPieces<T>>(name, (step) =>
        runTries(run, name, {
          ...step,
          fn: async () => toStored(await writeMessage(find("pipe"), parts(LIMITS.journalValueBytes))),
        }),
      );
      return fromStored(stored);
    },
    async message(options = {}) {
      const run = locateOutsideStep(() => find("message"), `session.output("${name}").message()`);
      return openMessage(run, {
        ...{ stream: name, find },
        correlationId: toRecord(null, options).correlation_id ?? null,
        toRecord: (piece) => toChecked(piece, options),
      });
    },
  };
}

export function createSessionOutput(locate: LocateRun, schema: StandardTypedV1 | null): SessionOutput {
  const named = (name: string, own?: StandardTypedV1): OutputChannel =>
    createChannel(locate, checkStreamName(name), own ?? null);
  const { name: _, ...channel } = createChannel(locate, DEFAULT_OUTPUT_STREAM, schema);
  Object.defineProperty(named, "name", { value: DEFAULT_OUTPUT_STREAM });
  return Object.assign(named, channel);
}
