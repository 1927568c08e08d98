import { encodeId, parseWait, type Uuid } from "@keelson/contract";
import type { Feed, FeedPage } from "../../../core/feeds/feed.ts";
import { waitUntil } from "../../../core/feeds/wait-until.ts";
import { wakeKeys } from "../../../core/feeds/wake-keys.ts";
import { findSession } from "../../../core/sessions/session-reads.ts";
import { directionMismatch } from "../../../core/streams/ensure-streams.ts";
import { openStream } from "../../../core/sessions/open-stream.ts";
import type { RecordRow } from "../../../core/streams/stream.ts";
import { readRecords } from "../../../core/streams/read-records.ts";
import { findStreams, type RecordRange } from "../../../core/streams/stream-reads.ts";
import { invalidRequest, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { FIRST_UUID } from "../../../uuid.ts";
import type { Frames } from "../../edge/event-stream.ts";
import { followCursor, wantsEventStream } from "../../edge/follow.ts";
import { cursorExpired, pageLimit, sequenceCursor } from "../../edge/page.ts";
import type { Reply, RequestFacts } from "../../edge/route.ts";
import { placesOf, type NamedFeed } from "../../edge/several-feeds.ts";
import { BYTES_PER_READ, RECORDS_PER_READ, recordGapFrame, recordsKey, toFrames } from "./record-frames.ts";
import type { StreamTarget, StreamTargets } from "./stream-target.ts";
import { recordJson } from "./wire.ts";

/** The data that a page holds at most, whatever its limit. */
const PAGE_BYTES = 1_048_576;
const DEFAULT_WAIT = "25s";
const MAX_WAIT_MS = 60_000;

export type RecordQuery = { cursor?: string; limit?: number; correlation_id?: string; received?: "false" };

type Place = {
  target: StreamTarget;
  streamId: Uuid<"strm"> | null;
  /** Records up to this one are no longer kept. Nothing of a stream is dropped before its session has ended. */
  keptAfter: number;
};

/** @throws DomainError `stream_direction_mismatch` when the stream is there and has the other direction. */
async function findPlace(server: ServerContext, target: StreamTarget): Promise<Place> {
  const [stream] = await findStreams(server.db, [target]);
  if (stream !== undefined && stream.direction !== target.direction)
    throw directionMismatch(target.name, stream.direction);
  return { target, streamId: stream?.id ?? null, keptAfter: stream?.keptAfter ?? 0 };
}

/** @throws DomainError `cursor_expired`; a reader from the beginning gets what is kept. */
function requireKept({ target, keptAfter }: Place, after: number): void {
  if (after > 0 && after < keptAfter) throw cursorExpired(`Records of ${target.name} are`, keptAfter);
}

/** A stream that nobody has used yet is empty. */
const NO_STREAM: Uuid<"strm"> = FIRST_UUID;

type Page = { records: RecordRow[]; ended: boolean };

/** A page, and whether it is the last one for good. One more record than is shown tells whether there are others. */
async function readPage(
  server: ServerContext,
  { target, streamId }: Place,
  after: number,
  query: RecordQuery,
): Promise<Page> {
  const limit = pageLimit(query.limit);
  const page = await readRecords(server.db, target.sessionId, {
    environmentId: target.environmentId,
    streamId: streamId ?? NO_STREAM,
    after,
    correlationId: query.correlation_id ?? null,
    unreceived: query.received === "false",
    limit: limit + 1,
    maxBytes: PAGE_BYTES,
  });
  if (page === null) throw notFound();
  const isLast = page.records.length <= limit && !page.isCut;
  return { records: page.records.slice(0, limit), ended: page.isOver && isLast };
}

function pageReply({ target }: Place, after: number, { records, ended }: Page): Reply {
  const last = records.at(-1)?.sequence ?? after;
  const rows = records.map((record) => recordJson(target.sessionId, target.name, record));
  return {
    status: 200,
    json: `{"records":[${rows.join(",")}],"next_cursor":${last === 0 ? "null" : `"${last}"`},"ended":${ended}}`,
  };
}

/** The records after the cursor, as they are now. */
export async function recordPage(
  server: ServerContext,
  target: StreamTarget,
  query: RecordQuery,
): Promise<Reply> {
  const after = sequenceCursor(query.cursor);
  const place = await findPlace(server, target);
  requireKept(place, after);
  return pageReply(place, after, await readPage(server, place, after, query));
}

export type ReadQuery = RecordQuery & { wait?: string; follow?: "0" | "1" };

/** Waits for the first record after the cursor, or streams them all as server-sent events; of several streams only that. */
export async function readRecordsReply(
  server: ServerContext,
  [target, ...others]: StreamTargets,
  query: ReadQuery,
  request: RequestFacts,
): Promise<Reply> {
  if (others.length > 0) return followStreams(server, [target, ...others], query, request);
  if (wantsEventStream(request, query.follow)) {
    const after = followCursor(request, query.cursor);
    const place = await openPlace(server, target);
    return {
      status: 200,
      events: { feed: recordFeed(server, place, query.correlation_id ?? null), after },
    };
  }
  const after = sequenceCursor(query.cursor);
  const longestMs = waitMs(query.wait ?? DEFAULT_WAIT);
  const place = await openPlace(server, target);
  requireKept(place, after);
  const page = await waitUntil(
    server,
    wakeKeys.stream(place.streamId ?? NO_STREAM),
    () => readPage(server, place, after, query),
    ({ records, ended }) => records.length > 0 || ended,
    { waitMs: longestMs, signal: request.signal },
  );
  return pageReply(place, after, page);
}

function waitMs(wait: string): number {
  const ms = parseWait(wait);
  if (ms === null || ms > MAX_WAIT_MS)
    throw invalidRequest([{ path: "wait", message: "must be a duration from 0s to 60s, such as 25s" }]);
  return ms;
}

/** A stream that is followed is used: it is made, so that there is something to be woken by. */
async function openPlace(server: ServerContext, target: StreamTarget): Promise<Place> {
  const place = await findPlace(server, target);
  if (place.streamId !== null) return place;
  const session = await findSession(server.db, target.environmentId, target.sessionId);
  if (session === null) throw notFound();
  if (session.status !== "open" && session.runStatus === null) return place;
  const stream = await openStream(server, target);
  return { target, streamId: stream?.id ?? null, keptAfter: stream?.keptAfter ?? 0 };
}

/**
 * Followers at the same place of a stream share one read and its encoded frames. The end is told after a read that found
 * no record, when by the same read nothing can be appended any more.
 */
function recordFeed(
  server: ServerContext,
  { target, streamId: known, keptAfter }: Place,
  correlationId: string | null,
): Feed<Frames> {
  const { environmentId, sessionId, name } = target;
  const streamId = known ?? NO_STREAM;
  const readFrames = async (range: RecordRange): Promise<FeedPage<Frames>> => {
    const page = await readRecords(server.db, sessionId, range);
    if (page === null) throw notFound();
    const isEmpty = page.records.length === 0;
    const state: EndState = {
      ...{ session_id: encodeId("sess", sessionId), stream: name, status: page.sessionStatus },
    };
    return {
      batch: isEmpty ? null : toFrames(sessionId, name, page.records),
      cursor: page.records.at(-1)?.sequence ?? range.after,
      end: page.isOver && isEmpty ? state : undefined,
    };
  };
  return {
    key: recordsKey(streamId, sessionId, correlationId),
    source:
      known === null
        ? { kind: "session", environmentId, id: sessionId }
        : { kind: "stream", environmentId, id: known },
    wakeKey: wakeKeys.stream(streamId),
    read: async (cursor) =>
      cursor < keptAfter
        ? { batch: recordGapFrame(name, keptAfter), cursor: keptAfter, end: undefined }
        : readFrames({
            environmentId,
            streamId,
            after: cursor,
            correlationId,
            unreceived: false,
            limit: RECORDS_PER_READ,
            maxBytes: BYTES_PER_READ,
          }),
  };
}

type EndState = { session_id: string; stream: string; status: string };

/** What is told when all of several streams have ended, which they do with their session. */
function endOf(states: unknown[]): unknown {
  const [{ session_id, status }] = states as [EndState];
  return { session_id, streams: states.map((state) => (state as EndState).stream), status };
}

/** The streams over one connection, each from the place that the cursor names. */
async function followStreams(
  server: ServerContext,
  targets: readonly StreamTarget[],
  query: ReadQuery,
  request: RequestFacts,
): Promise<Reply> {
  if (!wantsEventStream(request, query.follow))
    throw invalidRequest([{ path: "stream", message: "several streams are read with follow=1" }]);
  const after = placesOf(
    request.lastEventId ?? query.cursor,
    targets.map(({ name }) => name),
  );
  const correlationId = query.correlation_id ?? null;
  const feeds: NamedFeed[] = [];
  for (const [index, target] of targets.entries()) {
    const feed = recordFeed(server, await openPlace(server, target), correlationId);
    feeds.push({ name: target.name, feed, after: after[index] as number });
  }
  return { status: 200, events: { feeds, endOf } };
}
