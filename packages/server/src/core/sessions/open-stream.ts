import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { lockSession } from "./session-reads.ts";
import { ensureStream, type WantedStream } from "../streams/ensure-streams.ts";
import { countStreams, findStreams, type StreamRow } from "../streams/stream-reads.ts";

/** Beyond it, only an append makes streams of a session: reading costs nothing, and would make rows without end. */
export const STREAMS_MADE_BY_READERS = 100;

export type OpenStreamContext = { db: Database; newUuid: NewUuid; clock: Clock };

/**
 * A stream that is read before anything is in it: made, so that its readers are woken by the first record. Under the
 * session's lock, so that racing readers count each other's. In a transaction of its own, because a reader waits afterwards.
 *
 * @throws DomainError `stream_direction_mismatch`, or `invalid_state` when the session has too many streams for that.
 */
export const openStream = (
  { db, newUuid, clock }: OpenStreamContext,
  wanted: WantedStream,
): Promise<StreamRow | null> => db.transaction((tx) => makeStream(tx, newUuid, wanted, clock()));

async function makeStream(
  tx: Tx,
  newUuid: NewUuid,
  wanted: WantedStream,
  now: number,
): Promise<StreamRow | null> {
  const { environmentId, sessionId, name } = wanted;
  await lockSession(tx, environmentId, sessionId);
  const isThere = (await findStreams(tx, [wanted])).length > 0;
  if (!isThere && (await countStreams(tx, environmentId, sessionId)) >= STREAMS_MADE_BY_READERS)
    throw new DomainError(
      "invalid_state",
      `The session has no stream "${name}", and it has ${STREAMS_MADE_BY_READERS} others: reading makes no more. Append to the stream first.`,
      { stream: name, limit: STREAMS_MADE_BY_READERS },
    );
  return ensureStream(tx, newUuid, wanted, now);
}
