import type { Uuid, WhileBusy } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { findSession, lockSession, type StoredSession } from "./session-reads.ts";
import { startTurn, type TurnContext } from "./start-turn.ts";
import { tellInputWaits } from "../streams/tell-input-waits.ts";
import { appendRecords } from "../streams/append-records.ts";
import { ensureStream } from "../streams/ensure-streams.ts";
import { interruptMessage } from "../streams/interrupt-message.ts";
import type { OpenMessage } from "../streams/message.ts";
import { listOpenMessages } from "../streams/message-reads.ts";
import type { Append, Appended, Sent } from "../streams/stream.ts";
import { findStreams, holdSessionStreams, lockStreams } from "../streams/stream-reads.ts";
import { takeBack } from "../streams/take-back.ts";
import { beginTurn } from "../streams/begin-turn.ts";

export const sessionClosed = (status: string): DomainError =>
  new DomainError(
    "session_closed",
    `The session has ended as ${status} and takes no more records. Start another session.`,
    { status },
  );

/** What input does while a turn is live. */
export type BusyOptions = {
  /** Default: what the session's actor declares, else `enqueue`. */
  whileBusy?: WhileBusy | undefined;
  /** Which messages it may interrupt when it says so itself; by the actor's declaration all of the session. Default: all of the session. */
  mayInterrupt?: ((message: OpenMessage) => boolean) | undefined;
};

/**
 * Appends with the session's row locked: what the fast way leaves out. It makes the stream at its first use, starts the
 * next turn when input comes to an idle session, and says why an append cannot be.
 *
 * @throws DomainError `not_found`, `session_closed`, `stream_direction_mismatch`, `session_busy` for input that is not to be
 * queued, and `invalid_state` when the next turn cannot be started.
 */
export async function appendUnderSession(
  tx: Tx,
  context: TurnContext,
  append: Append,
  { whileBusy: said, mayInterrupt = () => true }: BusyOptions = {},
): Promise<Sent> {
  const { environmentId, sessionId, direction } = append;
  const now = context.clock();
  // The second is sent behind the first, and reads what is so under its lock.
  const [session, found] = await Promise.all([
    lockSession(tx, environmentId, sessionId),
    findStreams(tx, [append]),
  ]);
  if (session === null) throw notFound();
  if (session.status !== "open") throw sessionClosed(session.status);
  const whileBusy = direction === "input" ? (said ?? session.whileBusy) : null;
  const stream = await ensureStream(tx, context.newUuid, append, now, found);
  const written = whileBusy === "interrupt" ? await lockWritten(tx, session, stream) : [];
  const beginsTurn = session.idle && direction === "input";
  if (beginsTurn) {
    await holdSessionStreams(tx, environmentId, sessionId, "input");
    await startNextTurn(tx, context, session, now);
    // Opens the gate; where the turn begins is known when the record is there.
    await beginTurn(tx, environmentId, sessionId);
  }
  const steer = whileBusy === "steer" && !beginsTurn;
  const [appended] = await appendRecords(tx, [{ ...append, steer }], "session");
  if (appended === undefined || appended === null)
    throw new Error("A stream of a locked, open session did not take a record.");
  if (beginsTurn) await beginTurn(tx, environmentId, sessionId);
  if (direction === "output") return { ...appended, arrival: null };
  const received = await tellInputWaits(tx, environmentId, [appended.streamId], now);
  const delivered = received.get(appended.streamId) ?? new Set();
  if (whileBusy === "reject" && !beginsTurn && delivered.size === 0)
    await requireNotBusy(tx, session, appended);
  const { newUuid } = context;
  for (const { id } of said === undefined ? written : written.filter(mayInterrupt))
    await interruptMessage(tx, { newUuid, now }, { environmentId, sessionId, id });
  return { ...appended, arrival: { startsTurn: beginsTurn, delivered, steer } };
}

/**
 * Messages that the session's run is writing. Their streams and that of the input are locked together: everybody locks several in
 * the order of their keys.
 */
async function lockWritten(
  tx: Tx,
  { environmentId, id: sessionId, currentRunId: runId }: StoredSession,
  input: { id: Uuid<"strm"> } | null,
): Promise<OpenMessage[]> {
  const open = await listOpenMessages(tx, [{ environmentId, sessionId, runId }]);
  const streamIds = new Set(open.map(({ streamId }) => streamId));
  if (open.length > 0 && input !== null) streamIds.add(input.id);
  if (streamIds.size > 0)
    await lockStreams(
      tx,
      [...streamIds].map((id) => ({ environmentId, id })),
    );
  return open;
}

/**
 * Refuses input that nobody has received, after it was appended: so no wait can end between a look at it and the append. It is
 * taken back, because the transaction of a run that sends it goes on. When the run of the session has ended and the session is
 * about to be told, the input starts the next turn then.
 */
async function requireNotBusy(
  tx: Tx,
  { environmentId, id, turn }: StoredSession,
  { streamId, firstSequence }: Appended,
): Promise<void> {
  const session = await findSession(tx, environmentId, id);
  if (session === null || session.runStatus === null) return;
  await takeBack(tx, environmentId, streamId, firstSequence);
  throw new DomainError(
    "session_busy",
    `Turn ${turn} of the session is live, and no run waits for input on this stream. The input was not appended: send it when the turn has ended, or with while_busy enqueue.`,
    { turn },
  );
}

async function startNextTurn(
  tx: Tx,
  context: TurnContext,
  session: StoredSession,
  now: number,
): Promise<void> {
  try {
    await startTurn(tx, context, session, now);
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
    throw new DomainError(
      "invalid_state",
      `The input was not taken, because the session's next run cannot be started: ${error.message}`,
      error.details,
      { cause: error },
    );
  }
}
