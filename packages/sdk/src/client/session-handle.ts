import type {
  Message,
  MessageInterrupted,
  RecordPage,
  Run,
  SentRecord,
  Session,
  Stream,
  StreamRecord,
  Usage,
} from "./resources.ts";
import type { EmittedOf } from "../actor.ts";
import type { InputOf } from "../task.ts";
import type { RequestOptions } from "./exchange.ts";
import { laterList, type PagedList, type PageQuery } from "./paged-list.ts";
import type {
  AppendCallOptions,
  NewRecord,
  RecordOf,
  SendBatchCallOptions,
  SendCallOptions,
} from "./record-appends.ts";
import type { ReadOptions, RecordsOptions } from "./record-reads.ts";
import type { ActorLike, SentTo, SessionChanges, WithdrawOptions } from "./session-options.ts";
import type { SessionTarget } from "./session-path.ts";
import type { SetStateCallOptions, StateOf, StateOfSession } from "./session-state.ts";
import type { HandleFiles } from "./session-files.ts";
import type { MessageQuery } from "./messages.ts";
import type { SessionsApi } from "./sessions.ts";

type StreamOptions = Omit<RecordsOptions, "stream" | "direction">;

/**
 * One session. With an external id, the first call finds the open session with that id, or else the newest one. Later
 * calls use the same session, so a follower never continues in another conversation.
 */
export type SessionHandle<A extends ActorLike = ActorLike> = {
  /** Its id; for an external id the server is asked once. */
  id(options?: RequestOptions): Promise<string>;
  /** The session as it is now. */
  get(options?: RequestOptions): Promise<Session>;
  /** Changes the given fields only. */
  update(changes: SessionChanges, options?: RequestOptions): Promise<Session>;
  /** Closes the session for input; its run continues. Safe to repeat. */
  close(options?: RequestOptions & { reason?: string }): Promise<Session>;
  /** Ends it and its run. Safe to repeat. */
  cancel(options?: RequestOptions): Promise<Session>;
  /** Its runs, newest first: a turn each. */
  runs(query?: PageQuery, options?: RequestOptions): PagedList<Run>;
  /** What its runs wrote by `pipe()`, newest first. */
  messages(query?: MessageQuery, options?: RequestOptions): PagedList<Message>;
  /** Asks the code that writes a message to stop. Safe to repeat, and to send late. */
  interrupt(messageId: string, options?: RequestOptions): Promise<MessageInterrupted>;
  /** What it remembers between its turns, with its version; null with version 0 while it was never set. */
  state(options?: RequestOptions): Promise<StateOfSession<A>>;
  /** Replaces what it remembers, as `client.sessions.setState`. */
  setState(state: StateOf<A>, options?: SetStateCallOptions): Promise<StateOfSession<A>>;
  /** Pictures and documents that its messages refer to. */
  readonly files: HandleFiles;
  /** What the calls of models of its runs used. */
  usage(options?: RequestOptions): Promise<Usage>;
  /** Its streams. */
  streams(query?: PageQuery, options?: RequestOptions): PagedList<Stream>;
  /** Appends a record to an input stream, `input` by default. */
  send<const S extends string = "input">(
    data: SentTo<A, S>,
    options?: SendCallOptions & { stream?: S },
  ): Promise<SentRecord>;
  /** Appends up to 500 records to an input stream, all or none. */
  sendBatch<const S extends string = "input">(
    records: readonly NewRecord<SentTo<A, S>>[],
    options?: SendBatchCallOptions & { stream?: S },
  ): Promise<SentRecord[]>;
  /** Takes back input that no run has received, as `client.sessions.withdraw`. */
  withdraw(sequence: number, options?: WithdrawOptions): Promise<StreamRecord>;
  /** Appends a record to an output stream, `output` by default. */
  append(data: unknown, options?: AppendCallOptions): Promise<StreamRecord>;
  /** One page of a stream. */
  read(options?: ReadOptions): Promise<RecordPage>;
  /**
   * The records of an output stream, over disconnects, until the session has ended or, with `follow: false`, as many as
   * there are.
   */
  output(stream?: "output", options?: StreamOptions): AsyncGenerator<RecordOf<EmittedOf<A>>>;
  /** The records of another output stream, or of up to 10 over one connection. Nobody checks that they are `Data`. */
  output<Data = unknown>(
    stream?: string | readonly string[],
    options?: StreamOptions,
  ): AsyncGenerator<RecordOf<Data>>;
  /** As `output`, of an input stream. */
  input(stream?: "input", options?: StreamOptions): AsyncGenerator<RecordOf<InputOf<A>>>;
  /** The records of another input stream. Nobody checks that they are `Data`. */
  input<Data = unknown>(stream?: string, options?: StreamOptions): AsyncGenerator<RecordOf<Data>>;
};

export function createSessionHandle<A extends ActorLike>(
  api: SessionsApi,
  session: SessionTarget | Session,
): SessionHandle<A> {
  let known = typeof session === "string" ? session : "id" in session ? session.id : null;
  const target = (): SessionTarget => known ?? session;

  async function id(options: RequestOptions = {}): Promise<string> {
    if (known === null) {
      const { externalId } = session as { externalId: string };
      known = (await api.getByExternalId(externalId, options)).id;
    }
    return known;
  }

  const listLater = <T>(list: (id: string) => PagedList<T>, options: RequestOptions): PagedList<T> =>
    laterList(async () => list(await id(options)));

  async function* records<Data>(options: RecordsOptions): AsyncGenerator<RecordOf<Data>> {
    const { signal } = options;
    yield* api.records<Data>(await id(signal === undefined ? {} : { signal }), options);
  }

  /** An answer says which session it was. */
  function stay(answer: { sessionId: string } | undefined): void {
    known ??= answer?.sessionId ?? null;
  }

  async function staying<T extends { sessionId: string }>(asked: Promise<T>): Promise<T> {
    const answer = await asked;
    stay(answer);
    return answer;
  }

  return {
    id,
    get: async (options = {}) => api.get(await id(options), options),
    update: async (changes, options = {}) => api.update(await id(options), changes, options),
    close: async (options = {}) => api.close(await id(), options),
    cancel: async (options = {}) => api.cancel(await id(options), options),
    runs: (query = {}, options = {}) => listLater((one) => api.runs(one, query, options), options),
    messages: (query = {}, options = {}) => listLater((one) => api.messages(one, query, options), options),
    interrupt: async (messageId, options = {}) => api.interrupt(await id(options), messageId, options),
    streams: (query = {}, options = {}) => listLater((one) => api.streams(one, query, options), options),
    state: (options = {}) => staying(api.state<A>(target(), options)),
    setState: (value, options = {}) => staying(api.setState<A>(target(), value, options)),
    files: {
      upload: (content, options = {}) => staying(api.files.upload(target(), content, options)),
      list: (query = {}, options = {}) => listLater((one) => api.files.list(one, query, options), options),
      get: (fileId, options = {}) => staying(api.files.get(target(), fileId, options)),
      read: async (fileId, options = {}) => api.files.read(await id(options), fileId, options),
      stream: async (fileId, options = {}) => api.files.stream(await id(options), fileId, options),
    },
    usage: (options = {}) => api.usage(target(), options),
    send: (data, options = {}) => staying(api.send(target(), data, options)),
    async sendBatch(batch, options = {}) {
      const records = await api.sendBatch(target(), batch, options);
      stay(records[0]);
      return records;
    },
    withdraw: (sequence, options = {}) => staying(api.withdraw(target(), sequence, options)),
    append: async (data, options = {}) => api.append(await id(), data, options),
    read: async (options = {}) => api.read(await id(), options),
    output: (stream: string | readonly string[] = "output", options: StreamOptions = {}) =>
      records<never>({ follow: true, ...options, stream, direction: "output" }),
    input: (stream: string = "input", options: StreamOptions = {}) =>
      records<never>({ follow: true, ...options, stream, direction: "input" }),
  };
}
