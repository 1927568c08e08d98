import type { StreamDirection } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { gateOf, keyOfStream, type StreamKey } from "./stream.ts";
import { findStreams, holdSessions, type StreamRow } from "./stream-reads.ts";
import { insertStreams } from "./stream-writes.ts";

export type WantedStream = StreamKey & { direction: StreamDirection };

/**
 * The wanted streams by `keyOfStream`, made where they are not there yet. Those of an unknown session are left out, and
 * the direction of one that was there may be the other one. Locks sessions only where a stream is made, so it comes
 * before whatever locks streams or live runs.
 *
 * @param known those that are there, where the caller has looked already
 */
export async function ensureStreams(
  tx: Tx,
  newUuid: NewUuid,
  wanted: readonly WantedStream[],
  now: number,
  known?: readonly StreamRow[],
): Promise<Map<string, StreamRow>> {
  const found = known ?? (await findStreams(tx, wanted));
  const streams = new Map(found.map((stream) => [keyOfStream(stream), stream]));
  const missing = wanted.filter((stream) => !streams.has(keyOfStream(stream)));
  if (missing.length === 0) return streams;
  const sessions = new Map(
    (await holdSessions(tx, missing)).map((session) => [`${session.environmentId} ${session.id}`, session]),
  );
  const made = missing.flatMap(({ environmentId, sessionId, name, direction }) => {
    const session = sessions.get(`${environmentId} ${sessionId}`);
    if (session === undefined) return [];
    const gate = gateOf({ isOpen: session.status === "open", idle: session.idle }, direction);
    const whileBusy = direction === "input" ? session.whileBusy : null;
    const id = newUuid<"strm">();
    return [{ id, environmentId, sessionId, name, direction, gate, whileBusy, createdAt: now }];
  });
  if (made.length === 0) return streams;
  await insertStreams(tx, made);
  // Of two who make the same stream the first one's is it, so it is read back.
  for (const stream of await findStreams(tx, made)) streams.set(keyOfStream(stream), stream);
  return streams;
}

export const directionMismatch = (name: string, direction: StreamDirection): DomainError =>
  new DomainError(
    "stream_direction_mismatch",
    `Stream "${name}" is an ${direction} stream, for life. Use the session's ${direction}s, or another name.`,
    { stream: name, direction },
  );

/**
 * One stream, made if it is not there yet; null when there is no such session.
 *
 * @throws DomainError `stream_direction_mismatch` when it has the other direction.
 */
export async function ensureStream(
  tx: Tx,
  newUuid: NewUuid,
  wanted: WantedStream,
  now: number,
  known?: readonly StreamRow[],
): Promise<StreamRow | null> {
  const stream = (await ensureStreams(tx, newUuid, [wanted], now, known)).get(keyOfStream(wanted));
  if (stream === undefined) return null;
  if (stream.direction !== wanted.direction) throw directionMismatch(wanted.name, stream.direction);
  return stream;
}
