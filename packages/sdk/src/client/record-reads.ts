import { MESSAGE_CONTENT_TYPE } from "@keelson/contract/plain";
import type { RecordPage, StreamRecord } from "./resources.ts";
import { UsageError } from "../keelson-error.ts";
import { toMilliseconds, toWireDuration, type DurationInput } from "../duration-input.ts";
import { callOptions, type CallOptions } from "./exchange.ts";
import { followStream, type FollowOptions } from "./follow-stream.ts";
import type { RecordOf } from "./record-appends.ts";
import { streamPath, type SessionTarget } from "./session-path.ts";
import type { Transport } from "./transport.ts";
import { recordPageShape, streamRecordShape } from "./wire-shapes.ts";

/** What is read of which stream. */
type Selection = {
  /** Default: the stream that the direction is named after. */
  stream?: string;
  /** Default `output`. */
  direction?: "input" | "output";
  /** Only the records with this correlation id. */
  correlationId?: string;
};

/** Whether records that say how a message has ended are among those that are given. */
export type EndOptions = {
  /**
   * Also gives the records that say how a message of `pipe()` has ended, as `joinMessages` and `messageEndOf` read them. Default
   * false: all records have data of their own.
   */
  messageEnds?: boolean;
};

/** Options of reading one page of a stream. */
export type ReadOptions = CallOptions &
  Selection &
  EndOptions & {
    /** The sequence of a record: reading starts after it. By default at the beginning. */
    cursor?: string | number;
    /** 1 to 200. Default 50. */
    limit?: number;
    /** `false`: only input that no run has received and that nobody has withdrawn. */
    received?: false;
    /** Wait up to this long, at most 60 s, for a record after the cursor. Default: do not wait. */
    wait?: DurationInput;
  };

/** Where reading starts: after a record, by its sequence; of several streams by the sequence of one in each. */
export type RecordsCursor = string | number | Readonly<Record<string, number>>;

/** Options of following a stream. */
export type RecordsOptions = Omit<FollowOptions, "cursor"> &
  Omit<Selection, "stream"> &
  EndOptions & {
    /**
     * Default: the stream that the direction is named after. Several are followed over one connection, at most 10, with `follow`;
     * each record says which stream it is of.
     */
    stream?: string | readonly string[];
    /** The sequence of a record: reading starts after it. Of several streams one for each, by name. By default at the beginning. */
    cursor?: RecordsCursor;
    /** Follow the stream until the session has ended, and do not stop at the last record. Default false. */
    follow?: boolean;
  };

/** One page. */
export async function readRecords(
  transport: Transport,
  target: SessionTarget,
  { messageEnds = false, ...options }: ReadOptions,
): Promise<RecordPage> {
  const page = await readPage(transport, target, options);
  return messageEnds ? page : { ...page, records: page.records.filter((record) => !isEnd(record)) };
}

/** One page, with all its records. */
function readPage(
  transport: Transport,
  target: SessionTarget,
  options: Omit<ReadOptions, "messageEnds">,
): Promise<RecordPage> {
  const { direction = "output", stream = direction, cursor, limit, received, wait, correlationId } = options;
  // The limit for the whole request is what the server may wait, and the usual time for the rest.
  const waitMs = wait === undefined ? 0 : toMilliseconds(wait, "wait");
  const query = {
    cursor,
    limit,
    correlation_id: correlationId,
    received: received === undefined ? undefined : String(received),
    wait: wait === undefined ? undefined : toWireDuration(wait, "wait"),
  };
  return transport.ask(recordPageShape, {
    method: "GET",
    path: streamPath("/api", target, direction, stream, query, wait === undefined ? "" : "/read"),
    requestTimeout: transport.config.timeoutMs + waitMs,
    ...callOptions(options),
  });
}

/** The records there are, page by page. */
async function* readAllRecords(
  transport: Transport,
  target: SessionTarget,
  { messageEnds = false, ...options }: Omit<ReadOptions, "wait">,
): AsyncGenerator<StreamRecord> {
  let cursor = options.cursor;
  for (;;) {
    const page = await readPage(transport, target, {
      limit: 200,
      ...options,
      ...(cursor !== undefined && { cursor }),
    });
    yield* messageEnds ? page.records : page.records.filter((record) => !isEnd(record));
    if (page.records.length === 0 || page.nextCursor === null || page.ended) return;
    cursor = page.nextCursor;
  }
}

/** The records there are, or also those that come until the session has ended. */
export function readOrFollow<Data>(
  transport: Transport,
  id: string,
  { follow = false, cursor, ...options }: RecordsOptions,
): AsyncGenerator<RecordOf<Data>> {
  const { direction = "output", stream = direction, correlationId, ...rest } = options;
  const after = cursor === undefined ? {} : { cursor: cursorText(cursor) };
  if (!follow) {
    if (typeof stream !== "string") throw new UsageError("Several streams are read with follow: true");
    return readAllRecords(transport, id, { ...options, ...after, stream }) as AsyncGenerator<RecordOf<Data>>;
  }
  const query = { follow: 1, correlation_id: correlationId };
  const path = streamPath("/api", id, direction, String(stream), query, "/read");
  return followRecords(transport, path, { ...rest, ...after });
}

/** The records at a path that streams them, across disconnects, each once and in order, until the session has ended. */
export async function* followRecords<Data>(
  transport: Transport,
  path: string,
  {
    cursor,
    messageEnds = false,
    ...options
  }: Omit<FollowOptions, "cursor"> & EndOptions & { cursor?: RecordsCursor },
): AsyncGenerator<RecordOf<Data>> {
  const after = cursor === undefined ? {} : { cursor: cursorText(cursor) };
  for await (const event of followStream(transport, path, { ...options, ...after })) {
    if (event.event !== "record") continue;
    const record = transport.read(streamRecordShape, event.data) as RecordOf<Data>;
    if (messageEnds || !isEnd(record)) yield record;
  }
}

/** As the ids of events have it. */
const cursorText = (cursor: RecordsCursor): string =>
  typeof cursor === "object"
    ? Object.entries(cursor)
        .map((place) => place.join(":"))
        .join()
    : String(cursor);

const isEnd = ({ contentType }: Pick<StreamRecord, "contentType">): boolean =>
  contentType === MESSAGE_CONTENT_TYPE;
