import type { PublicSessionPermission } from "@keelson/contract/plain";
import type { Message, MessageInterrupted, SentRecord } from "./resources.ts";
import { withKey } from "./automatic-key.ts";
import type { ClientConfig } from "./config.ts";
import type { RequestOptions } from "./exchange.ts";
import type { FollowOptions } from "./follow-stream.ts";
import { interruptMessage, listMessages, type MessageQuery } from "./messages.ts";
import type { PagedList } from "./paged-list.ts";
import {
  sendRecord,
  sendRecords,
  type NewRecord,
  type RecordOf,
  type SendBatchCallOptions,
  type SendCallOptions,
} from "./record-appends.ts";
import { followRecords, type EndOptions, type RecordsCursor } from "./record-reads.ts";
import type { EmittedOf } from "../actor.ts";
import type { ActorLike, SentTo } from "./session-options.ts";
import { streamPath, type SessionTarget } from "./session-path.ts";
import { createTransport, type Transport } from "./transport.ts";
import { UsageError } from "../keelson-error.ts";

/** The purpose of a token. `renew` says that the server refused the last one. */
export type TokenNeed = {
  /** The permission that the token needs. */
  permission: PublicSessionPermission;
  /** On which stream; several that one connection follows have commas in between. Empty for files, which are of no stream. */
  stream: string;
  /** For which exchange; null for all of the stream. */
  correlationId: string | null;
  /** The one before was refused: give another. */
  renew: boolean;
};

/**
 * A public access token, one token for each direction or for a conversation (`session.chat`), or a function that gets a token from your own server. The
 * function is called for each request and connection. It is called again with `renew` when the server refused a token
 * (expired or used up).
 */
export type TokenSource =
  | string
  | { send?: string; read?: string; chat?: string }
  | ((need: TokenNeed) => string | Promise<string>);

/** Options of reading an output stream. */
export type OutputOptions = Omit<FollowOptions, "cursor"> &
  EndOptions & {
    /** The sequence of a record: reading starts after it. Of several streams one for each, by name. By default at the beginning. */
    cursor?: RecordsCursor;
    /** Only the records with this correlation id; a token bound to one needs it. */
    correlationId?: string;
  };

/** A session, as a page reaches it with public access tokens. */
export type SessionClient<A extends ActorLike = ActorLike> = {
  /**
   * Appends a record to an input stream once, also when the request is repeated: without your own idempotency key, the
   * client makes one.
   */
  send<const S extends string>(
    stream: S,
    data: SentTo<A, S>,
    options?: Omit<SendCallOptions, "stream">,
  ): Promise<SentRecord>;
  /** Appends up to 500 records to an input stream, all or none. */
  sendBatch<const S extends string>(
    stream: S,
    records: readonly NewRecord<SentTo<A, S>>[],
    options?: Omit<SendBatchCallOptions, "stream"> & { correlationId?: string },
  ): Promise<SentRecord[]>;
  /**
   * The records of an output stream, each once and in order, until the session has ended. It reconnects without limit,
   * or `maxReconnects` times. Leave the loop or abort `signal` to stop.
   */
  output(stream: "output", options?: OutputOptions): AsyncGenerator<RecordOf<EmittedOf<A>>>;
  /** The records of another output stream, or of up to 10 over one connection. Nobody checks that they are `Data`. */
  output<Data = unknown>(
    stream: string | readonly string[],
    options?: OutputOptions,
  ): AsyncGenerator<RecordOf<Data>>;
  /** What the session's runs wrote by `pipe()`, newest first: the history, and what is being written. */
  messages(query?: MessageQuery, options?: RequestOptions): PagedList<Message>;
  /** Asks the code that writes a message to stop. Safe to repeat, and to send late. `stream`: the message's; default `output`. */
  interrupt(messageId: string, options?: RequestOptions & { stream?: string }): Promise<MessageInterrupted>;
};

export function tokenOf(source: TokenSource, need: TokenNeed): string | Promise<string> {
  if (typeof source === "string") return source;
  if (typeof source === "function") return source(need);
  const { send, read, chat } = source;
  const { permission } = need;
  const own = permission === "session.input.send" ? send : permission === "session.output.read" ? read : null;
  const token = own ?? chat;
  if (token === undefined) throw new UsageError(`No public access token for ${permission} was given`);
  return token;
}

export function createPublicSession<A extends ActorLike>(
  { url, ...config }: ClientConfig & { url: string },
  session: SessionTarget,
  source: TokenSource,
): SessionClient<A> {
  const connect = (need: Omit<TokenNeed, "renew">): Transport =>
    createTransport(config, {
      renewable: typeof source === "function",
      get: async (renew) => ({ url, apiKey: await tokenOf(source, { ...need, renew }) }),
    });
  const sending = (stream: string, correlationId: string | undefined): Transport =>
    connect({ permission: "session.input.send", stream, correlationId: correlationId ?? null });
  const named = (permission: PublicSessionPermission, stream: string = "output"): Transport =>
    connect({ permission, stream, correlationId: null });
  const inputPath = (stream: string): string => streamPath("/api/v1", session, "input", stream);

  return {
    send: (stream, data, options = {}) => {
      const keyed = withKey(options, config);
      return sendRecord(sending(stream, options.correlationId), inputPath(stream), data, keyed);
    },
    sendBatch: (stream, records, { correlationId, ...options } = {}) => {
      const keyed = withKey(options, config);
      const own = correlationId === undefined ? {} : { correlationId };
      const bound = records.map((record) => ({ ...own, ...record }));
      return sendRecords(sending(stream, correlationId), inputPath(stream), bound, keyed);
    },
    messages: (query = {}, options = {}) =>
      listMessages(named("session.messages.read", query.stream), "/api/v1", session, query, options),
    interrupt: (messageId, { stream, ...options } = {}) =>
      interruptMessage(named("session.interrupt", stream), "/api/v1", session, messageId, options),
    output: (streams: string | readonly string[], { correlationId, ...options }: OutputOptions = {}) => {
      const stream = String(streams);
      const need = {
        permission: "session.output.read",
        stream,
        correlationId: correlationId ?? null,
      } as const;
      const query = { follow: 1, correlation_id: correlationId };
      const path = streamPath("/api/v1", session, "output", stream, query, "/read");
      return followRecords<never>(connect(need), path, {
        maxReconnects: Number.POSITIVE_INFINITY,
        ...options,
      });
    },
  };
}
