import type { SessionStatus } from "@keelson/contract";
import {
  DEFAULT_INPUT_STREAM,
  DEFAULT_OUTPUT_STREAM,
  LIMITS,
  MESSAGE_CONTENT_TYPE,
} from "@keelson/contract/plain";
import type { AnyActor, EmittedOf } from "../actor.ts";
import { fromWire } from "../client/camel-cased.ts";
import type { BusyOptions, RecordOf } from "../client/record-appends.ts";
import type { UploadContent, FileUploadOptions } from "../client/session-files.ts";
import type { Message, MessageInterrupted, SentRecord, SessionFile } from "../client/resources.ts";
import type { SentTo } from "../client/session-options.ts";
import type { StateOf } from "../client/session-state.ts";
import { messageShape, sentRecordShape, streamRecordShape } from "../client/wire-shapes.ts";
import { UsageError } from "../keelson-error.ts";
import { toJsonValue } from "../runtime/output.ts";
import { checkStreamName } from "../session-input.ts";
import { toRecord, type AppendOptions } from "../session-output.ts";
import type { Versioned } from "../session-state.ts";
import type { OutputOf } from "../task.ts";
import { Harness, type TestOptions } from "./harness.ts";
import { controlsOf, newRun, replayAll, type TestControls } from "./run-task.ts";
import { endedOf, viewOf, type EndedRun, type RunView } from "./run-view.ts";
import { ownSession } from "./test-client.ts";
import { SessionStore } from "./test-session.ts";

/** Options of `openSession()`. */
export type OpenSessionOptions<A extends AnyActor = AnyActor> = TestOptions & {
  /** The external id of the session. Default: none. */
  externalId?: string;
  /** The metadata of the session. */
  metadata?: Readonly<Record<string, unknown>>;
  /** The tags of the session and of its runs. */
  tags?: readonly string[];
  /** The state of the session at the start, with version 1. Default: the state was never set. */
  state?: StateOf<A>;
};

/** How a record is sent. */
type SendOptions = AppendOptions & BusyOptions;

/** Data of a stream: that of `output` has the type that the actor declares. */
type DataOf<A, S> = S extends "output" ? EmittedOf<A> : unknown;

/** A session of an actor in this process. */
export type TestSession<A extends AnyActor = AnyActor> = TestControls & {
  /** Its id. */
  readonly id: string;
  /** `open` until it is closed or cancelled, or a failed turn ends it. */
  readonly status: SessionStatus;
  /** The runs of the session, one per turn, the first turn first. */
  readonly turns: readonly RunView<OutputOf<A>>[];
  /**
   * Resolves with how the last turn ended, once the session takes no more input. Rejects with a `NondeterministicReplayError` when the replay of
   * a turn makes other durable calls than the turn made.
   */
  readonly ended: Promise<EndedRun<OutputOf<A>>>;
  /**
   * Sends a record to a stream, `input` by default, and starts the next turn when none is live. Rejects with a UsageError when the session
   * takes no more input, or is busy and the record is not to be queued.
   */
  send<const S extends string = "input">(
    data: SentTo<A, S>,
    options?: SendOptions & { stream?: S },
  ): Promise<SentRecord>;
  /**
   * Resolves with the next record of an output stream, `output` by default. Each record is returned once. Records that only say that a message
   * begins or ends are left out. Rejects with a UsageError when the session is over or its last turn failed, and there is no other record.
   */
  next<const S extends string = "output">(stream?: S): Promise<RecordOf<DataOf<A, S>>>;
  /** All records of an output stream so far, without those that only say that a message begins or ends. */
  records<const S extends string = "output">(stream?: S): RecordOf<DataOf<A, S>>[];
  /** What `pipe()` and `message()` wrote so far, in the order in which they began. */
  messages(): Message[];
  /** Uploads a file to the session, as a page or a caller does. */
  upload(content: UploadContent, options?: FileUploadOptions): Promise<SessionFile>;
  /** The state of the session and its version. */
  state(): Versioned<StateOf<A> | null>;
  /** Interrupts a message. Rejects with a UsageError for a message that the session does not have. */
  interrupt(messageId: string): Promise<MessageInterrupted>;
  /** Closes the session for input. `receive()` returns null when no input is left. */
  close(): Promise<void>;
  /** Cancels the session and its live turn. */
  cancel(): Promise<void>;
};

type AnyRecord = RecordOf<unknown>;

/** Gives the records of the streams that the test reads, each once. */
class Reading {
  readonly #store: SessionStore;
  readonly #given = new Map<string, number>();

  constructor(store: SessionStore) {
    this.#store = store;
  }

  all(stream: string): AnyRecord[] {
    const { records } = this.#store.stream(stream, "output");
    return records
      .filter(({ content_type }) => content_type !== MESSAGE_CONTENT_TYPE)
      .map((record) => fromWire(streamRecordShape, structuredClone(record)) as AnyRecord);
  }

  next(stream: string): Promise<AnyRecord> {
    const { promise, resolve, reject } = Promise.withResolvers<AnyRecord>();
    const look = (): void => {
      const record = this.all(stream).find(({ sequence }) => sequence > (this.#given.get(stream) ?? 0));
      const reason = record === undefined ? this.#reasonForNone(stream) : null;
      if (record === undefined && reason === null) return;
      this.#store.listeners.delete(look);
      if (record === undefined) return reject(new UsageError(reason ?? ""));
      this.#given.set(stream, record.sequence);
      resolve(record);
    };
    this.#store.listeners.add(look);
    look();
    return promise;
  }

  /** Why none will come; null when one may. */
  #reasonForNone(stream: string): string | null {
    const { current, status, isOver } = this.#store;
    const { ending } = current ?? {};
    const none = `and the stream "${stream}" has no other record`;
    if (ending?.status === "failed") return `The turn failed, ${none}: ${ending.failure?.message ?? ""}`;
    return isOver ? `The session has ended as ${status}, ${none}.` : null;
  }
}

function openStore(actor: AnyActor, harness: Harness, options: OpenSessionOptions): SessionStore {
  const entrypoint = { kind: "actor", declaredId: actor.id } as const;
  const { externalId = null, metadata = {}, tags = [], state } = options;
  const store: SessionStore = new SessionStore(
    harness,
    {
      ...{ externalId, metadata: { ...metadata }, tags },
      state: state === undefined ? undefined : toJsonValue(state, "The state", LIMITS.sessionStateBytes),
      endsOnFailure: actor.options.sessionOnFailure === "end",
      whileBusy: actor.options.whileBusy ?? "enqueue",
    },
    (turn) => harness.start({ ...newRun(harness, entrypoint, actor.options), tags, session: store, turn }),
  );
  harness.session = store;
  store.beginTurn();
  return store;
}

/** Settles once the session takes no more input and its last turn is over. */
async function untilOver<Output>(store: SessionStore, harness: Harness): Promise<EndedRun<Output>> {
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (!store.isOver) return;
      store.listeners.delete(look);
      resolve();
    };
    store.listeners.add(look);
  });
  harness.tokens.giveUp(`The session has ended as ${store.status}`);
  await replayAll(harness);
  return endedOf(store.turns.at(-1) as (typeof store.turns)[number]) as EndedRun<Output>;
}

/**
 * Opens a session of an actor in this process, without a server, and starts its first turn. Time is skipped as in `runTask()`. While the code
 * waits for input or for a token, time passes only by `passTime()`. So nothing times out that the test is about to send.
 *
 * Throws a UsageError for what cannot be tested in process, such as an actor with a sandbox, and for a declared secret without a value.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { actor } from "@keelson/sdk";
 * import { openSession } from "@keelson/sdk/testing";
 *
 * const echo = actor({
 *   id: "echo",
 *   run: async (session) => {
 *     for await (const { data } of session.input) await session.output.append(data);
 *   },
 * });
 *
 * const session = openSession(echo);
 * await session.send("hello");
 * assert.equal((await session.next()).data, "hello");
 * await session.close();
 * assert.equal((await session.ended).status, "succeeded");
 * ```
 */
export function openSession<A extends AnyActor>(
  actor: A,
  options: OpenSessionOptions<A> = {},
): TestSession<A> {
  const harness = new Harness(options);
  const store = openStore(actor, harness, options);
  const reading = new Reading(store);
  const ended = untilOver<OutputOf<A>>(store, harness);
  // A test that does not look at the end is not ended by it.
  ended.catch(() => undefined);
  return {
    ...controlsOf(harness),
    ...{ id: store.id, ended },
    get status() {
      return store.status;
    },
    get turns() {
      return store.turns.map((run) => viewOf<OutputOf<A>>(run, harness.childrenOf));
    },
    send: async (
      data,
      { stream = DEFAULT_INPUT_STREAM, whileBusy, ...rest }: SendOptions & { stream?: string } = {},
    ) => {
      const source = { kind: "api", id: null } as const;
      const { record, disposition } = store.send(checkStreamName(stream), [toRecord(data, rest)], {
        ...{ source, run: null, whileBusy },
      });
      return fromWire(sentRecordShape, { ...structuredClone(record), disposition });
    },
    next: (stream: string = DEFAULT_OUTPUT_STREAM) => reading.next(stream) as Promise<RecordOf<never>>,
    records: (stream: string = DEFAULT_OUTPUT_STREAM) => reading.all(stream) as RecordOf<never>[],
    messages: () => store.messages.map(({ wire }) => fromWire(messageShape, structuredClone(wire))),
    upload: (content, options) => ownSession(harness, true).files.upload(store.id, content, options),
    state: () => structuredClone(store.state) as Versioned<StateOf<A> | null>,
    interrupt: async (messageId) => ({ messageId, status: store.interrupt(messageId) }),
    close: async () => store.end("closed"),
    cancel: async () => store.end("cancelled"),
  };
}
