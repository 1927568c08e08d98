import type { StandardTypedV1 } from "@standard-schema/spec";
import type { LeasedSession, StreamRecord } from "@keelson/contract";
import { DEFAULT_INPUT_STREAM, LIMITS, STREAM_NAME_PATTERN } from "@keelson/contract/plain";
import { locateOutsideStep, type LocateRun } from "./current-run.ts";
import { InputInvalidError, InterruptedError, RefusedError } from "./durable-errors.ts";
import type { DurationInput } from "./duration-input.ts";
import type { JsonOf } from "./json-type.ts";
import { checkPayload, type PayloadSchema } from "./payload-schema.ts";
import type { DurableRun } from "./runtime/durable/durable-run.ts";
import { createRunClient } from "./runtime/run-client.ts";
import { createStep } from "./step.ts";
import { toTimeout } from "./tokens.ts";
import { UsageError } from "./keelson-error.ts";

/** A record that a run has received. */
export type InputRecord<T = unknown> = {
  /** The record's id. */
  id: string;
  /** 1 for the first record of the stream. */
  sequence: number;
  /** The data of the record. */
  data: T;
  /** How the data is meant, where the sender said so. */
  contentType: string | null;
  /** Ties the records of one exchange together, where the sender gave one. */
  correlationId: string | null;
  /** The sender. */
  source: { kind: StreamRecord["source"]["kind"]; id: string | null };
  /** When it was appended. */
  createdAt: Date;
  /** It came to steer the turn that was live: its sender said so, or the actor declares it. */
  steer: boolean;
};

/** Options of `receive()`. */
export type ReceiveOptions = {
  /** Give up after this long and return null. Default: the actor's `idleTimeout`. */
  timeout?: DurationInput;
  /**
   * Gives up when it is aborted, and takes no record then: `receive()` rejects with the reason of the signal. A record that came
   * before that is received. For a race with something else that the code waits for.
   */
  signal?: AbortSignal;
};

/** One input stream. Each record of it is received once, by one run of the session. */
export type InputChannel<T = unknown> = AsyncIterable<InputRecord<T>> & {
  /** The stream's name. */
  readonly name: string;
  /**
   * Waits for the next record and returns it. The run may be suspended meanwhile. Returns null when the session takes no
   * more input or the timeout has passed. Rejects with `InputInvalidError` for a record that does not fit the channel's
   * schema, and with `InterruptedError`, without a record, when a message that the code writes is interrupted.
   */
  receive(options?: ReceiveOptions): Promise<InputRecord<T> | null>;
  /**
   * The records that no run has received, the oldest first, at most 200 and 512 KiB: what came while the code was at work. Those that
   * are to change what it does have `steer`. They stay where they are, and `receive()` gets them in their order. Nobody has checked their data. A step of the run: a replay sees the same.
   * Inside a step each call reads again, so that code which is at work there sees what came since, for example between two calls of a model.
   */
  pending(): Promise<InputRecord[]>;
};

/** The default channel; called with a name it is the channel of that name. */
export type SessionInput<T = unknown> = InputChannel<T> & {
  <S extends StandardTypedV1>(name: string, schema: S): InputChannel<StandardTypedV1.InferOutput<S>>;
  <U = unknown>(name: string): InputChannel<JsonOf<U>>;
};

/** Throws a UsageError for a name that no stream can have. */
export function checkStreamName(name: string): string {
  if (typeof name !== "string" || !new RegExp(STREAM_NAME_PATTERN).test(name))
    throw new UsageError(
      `${JSON.stringify(name)} is not a stream name (letters, digits, . _ -, up to 256 characters)`,
    );
  return name;
}

const MAX_PENDING = 200;

type Pending = Omit<InputRecord, "createdAt" | "steer"> & { createdAt: string; steer?: true };

/** As much as a step's outcome may hold. */
async function readPending(run: DurableRun, stream: string): Promise<Pending[]> {
  const unreceived = { direction: "input", stream, received: false, limit: MAX_PENDING } as const;
  const { records } = await createRunClient(run).sessions.read(requireSession(run).id, unreceived);
  let bytes = 0;
  const fits = (record: object): boolean =>
    (bytes += new TextEncoder().encode(JSON.stringify(record)).length + 1) < LIMITS.journalValueBytes;
  return records
    .map(({ id, sequence, data, contentType, correlationId, source, createdAt, steer }) => ({
      ...{ id, sequence, data, contentType, correlationId, source, createdAt },
      ...(steer === true && { steer }),
    }))
    .filter(fits);
}

/** Inside a step it is read each time, because what the step makes of it is in the step's outcome. */
async function listPending(locate: LocateRun, stream: string): Promise<InputRecord[]> {
  const { run, step } = locate(`session.input("${stream}").pending()`);
  requireSession(run);
  const read = (): Promise<Pending[]> => readPending(run, stream);
  const records =
    step === null
      ? await createStep(locate)("pending input", read, { retry: { maxAttempts: 3 } })
      : await read();
  return (records as Pending[]).map((record) => ({
    ...record,
    createdAt: new Date(record.createdAt),
    steer: record.steer === true,
  }));
}

function requireSession({ input: { session } }: DurableRun): LeasedSession {
  if (session === null)
    throw new RefusedError("invalid_state", "This run belongs to no session, so it has no input");
  return session;
}

async function readRecord(record: StreamRecord, schema: PayloadSchema | null): Promise<InputRecord> {
  let { data } = record;
  if (schema !== null) {
    const checked = await checkPayload(schema, data);
    if ("issues" in checked)
      throw new InputInvalidError(record.stream, record.sequence, record.data, checked.issues);
    data = checked.value;
  }
  return {
    id: record.id,
    sequence: record.sequence,
    data,
    contentType: record.content_type,
    correlationId: record.correlation_id,
    source: record.source,
    createdAt: new Date(record.created_at),
    steer: record.steer === true,
  };
}

type InputDefaults = { schema: PayloadSchema | null; idleTimeout: DurationInput | undefined };

/** The streams that an actor declares, and its state. */
export type SessionDefaults = InputDefaults & {
  output: StandardTypedV1 | null;
  state: StandardTypedV1 | null;
};

function createChannel(locate: LocateRun, name: string, defaults: InputDefaults): InputChannel {
  const receive = async ({ timeout, signal }: ReceiveOptions = {}): Promise<InputRecord | null> => {
    const run = locateOutsideStep(locate, `session.input("${name}").receive()`);
    requireSession(run);
    const limit = toTimeout(timeout ?? defaults.idleTimeout);
    const state = await run.wait(name, { kind: "input", stream: name, ...limit }, signal);
    if (state.status === "cancelled") throw signal?.aborted === true ? signal.reason : new InterruptedError();
    if (state.status === "timed_out" || state.value === null) return null;
    return readRecord(state.value as StreamRecord, defaults.schema);
  };
  const pending = (): Promise<InputRecord[]> => listPending(locate, name);
  return {
    name,
    receive,
    pending,
    async *[Symbol.asyncIterator]() {
      for (let record = await receive(); record !== null; record = await receive()) yield record;
    },
  };
}

export function createSessionInput(locate: LocateRun, defaults: InputDefaults): SessionInput {
  const named = (name: string, schema?: PayloadSchema): InputChannel =>
    createChannel(locate, checkStreamName(name), { ...defaults, schema: schema ?? null });
  const {
    receive,
    pending,
    [Symbol.asyncIterator]: iterate,
  } = createChannel(locate, DEFAULT_INPUT_STREAM, defaults);
  // A function has a `name` of its own, which is not writable.
  Object.defineProperty(named, "name", { value: DEFAULT_INPUT_STREAM });
  return Object.assign(named, { receive, pending, [Symbol.asyncIterator]: iterate }) as SessionInput;
}
