import {
  encodeId,
  HEADERS,
  parseDuration,
  sseFrame,
  STREAM_NAME_PATTERN,
  STREAM_NAME_WORDS,
  type AppendRecords,
  type StreamDirection,
} from "@keelson/contract";
import type { FeedPage } from "../core/feeds/feed.ts";
import { wakeKeys } from "../core/feeds/wakes.ts";
import { canonicalDigest } from "../core/idempotency/canonical-json.ts";
import { findStoredAnswer } from "../core/idempotency/idempotency-reads.ts";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { findSession } from "../core/sessions/session-reads.ts";
import type { AppendKey, StoredAppend } from "../core/streams/append-batch.ts";
import { directionMismatch, ensureStream } from "../core/streams/ensure-streams.ts";
import { prepareRecords } from "../core/streams/prepare-records.ts";
import type { Append, RecordSource, StreamKey } from "../core/streams/stream.ts";
import { findStreams, listRecords, readRecords, type RecordRange } from "../core/streams/stream-reads.ts";
import type { RecordRow } from "../core/streams/stream.ts";
import type { Tx } from "../db/queryable.ts";
import { DomainError, invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import type { Frames } from "./event-stream.ts";
import { followCursor, wantsEventStream } from "./follow.ts";
import { gapFrame } from "./kept-feed.ts";
import { cursorExpired, pageLimit, sequenceCursor } from "./page.ts";
import type { Reply, RequestFacts } from "./route.ts";
import { recordJson } from "./wire/stream.ts";

/** What the stream routes of all families answer: who may call them, and as whom, is theirs to say. */

/** A stream as a route names it; whether it is there shows later. */
export type StreamTarget = StreamKey & { direction: StreamDirection };

const streamName = new RegExp(STREAM_NAME_PATTERN);

/** @throws DomainError `invalid_request` when no stream can have the name. */
export function checkStreamName(name: string): string {
  if (streamName.test(name)) return name;
  throw invalidRequest([{ path: "stream", message: STREAM_NAME_WORDS }]);
}

/** The data that a page holds at most, whatever its limit. */
const PAGE_BYTES = 1_048_576;
/** What a follower takes in one read; its socket paces the next. */
const RECORDS_PER_READ = 200;
const BYTES_PER_READ = 128 * 1024;
const DEFAULT_WAIT = "25s";
const MAX_WAIT_MS = 60_000;
/** A waiting reader looks by itself this often: the repair of a wake that was lost between replicas. */
const SAFETY_READ_MS = 2_000;

/**
 * Appends what the body holds, and answers with the record, or with the records. `first` is done in the same transaction,
 * and not for a repeat.
 */
export async function answerAppend(
  server: ServerContext,
  target: StreamTarget,
  body: AppendRecords,
  idempotencyKey: string | null,
  source: RecordSource,
  first?: (tx: Tx) => Promise<void>,
): Promise<Reply> {
  const at = server.clock();
  const append: Append = { ...target, records: prepareRecords(body, server.newUuid), source, at };
  const key = idempotencyKey === null ? null : appendKey(target, body, idempotencyKey, source, at);
  const { recordAppender, storageQuota } = server;
  try {
    await storageQuota.admit(target.environmentId);
  } catch (error) {
    // A repeat stores nothing, and is answered as the first time.
    const repeated =
      idempotencyKey === null
        ? null
        : await answerRepeatedAppend(server, target, body, idempotencyKey, source);
    if (repeated !== null) return repeated;
    throw error;
  }
  const outcome = await (first === undefined
    ? recordAppender.append(append, key)
    : recordAppender.appendAfter(append, key, first));
  if (outcome.replayed) return repeatedReply(server, target, body, outcome.streamId, outcome.firstSequence);
  const bytes = append.records.reduce((sum, { data }) => sum + data.length, 0);
  storageQuota.noteAppended(target.environmentId, bytes);
  const { streamId, firstSequence } = outcome;
  const rows = append.records.map((record, index) => toRow(append, record, firstSequence + index));
  offerRecords(server, target, streamId, rows);
  return appendReply(target, body, rows);
}

function appendReply(target: StreamTarget, body: AppendRecords, rows: readonly RecordRow[]) {
  const records = rows.map((row) => recordJson(target.sessionId, target.name, row));
  return {
    status: 201,
    json: body.records === undefined ? (records[0] as string) : `{"records":[${records.join(",")}]}`,
  };
}

async function repeatedReply(
  server: ServerContext,
  target: StreamTarget,
  body: AppendRecords,
  streamId: string,
  firstSequence: number,
): Promise<Reply> {
  const rows = await listRecords(server.db, {
    environmentId: target.environmentId,
    streamId,
    after: firstSequence - 1,
    correlationId: null,
    limit: body.records?.length ?? 1,
    maxBytes: Number.MAX_SAFE_INTEGER,
  });
  if (rows.length < (body.records?.length ?? 1)) {
    throw new DomainError(
      "session_closed",
      "The session has ended, and its records are no longer kept: what this request appended is gone.",
    );
  }
  return { ...appendReply(target, body, rows), headers: { [HEADERS.idempotencyReplayed]: "true" } };
}

/** The answer to an append that is known to be a repeat, without any chance to append again; null when it is none. */
export async function answerRepeatedAppend(
  server: ServerContext,
  target: StreamTarget,
  body: AppendRecords,
  idempotencyKey: string,
  source: RecordSource,
): Promise<Reply | null> {
  const { scope, key, digest } = appendKey(target, body, idempotencyKey, source, server.clock());
  const stored = await findStoredAnswer(server.db, target.environmentId, scope, key);
  if (stored === null || stored.body === null || !stored.requestDigest.equals(digest)) return null;
  const at = JSON.parse(stored.body) as StoredAppend;
  return repeatedReply(server, target, body, at.stream_id, at.first_sequence);
}

function appendKey(
  target: StreamTarget,
  body: AppendRecords,
  key: string,
  source: RecordSource,
  now: number,
): AppendKey {
  const { idempotency_key: _key, idempotency_key_ttl: ttl, ...content } = body;
  // A browser cannot take the keys that the application's own appends are about to use.
  const realm = source.kind === "public_access_token" ? "public:" : "";
  return {
    scope: `streams.append:${realm}${target.sessionId}/${target.direction}/${target.name}`,
    key,
    digest: canonicalDigest(content),
    expiresAt: idempotencyExpiry(ttl, now),
  };
}

const toRow = (
  { source, at }: Append,
  { id, data, contentType, correlationId }: Append["records"][number],
  sequence: number,
): RecordRow => ({
  id,
  sequence,
  data,
  contentType,
  correlationId,
  sourceKind: source.kind,
  sourceId: source.id,
  runId: source.runId,
  attemptNumber: source.attemptNumber,
  createdAt: at,
});

export type RecordQuery = { cursor?: string; limit?: number; correlation_id?: string };

type Place = {
  target: StreamTarget;
  streamId: string | null;
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
const NO_STREAM = "00000000-0000-0000-0000-000000000000";

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
export async function answerRecordPage(
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

/** Waits for the first record after the cursor, or streams them all as server-sent events. */
export async function answerRecordRead(
  server: ServerContext,
  target: StreamTarget,
  query: ReadQuery,
  request: RequestFacts,
): Promise<Reply> {
  if (wantsEventStream(request, query.follow)) {
    const after = followCursor(request, query.cursor);
    const place = await openPlace(server, target);
    return followRecords(server, place, after, query.correlation_id ?? null);
  }
  const after = sequenceCursor(query.cursor);
  const until = server.clock() + waitMs(query.wait ?? DEFAULT_WAIT);
  const place = await openPlace(server, target);
  requireKept(place, after);
  return pageReply(place, after, await waitForPage(server, place, after, query, until, request.signal));
}

function waitMs(wait: string): number {
  const ms = parseDuration(wait);
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
  const stream = await server.db.transaction((tx) =>
    ensureStream(tx, server.newUuid, target, server.clock()),
  );
  return { target, streamId: stream?.id ?? null, keptAfter: stream?.keptAfter ?? 0 };
}

async function waitForPage(
  server: ServerContext,
  place: Place,
  after: number,
  query: RecordQuery,
  until: number,
  signal: AbortSignal,
): Promise<Page> {
  for (;;) {
    const left = until - server.clock();
    const waiting = new AbortController();
    // Registered before the read: what is appended during it is not missed.
    const woken = server.wakes.wait(
      wakeKeys.stream(place.streamId ?? NO_STREAM),
      Math.max(0, Math.min(left, SAFETY_READ_MS)),
      AbortSignal.any([signal, waiting.signal]),
    );
    try {
      const page = await readPage(server, place, after, query);
      if (page.records.length > 0 || page.ended || left <= 0 || signal.aborted) return page;
      await woken;
    } finally {
      waiting.abort();
    }
  }
}

const recordsKey = (streamId: string, sessionId: string, correlationId: string | null): string =>
  `records ${streamId} ${sessionId} ${correlationId ?? ""}`;

/** Followers at the tip need not read what is in memory here; more than one read would give is left to be read. */
function offerRecords(
  { feeds }: ServerContext,
  { sessionId, name }: StreamTarget,
  streamId: string,
  rows: readonly RecordRow[],
): void {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return;
  if (rows.reduce((sum, { data }) => sum + data.length, 0) > BYTES_PER_READ) return;
  feeds.offer(recordsKey(streamId, sessionId, null), first.sequence - 1, last.sequence, () =>
    toFrames(sessionId, name, rows),
  );
}

const toFrames = (sessionId: string, name: string, records: readonly RecordRow[]): Buffer =>
  Buffer.from(
    records
      .map((record) => sseFrame("record", String(record.sequence), recordJson(sessionId, name, record)))
      .join(""),
  );

/**
 * Followers at the same place of a stream share one read and its encoded frames. The end is told after a read that found
 * no record, when by the same read nothing can be appended any more.
 */
function followRecords(
  server: ServerContext,
  { target, streamId: known, keptAfter }: Place,
  after: number,
  correlationId: string | null,
): Reply {
  const { environmentId, sessionId, name } = target;
  const streamId = known ?? NO_STREAM;
  const readFrames = async (range: RecordRange): Promise<FeedPage<Frames>> => {
    const page = await readRecords(server.db, sessionId, range);
    if (page === null) throw notFound();
    const isEmpty = page.records.length === 0;
    const state = { session_id: encodeId("sess", sessionId), stream: name, status: page.sessionStatus };
    return {
      batch: isEmpty ? null : toFrames(sessionId, name, page.records),
      cursor: page.records.at(-1)?.sequence ?? range.after,
      end: page.isOver && isEmpty ? state : undefined,
    };
  };
  const feed = {
    key: recordsKey(streamId, sessionId, correlationId),
    wakeKey: wakeKeys.stream(streamId),
    read: async (cursor: number): Promise<FeedPage<Frames>> =>
      cursor < keptAfter
        ? { batch: gapFrame(keptAfter), cursor: keptAfter, end: undefined }
        : readFrames({
            environmentId,
            streamId,
            after: cursor,
            correlationId,
            limit: RECORDS_PER_READ,
            maxBytes: BYTES_PER_READ,
          }),
  };
  return { status: 200, events: { feed, after } };
}
