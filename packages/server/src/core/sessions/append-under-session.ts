import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { lockSession, type StoredSession } from "./session-reads.ts";
import { startTurn, type TurnContext } from "./start-turn.ts";
import { tellInputWaits } from "../streams/tell-input-waits.ts";
import { appendRecords } from "../streams/append-records.ts";
import { ensureStream } from "../streams/ensure-streams.ts";
import type { Append, Appended } from "../streams/stream.ts";
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
 * @throws DomainError `not_found`, `session_closed`, `stream_direction_mismatch`, and `invalid_state` when the next turn
 * cannot be started.
 */
export async function appendUnderSession(tx: Tx, context: TurnContext, append: Append): Promise<Appended> {
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
  if (direction === "input") await tellInputWaits(tx, environmentId, [appended.streamId], now);
  return appended;
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
