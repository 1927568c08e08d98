import type { RecordPage, Run, Session, StartedAndWaited, Stream, StreamRecord } from "@keelson/contract";
import type { SessionStatus } from "@keelson/contract/plain";
import { toMilliseconds, toWireDuration, type DurationInput } from "../duration-input.ts";
import { callOptions, type ApiRequest, type CallOptions, type RequestOptions } from "./exchange.ts";
import type { PagedList, PageQuery } from "./paged-list.ts";
import { listOf } from "./fetch-page.ts";
import {
  appendRecord,
  appendRecords,
  type AppendBatchCallOptions,
  type AppendCallOptions,
  type NewRecord,
  type RecordOf,
} from "./record-appends.ts";
import {
  followRecords,
  readAllRecords,
  readRecords,
  type ReadOptions,
  type RecordsOptions,
} from "./record-reads.ts";
import { createSessionHandle, type SessionHandle } from "./session-handle.ts";
import { toWireChanges, toWireSession, type NewSession, type SessionChanges } from "./session-options.ts";
import { sessionPath, streamPath, type SessionTarget } from "./session-path.ts";
import type { Transport } from "./transport.ts";

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
   * Makes a session and starts its first run. With the external id of an open session: that session, untouched; a
   * ConflictError `session_conflict` when it is another entrypoint's.
   */
  create(session: NewSession, options?: CallOptions): Promise<Session>;
  /**
   * As `create`, and waits up to `timeout` (default 60 s, at most 10 min) for the run's end; `timed_out` says whether
   * it was too long. The run goes on when the caller leaves: the same call with the same external id or idempotency
   * key waits on.
   */
  startAndWait(
    session: NewSession & { timeout?: DurationInput },
    options?: CallOptions,
  ): Promise<StartedAndWaited>;
  /** Newest first. */
  list(query?: SessionQuery, options?: RequestOptions): PagedList<Session>;
  /** By its id; an external id is never one. */
  get(id: string, options?: RequestOptions): Promise<Session>;
  /** The open session of the external id, else the newest. */
  getByExternalId(externalId: string, options?: RequestOptions): Promise<Session>;
  /** Changes what is given and leaves the rest. */
  update(id: string, changes: SessionChanges, options?: RequestOptions): Promise<Session>;
  /** Ends the session's input; a run that is under way finishes. Closing a closed session gives it as it is. */
  close(id: string, options?: RequestOptions & { reason?: string }): Promise<Session>;
  /** Ends the session and asks its run to end. */
  cancel(id: string, options?: RequestOptions): Promise<Session>;
  /** The runs of its turns, newest first. */
  runs(id: string, query?: PageQuery, options?: RequestOptions): PagedList<Run>;
  /** Its streams, each with how many records it has. */
  streams(id: string, query?: PageQuery, options?: RequestOptions): PagedList<Stream>;
  /** Appends a record to an input stream. An open session whose run has ended starts its next run by it. */
  send(session: SessionTarget, data: unknown, options?: AppendCallOptions): Promise<StreamRecord>;
  /** Appends up to 500 records to an input stream, all or none. */
  sendBatch(
    session: SessionTarget,
    records: readonly NewRecord[],
    options?: AppendBatchCallOptions,
  ): Promise<StreamRecord[]>;
  /** Appends a record to an output stream, as its run does. */
  append(id: string, data: unknown, options?: AppendCallOptions): Promise<StreamRecord>;
  /** Appends up to 500 records to an output stream, all or none. */
  appendBatch(
    id: string,
    records: readonly NewRecord[],
    options?: AppendBatchCallOptions,
  ): Promise<StreamRecord[]>;
  /** One page of a stream's records, oldest first; with `wait` it waits for the first one after the cursor. */
  read(id: string, options?: ReadOptions): Promise<RecordPage>;
  /** A stream's records, oldest first. With `follow` it goes on over disconnects until the session has ended. */
  records<Data = unknown>(id: string, options?: RecordsOptions): AsyncGenerator<RecordOf<Data>>;
  /** A session at hand. Nothing is asked before its methods are called. */
  open(session: SessionTarget | Session): SessionHandle;
};

const DEFAULT_WAIT_MS = 60_000;

function startAndWait(
  transport: Transport,
  { timeout, ...session }: NewSession & { timeout?: DurationInput },
  options: CallOptions,
): Promise<StartedAndWaited> {
  const waitMs = timeout === undefined ? DEFAULT_WAIT_MS : toMilliseconds(timeout, "timeout");
  const wire = timeout === undefined ? {} : { timeout: toWireDuration(timeout, "timeout") };
  return transport.request({
    method: "POST",
    path: "/api/sessions/start-and-wait",
    body: { json: { ...toWireSession(session), ...wire } },
    repeatable: session.idempotencyKey !== undefined,
    timeoutMs: transport.config.timeoutMs + waitMs,
    ...callOptions(options),
  });
}

function records<Data>(
  transport: Transport,
  id: string,
  { follow = false, ...options }: RecordsOptions,
): AsyncGenerator<RecordOf<Data>> {
  if (!follow) return readAllRecords(transport, id, options) as AsyncGenerator<RecordOf<Data>>;
  const { direction = "output", stream = direction, correlationId, ...rest } = options;
  const query = { follow: 1, correlation_id: correlationId };
  const path = streamPath("/api", id, direction, stream, query, "/read");
  return followRecords(transport, path, rest);
}

export function createSessionsApi(transport: Transport): SessionsApi {
  const get = (path: string, options: RequestOptions): Promise<Session> =>
    transport.request({ method: "GET", path, ...options });
  /** For what has no second effect when it is done again. */
  const change = (
    method: ApiRequest["method"],
    path: string,
    json: object,
    options: RequestOptions,
  ): Promise<Session> => transport.request({ method, path, body: { json }, repeatable: true, ...options });
  const input = (target: SessionTarget, { stream = "input" }: AppendBatchCallOptions): string =>
    streamPath("/api", target, "input", stream);
  const output = (id: string, { stream = "output" }: AppendBatchCallOptions): string =>
    streamPath("/api", id, "output", stream);

  const api: SessionsApi = {
    create: (session, options = {}) =>
      transport.request({
        method: "POST",
        path: "/api/sessions",
        body: { json: toWireSession(session) },
        repeatable: session.idempotencyKey !== undefined,
        ...callOptions(options),
      }),
    startAndWait: (session, options = {}) => startAndWait(transport, session, options),
    list: ({ externalId, status, task, actor, tag, ...query } = {}, options = {}) => {
      const filters = { external_id: externalId, status, task, actor, tag };
      return listOf(transport, "/api/sessions", "sessions", { ...query, filters }, options);
    },
    get: (id, options = {}) => get(sessionPath("/api", id), options),
    getByExternalId: (externalId, options = {}) => get(sessionPath("/api", { externalId }), options),
    update: (id, changes, options = {}) =>
      change("PATCH", sessionPath("/api", id), toWireChanges(changes), options),
    close: (id, { reason, ...options } = {}) =>
      change("POST", sessionPath("/api", id, "/close"), reason === undefined ? {} : { reason }, options),
    cancel: (id, options = {}) => change("POST", sessionPath("/api", id, "/cancel"), {}, options),
    runs: (id, query = {}, options = {}) =>
      listOf(transport, sessionPath("/api", id, "/runs"), "runs", query, options),
    streams: (id, query = {}, options = {}) =>
      listOf(transport, sessionPath("/api", id, "/streams"), "streams", query, options),
    send: (target, data, options = {}) => appendRecord(transport, input(target, options), data, options),
    sendBatch: (target, batch, options = {}) =>
      appendRecords(transport, input(target, options), batch, options),
    append: (id, data, options = {}) => appendRecord(transport, output(id, options), data, options),
    appendBatch: (id, batch, options = {}) => appendRecords(transport, output(id, options), batch, options),
    read: (id, options = {}) => readRecords(transport, id, options),
    records: (id, options = {}) => records(transport, id, options),
    open: (session) => createSessionHandle(api, session),
  };
  return api;
}
