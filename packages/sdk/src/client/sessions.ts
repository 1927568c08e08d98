import type {
  Message,
  MessageInterrupted,
  RecordPage,
  Run,
  SentRecord,
  Session,
  StartedAndWaited,
  Stream,
  StreamRecord,
  Usage,
} from "./resources.ts";
import type { SessionStatus } from "@keelson/contract/plain";
import type { DurationInput } from "../duration-input.ts";
import { withKey } from "./automatic-key.ts";
import { callOptions, type ApiRequest, type CallOptions, type RequestOptions } from "./exchange.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { listOf } from "./fetch-page.ts";
import { interruptMessage, listMessages, type MessageQuery } from "./messages.ts";
import {
  appendRecord,
  appendRecords,
  type AppendBatchCallOptions,
  type AppendCallOptions,
  sendRecord,
  sendRecords,
  type NewRecord,
  type RecordOf,
  type SendBatchCallOptions,
  type SendCallOptions,
} from "./record-appends.ts";
import { readOrFollow, readRecords, type ReadOptions, type RecordsOptions } from "./record-reads.ts";
import { startAndWait } from "./start-and-wait.ts";
import { createSessionHandle, type SessionHandle } from "./session-handle.ts";
import {
  toWireChanges,
  toWireSession,
  type ActorLike,
  type NewSession,
  type SentTo,
  type SessionChanges,
  type WithdrawOptions,
} from "./session-options.ts";
import { readUsage } from "./read-usage.ts";
import {
  readState,
  writeState,
  type SetStateCallOptions,
  type StateOf,
  type StateOfSession,
} from "./session-state.ts";
import { createSessionFilesApi, type SessionFilesApi } from "./session-files.ts";
import { sessionPath, streamPath, type SessionTarget } from "./session-path.ts";
import type { Transport } from "./transport.ts";
import { runShape, sessionShape, streamRecordShape, streamShape } from "./wire-shapes.ts";

/** Filters of `sessions.list()`. */
export type SessionQuery = PageQuery & {
  /** Only the sessions, open and ended, with this external id. */
  externalId?: string;
  /** Only sessions in this status, or one of these. */
  status?: SessionStatus | readonly SessionStatus[];
  /** Only sessions of the task with this declared id. */
  task?: string;
  /** Only sessions of the actor with this declared id. */
  actor?: string;
  /** All of them. */
  tag?: string | readonly string[];
};

/** `client.sessions`. */
export type SessionsApi = {
  /**
   * Creates a session and starts its first run. With the external id of an open session, returns that session unchanged.
   * Rejects with a ConflictError `session_conflict` when that session has another entrypoint.
   *
   * @example
   * ```ts
   * const session = await client.sessions.create({ actor: "support", externalId: "visitor-1" });
   * ```
   */
  create<T extends { readonly id: string } | string, A extends ActorLike | string>(
    session: NewSession<T, A>,
    options?: CallOptions,
  ): Promise<Session>;
  /**
   * As `create`, and waits up to `timeout` (default 60 s, at most 10 min) for the end of the run. `timedOut` says
   * whether the timeout passed first. The run continues when the caller disconnects: the same call with the same
   * external id or idempotency key continues the wait.
   *
   * @example
   * ```ts
   * const { run, timedOut } = await client.sessions.startAndWait({ actor: "support", timeout: "30s" });
   * ```
   */
  startAndWait<T extends { readonly id: string } | string, A extends ActorLike | string>(
    session: NewSession<T, A> & { timeout?: DurationInput },
    options?: CallOptions,
  ): Promise<StartedAndWaited>;
  /**
   * Newest first.
   *
   * @example
   * ```ts
   * for await (const session of client.sessions.list({ status: "open" })) console.log(session.id);
   * ```
   */
  list(query?: SessionQuery, options?: RequestOptions): PagedList<Session>;
  /**
   * One session by its id. External ids are not accepted.
   *
   * @example
   * ```ts
   * const session = await client.sessions.get("sess_01k…");
   * ```
   */
  get(id: string, options?: RequestOptions): Promise<Session>;
  /**
   * The open session with the external id, or else the newest one.
   *
   * @example
   * ```ts
   * const session = await client.sessions.getByExternalId("visitor-1");
   * ```
   */
  getByExternalId(externalId: string, options?: RequestOptions): Promise<Session>;
  /**
   * Changes the given fields only.
   *
   * @example
   * ```ts
   * await client.sessions.update("sess_01k…", { tags: ["vip"] });
   * ```
   */
  update(id: string, changes: SessionChanges, options?: RequestOptions): Promise<Session>;
  /**
   * Closes the session for input. A live run finishes. Closing a closed session returns it unchanged.
   *
   * @example
   * ```ts
   * await client.sessions.close("sess_01k…", { reason: "The question is answered" });
   * ```
   */
  close(id: string, options?: RequestOptions & { reason?: string }): Promise<Session>;
  /**
   * Ends the session and cancels its run.
   *
   * @example
   * ```ts
   * await client.sessions.cancel("sess_01k…");
   * ```
   */
  cancel(id: string, options?: RequestOptions): Promise<Session>;
  /**
   * The runs of its turns, newest first.
   *
   * @example
   * ```ts
   * for await (const run of client.sessions.runs("sess_01k…")) console.log(run.turn, run.status);
   * ```
   */
  runs(id: string, query?: PageQuery, options?: RequestOptions): PagedList<Run>;
  /**
   * The session's streams, each with the number of its records.
   *
   * @example
   * ```ts
   * for await (const stream of client.sessions.streams("sess_01k…")) console.log(stream.name);
   * ```
   */
  streams(id: string, query?: PageQuery, options?: RequestOptions): PagedList<Stream>;
  /**
   * What its runs wrote by `pipe()`, newest first: each with its state, and with all of it once it has ended.
   *
   * @example
   * ```ts
   * for await (const message of client.sessions.messages("sess_01k…")) console.log(message.status, message.data);
   * ```
   */
  messages(id: string, query?: MessageQuery, options?: RequestOptions): PagedList<Message>;
  /**
   * Asks the code that writes a message to stop. It ends within ten seconds, with what was written until then. A message that
   * has ended stays as it is: a request that comes late stops no other.
   *
   * @example
   * ```ts
   * const [open] = (await client.sessions.messages("sess_01k…", { status: "open" }).page()).items;
   * if (open) await client.sessions.interrupt("sess_01k…", open.id);
   * ```
   */
  interrupt(id: string, messageId: string, options?: RequestOptions): Promise<MessageInterrupted>;
  /**
   * What the session remembers between its turns, with its version; null with version 0 while it was never set.
   * `state<typeof chat>(session)` has the type of the actor `chat`.
   *
   * @example
   * ```ts
   * const { state, version } = await client.sessions.state("sess_01k…");
   * ```
   */
  state<A extends ActorLike = ActorLike>(
    session: SessionTarget,
    options?: RequestOptions,
  ): Promise<StateOfSession<A>>;
  /**
   * Replaces what the session remembers: any JSON of up to 256 KiB. With `ifVersion`, the state must still have that version:
   * another one rejects with a ConflictError `state_conflict`, which has the present one in `details.version`. An ended session
   * rejects with `session_closed`.
   *
   * @example
   * ```ts
   * const { version } = await client.sessions.state("sess_01k…");
   * await client.sessions.setState("sess_01k…", { topic: "delivery" }, { ifVersion: version });
   * ```
   */
  setState<A extends ActorLike = ActorLike>(
    session: SessionTarget,
    state: StateOf<A>,
    options?: SetStateCallOptions,
  ): Promise<StateOfSession<A>>;
  /** Pictures and documents that its messages refer to. */
  files: SessionFilesApi;
  /**
   * What the calls of models used, as code has said so by `ctx.usage.add()`: of its runs, and of the runs that those started.
   *
   * @example
   * ```ts
   * const { calls, costUsd } = await client.sessions.usage({ externalId: "visitor-1" });
   * ```
   */
  usage(session: SessionTarget, options?: RequestOptions): Promise<Usage>;
  /**
   * Appends a record to an input stream. When the run of an open session has ended, the record starts the next run.
   * `disposition` says whether it did. `send<typeof chat>(session, data)` has the types of the actor `chat`.
   *
   * @example
   * ```ts
   * await client.sessions.send({ externalId: "visitor-1" }, { text: "Hello" });
   * ```
   */
  send<A extends ActorLike = ActorLike, const S extends string = "input">(
    session: SessionTarget,
    data: SentTo<A, S>,
    options?: SendCallOptions & { stream?: S },
  ): Promise<SentRecord>;
  /**
   * Appends up to 500 records to an input stream, all or none.
   *
   * @example
   * ```ts
   * await client.sessions.sendBatch("sess_01k…", [{ data: { text: "Hello" } }, { data: { text: "Are you there?" } }]);
   * ```
   */
  sendBatch<A extends ActorLike = ActorLike, const S extends string = "input">(
    session: SessionTarget,
    records: readonly NewRecord<SentTo<A, S>>[],
    options?: SendBatchCallOptions & { stream?: S },
  ): Promise<SentRecord[]>;
  /**
   * Takes back input that no run has received: none will, and it starts no turn. The record stays with its sequence, and
   * its `data` is null. Withdrawing again returns the same. Rejects with a ConflictError `already_received` when a run has
   * received it.
   *
   * @example
   * ```ts
   * const { sequence } = await client.sessions.send("sess_01k…", { text: "Hello" });
   * await client.sessions.withdraw("sess_01k…", sequence);
   * ```
   */
  withdraw(session: SessionTarget, sequence: number, options?: WithdrawOptions): Promise<StreamRecord>;
  /**
   * Appends a record to an output stream, as its run does.
   *
   * @example
   * ```ts
   * await client.sessions.append("sess_01k…", { text: "An answer" });
   * ```
   */
  append(id: string, data: unknown, options?: AppendCallOptions): Promise<StreamRecord>;
  /**
   * Appends up to 500 records to an output stream, all or none.
   *
   * @example
   * ```ts
   * await client.sessions.appendBatch("sess_01k…", [{ data: "one" }, { data: "two" }], { stream: "log" });
   * ```
   */
  appendBatch(
    id: string,
    records: readonly NewRecord[],
    options?: AppendBatchCallOptions,
  ): Promise<StreamRecord[]>;
  /**
   * One page of a stream's records, oldest first. With `wait` it waits for the first record after the cursor.
   *
   * @example
   * ```ts
   * const { records, nextCursor } = await client.sessions.read("sess_01k…", { stream: "answer" });
   * ```
   */
  read(id: string, options?: ReadOptions): Promise<RecordPage>;
  /**
   * A stream's records, oldest first. With `follow` it reconnects and continues until the session has ended.
   *
   * @example
   * ```ts
   * for await (const record of client.sessions.records<{ text: string }>("sess_01k…", { follow: true })) show(record.data.text);
   * ```
   */
  records<Data = unknown>(id: string, options?: RecordsOptions): AsyncGenerator<RecordOf<Data>>;
  /**
   * A handle of a session. It sends no request before you call its methods. `open<typeof chat>(session)` has the types
   * of the actor `chat`.
   *
   * @example
   * ```ts
   * const session = client.sessions.open({ externalId: "visitor-1" });
   * await session.send({ text: "Hello" });
   * ```
   */
  open<A extends ActorLike = ActorLike>(session: SessionTarget | Session): SessionHandle<A>;
};

export function createSessionsApi(transport: Transport): SessionsApi {
  const get = (path: string, options: RequestOptions): Promise<Session> =>
    transport.ask(sessionShape, { method: "GET", path, ...options });
  /** For what has no second effect when it is done again. */
  const change = (
    method: ApiRequest["method"],
    path: string,
    json: object,
    options: RequestOptions,
  ): Promise<Session> =>
    transport.ask(sessionShape, { method, path, body: { json }, repeatable: true, ...options });
  const input = (target: SessionTarget, { stream = "input" }: AppendBatchCallOptions): string =>
    streamPath("/api", target, "input", stream);
  const output = (id: string, { stream = "output" }: AppendBatchCallOptions): string =>
    streamPath("/api", id, "output", stream);

  const api: SessionsApi = {
    create: (session, options = {}) =>
      transport.ask(sessionShape, {
        method: "POST",
        path: "/api/sessions",
        body: { json: toWireSession(withKey(session, transport.config)) },
        repeatable: true,
        ...callOptions(options),
      }),
    startAndWait: (session, options = {}) => startAndWait(transport, session, options),
    list: ({ externalId, status, task, actor, tag, ...query } = {}, options = {}) => {
      const filters = { external_id: externalId, status, task, actor, tag };
      return listOf(transport, sessionShape, "/api/sessions", "sessions", { ...query, filters }, options);
    },
    get: (id, options = {}) => get(sessionPath("/api", id), options),
    getByExternalId: (externalId, options = {}) => get(sessionPath("/api", { externalId }), options),
    update: (id, changes, options = {}) =>
      change("PATCH", sessionPath("/api", id), toWireChanges(changes), options),
    close: (id, { reason, ...options } = {}) =>
      change("POST", sessionPath("/api", id, "/close"), reason === undefined ? {} : { reason }, options),
    cancel: (id, options = {}) => change("POST", sessionPath("/api", id, "/cancel"), {}, options),
    runs: (id, query = {}, options = {}) =>
      listOf(transport, runShape, sessionPath("/api", id, "/runs"), "runs", query, options),
    streams: (id, query = {}, options = {}) =>
      listOf(transport, streamShape, sessionPath("/api", id, "/streams"), "streams", query, options),
    messages: (id, query = {}, options = {}) => listMessages(transport, "/api", id, query, options),
    interrupt: (id, messageId, options = {}) => interruptMessage(transport, "/api", id, messageId, options),
    state: (target, options = {}) => readState(transport, target, options) as Promise<StateOfSession<never>>,
    setState: (target, state, options = {}) =>
      writeState(transport, target, state, options) as Promise<StateOfSession<never>>,
    files: createSessionFilesApi(transport, "/api"),
    usage: (target, options = {}) =>
      readUsage(transport, { path: sessionPath("/api", target, "/usage") }, options),
    send: (target, data, options = {}) =>
      sendRecord(transport, input(target, options), data, withKey(options, transport.config)),
    sendBatch: (target, batch, options = {}) =>
      sendRecords(transport, input(target, options), batch, withKey(options, transport.config)),
    withdraw: (target, sequence, { stream = "input", ...options } = {}) =>
      transport.ask(streamRecordShape, {
        method: "DELETE",
        path: streamPath("/api", target, "input", stream, {}, `/${sequence}`),
        repeatable: true,
        ...options,
      }),
    append: (id, data, options = {}) => appendRecord(transport, output(id, options), data, options),
    appendBatch: (id, batch, options = {}) => appendRecords(transport, output(id, options), batch, options),
    read: (id, options = {}) => readRecords(transport, id, options),
    records: (id, options = {}) => readOrFollow(transport, id, options),
    open: (session) => createSessionHandle(api, session),
  };
  return api;
}
