import type { PublicPermission } from "@keelson/contract/plain";
import type { StreamRecord } from "@keelson/contract";
import type { ClientConfig } from "./config.ts";
import type { FollowOptions } from "./follow-stream.ts";
import { randomKey } from "./random.ts";
import {
  appendRecord,
  appendRecords,
  type AppendBatchCallOptions,
  type AppendCallOptions,
  type NewRecord,
  type RecordOf,
} from "./record-appends.ts";
import { followRecords } from "./record-reads.ts";
import { streamPath, type SessionTarget } from "./session-path.ts";
import { createTransport, type Transport } from "./transport.ts";

/** What a token is needed for. `renew` says that the last one was refused. */
export type TokenNeed = {
  /** What it must allow. */
  permission: PublicPermission;
  /** On which stream. */
  stream: string;
  /** For which exchange; null for all of the stream. */
  correlationId: string | null;
  /** The one before was refused: give another. */
  renew: boolean;
};

/**
 * A public access token, or one for each direction, or a function that gets one from your own server: it is asked at
 * each request and connection, and once more, with `renew`, when a token was refused (expired or used up).
 */
export type TokenSource =
  | string
  | { send?: string; read?: string }
  | ((need: TokenNeed) => string | Promise<string>);

/** Options of reading an output stream. */
export type OutputOptions = Omit<FollowOptions, "cursor"> & {
  /** A record's sequence: what comes after it. Absent: from the beginning. */
  cursor?: string | number;
  /** Only the records with this correlation id; a token bound to one needs it. */
  correlationId?: string;
};

/** A session, as a page reaches it with public access tokens. */
export type SessionClient = {
  /**
   * Appends a record to an input stream. It has an idempotency key of its own unless it is given one, so that it is
   * there once however often it had to be repeated.
   */
  send(stream: string, data: unknown, options?: Omit<AppendCallOptions, "stream">): Promise<StreamRecord>;
  /** Appends up to 500 records to an input stream, all or none. */
  sendBatch(
    stream: string,
    records: readonly NewRecord[],
    options?: Omit<AppendBatchCallOptions, "stream"> & { correlationId?: string },
  ): Promise<StreamRecord[]>;
  /**
   * The records of an output stream, each once and in order, until the session has ended. It reconnects for as long
   * as it takes unless `maxReconnects` says otherwise; leave the loop or abort `signal` to stop.
   */
  output<Data = unknown>(stream: string, options?: OutputOptions): AsyncGenerator<RecordOf<Data>>;
};

function tokenOf(source: TokenSource, need: TokenNeed): string | Promise<string> {
  if (typeof source === "string") return source;
  if (typeof source === "function") return source(need);
  const token = need.permission === "session.input.send" ? source.send : source.read;
  if (token === undefined) throw new TypeError(`No public access token for ${need.permission} was given`);
  return token;
}

export function createPublicSession(
  config: ClientConfig,
  session: SessionTarget,
  source: TokenSource,
): SessionClient {
  const connect = (need: Omit<TokenNeed, "renew">): Transport =>
    createTransport(config, {
      renewable: typeof source === "function",
      get: (renew) => tokenOf(source, { ...need, renew }),
    });
  const sending = (stream: string, correlationId: string | undefined): Transport =>
    connect({ permission: "session.input.send", stream, correlationId: correlationId ?? null });
  const inputPath = (stream: string): string => streamPath("/api/v1", session, "input", stream);

  return {
    send: (stream, data, options = {}) => {
      const keyed = { idempotencyKey: randomKey(), ...options };
      return appendRecord(sending(stream, options.correlationId), inputPath(stream), data, keyed);
    },
    sendBatch: (stream, records, { correlationId, ...options } = {}) => {
      const keyed = { idempotencyKey: randomKey(), ...options };
      const own = correlationId === undefined ? {} : { correlationId };
      const bound = records.map((record) => ({ ...own, ...record }));
      return appendRecords(sending(stream, correlationId), inputPath(stream), bound, keyed);
    },
    output: (stream, { correlationId, ...options } = {}) => {
      const need = {
        permission: "session.output.read",
        stream,
        correlationId: correlationId ?? null,
      } as const;
      const query = { follow: 1, correlation_id: correlationId };
      const path = streamPath("/api/v1", session, "output", stream, query, "/read");
      return followRecords(connect(need), path, { maxReconnects: Number.POSITIVE_INFINITY, ...options });
    },
  };
}
