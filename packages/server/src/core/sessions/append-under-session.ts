import type { WhileBusy } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { findSession, lockSession, type StoredSession } from "./session-reads.ts";
import { startTurn, type TurnContext } from "./start-turn.ts";
import { tellInputWaits } from "../streams/tell-input-waits.ts";
import { appendRecords } from "../streams/append-records.ts";
import { ensureStream } from "../streams/ensure-streams.ts";
import type { Append, Sent } from "../streams/stream.ts";
import { lockSessionStreams } from "../streams/stream-reads.ts";
import { beginTurn } from "../streams/begin-turn.ts";

export const sessionClosed = (status: string): DomainError =>
  new DomainError(
    "session_closed",
    `The session has ended as ${status} and takes no more records. Start another session.`,
    { status },
  );

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
  whileBusy: WhileBusy = "enqueue",
): Promise<Sent> {
  const { environmentId, sessionId, direction } = append;
  const now = context.clock();
  const session = await lockSession(tx, environmentId, sessionId);
  if (session === null) throw notFound();
  if (session.status !== "open") throw sessionClosed(session.status);
  await ensureStream(tx, context.newUuid, append, now);
  const beginsTurn = session.idle && direction === "input";
  if (beginsTurn) {
    await lockSessionStreams(tx, environmentId, sessionId, "input");
    await startNextTurn(tx, context, session, now);
    // Opens the gate; where the turn begins is known when the record is there.
    await beginTurn(tx, environmentId, sessionId);
  }
  const [appended] = await appendRecords(tx, [append], "caller");
  if (appended === undefined || appended === null)
    throw new Error("A stream of a locked, open session did not take a record.");
  if (beginsTurn) await beginTurn(tx, environmentId, sessionId);
  if (direction === "output") return { ...appended, arrival: null };
  const received = await tellInputWaits(tx, environmentId, [appended.streamId], now);
  const delivered = received.get(appended.streamId) ?? new Set();
  if (whileBusy === "reject" && !beginsTurn && delivered.size === 0) await requireNotBusy(tx, session);
  return { ...appended, arrival: { startsTurn: beginsTurn, delivered } };
}

/**
 * Refuses input that nobody has received, after it was appended: its transaction is undone, and no wait can end between a look
 * at it and the append. When the run has ended and the session is about to be told, the input starts the next turn then.
 */
async function requireNotBusy(tx: Tx, { environmentId, id, turn }: StoredSession): Promise<void> {
  const session = await findSession(tx, environmentId, id);
  if (session === null || session.runStatus === null) return;
  throw new DomainError(
    "session_busy",
    `Turn ${turn} of the session is live, and no run waits for input on this stream. The input was not appended: send it when the turn has ended, or without while_busy.`,
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
