import type { Session, Stream, StreamRecord } from "@keelson/contract";
import { ApiError } from "@keelson/sdk/browser";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get } from "../../api/client.ts";
import { usePlace, type Place } from "../../api/place.ts";
import { useFollow } from "../../api/use-follow.ts";
import { at } from "../../api/route.ts";
import {
  listSessionInputs,
  listSessionOutputs,
  readSessionInputs,
  readSessionOutputs,
} from "../../api/routes/streams.ts";
import { ErrorPanel } from "../../ui/error-panel.tsx";
import { useIsSeen } from "../../ui/use-is-seen.ts";
import type { Conversation } from "./conversation.ts";

/** Of each stream, what is read when the page is opened; what came before is read when it is asked for. */
const TAIL_RECORDS = 5_000;
/**
 * Streams that are followed live, in a page that is seen. A browser has six connections to a server for all its pages
 * together, and each follower holds one. What other streams have is read when the list of streams says that there is more.
 */
const MAX_FOLLOWED = 2;
const PAGE_LIMIT = 200;
const RETRY_MS = 2000;

const recordsOf = (sessionId: string, { name, direction }: Stream) =>
  at(direction === "input" ? listSessionInputs : listSessionOutputs, { id: sessionId, stream: name });

const followed = (sessionId: string, { name, direction }: Stream) =>
  at(direction === "input" ? readSessionInputs : readSessionOutputs, { id: sessionId, stream: name });

/** Reads all streams of the session into the conversation while it is there, those that are made meanwhile too. */
export function StreamReaders({
  session,
  streams,
  conversation,
}: {
  session: Session;
  streams: readonly Stream[];
  conversation: Conversation;
}): ReactNode {
  const isSeen = useIsSeen();
  // In the order in which they were first used, so that who is followed stays so.
  const inOrder = streams.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return inOrder.map((stream, index) => {
    const Reader = isSeen && index < MAX_FOLLOWED ? FollowedStream : PolledStream;
    return <Reader key={stream.id} session={session} stream={stream} conversation={conversation} />;
  });
}

type ReaderProps = { session: Session; stream: Stream; conversation: Conversation };

/** After which sequence it is read on. */
const readOnAfter = (stream: Stream, conversation: Conversation): number =>
  conversation.lastOf(stream) ?? Math.max(0, stream.last_sequence - TAIL_RECORDS);

function FollowedStream({ session, stream, conversation }: ReaderProps): ReactNode {
  const { state, error } = useFollow(followed(session.id, stream), {
    cursor: String(readOnAfter(stream, conversation)),
    onEvents: (events) => {
      const records = events.filter(({ event }) => event === "record");
      conversation.append(
        stream,
        records.map(({ data }) => data as StreamRecord),
      );
    },
    onGap: (earliest) => conversation.noteGone(stream, Number(earliest ?? 0)),
  });
  return state === "failed" ? <ErrorPanel error={error} /> : null;
}

function PolledStream({ session, stream, conversation }: ReaderProps): ReactNode {
  const place = usePlace();
  const { error } = useQuery({
    queryKey: ["e", place.environment_id, recordsOf(session.id, stream).path, "read", stream.last_sequence],
    queryFn: async ({ signal }) => {
      const after = readOnAfter(stream, conversation);
      for await (const records of readRange(place, session.id, stream, after, conversation, signal)) {
        conversation.append(stream, records);
        if ((records.at(-1)?.sequence ?? 0) >= stream.last_sequence) break;
      }
      return stream.last_sequence;
    },
    refetchInterval: ({ state }) => (state.status === "error" ? RETRY_MS : false),
  });
  return error === null ? null : <ErrorPanel error={error} />;
}

/** The records after the sequence, page by page. What is no longer kept is noted and passed over. */
async function* readRange(
  place: Place,
  sessionId: string,
  stream: Stream,
  after: number,
  conversation: Conversation,
  signal?: AbortSignal,
): AsyncGenerator<StreamRecord[]> {
  let cursor = after;
  for (;;) {
    try {
      const query = { ...place, cursor: String(cursor), limit: PAGE_LIMIT };
      const { records } = await get(recordsOf(sessionId, stream), query, signal);
      const last = records.at(-1);
      if (last === undefined) return;
      cursor = last.sequence;
      yield records;
    } catch (error) {
      const earliest = earliestOf(error);
      if (earliest === null || earliest <= cursor) throw error;
      conversation.noteGone(stream, earliest);
      cursor = earliest;
    }
  }
}

const earliestOf = (error: unknown): number | null =>
  error instanceof ApiError && error.code === "cursor_expired"
    ? Number(error.details?.["earliestCursor"] ?? 0)
    : null;

/** Reads what came before what is there, of each stream that has such. */
export async function readEarlier(
  place: Place,
  sessionId: string,
  streams: readonly Stream[],
  conversation: Conversation,
): Promise<void> {
  for (const held of conversation.view().held) {
    const stream = streams.find(({ name }) => name === held.stream);
    if (stream === undefined || held.first <= held.goneUpTo + 1) continue;
    const after = Math.max(held.goneUpTo, held.first - 1 - TAIL_RECORDS);
    const found: StreamRecord[] = [];
    for await (const records of readRange(place, sessionId, stream, after, conversation)) {
      found.push(...records.filter(({ sequence }) => sequence < held.first));
      if ((records.at(-1)?.sequence ?? 0) >= held.first - 1) break;
    }
    // Fewer than there were: what is missing at the beginning is no longer kept.
    const first = found[0]?.sequence ?? held.first;
    if (first > after + 1) conversation.noteGone(stream, first - 1);
    conversation.prepend(stream, found);
  }
}
