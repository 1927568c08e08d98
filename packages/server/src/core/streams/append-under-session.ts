import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { lockSession, type StoredSession } from "../sessions/session-reads.ts";
import { startTurn, type TurnContext } from "../sessions/start-turn.ts";
import { NOTHING_SETTLED, type Settled } from "../executions/settle-changes.ts";
import { afterInput } from "./after-input.ts";
import { ensureStream } from "./ensure-streams.ts";
import type { Append, Appended } from "./stream.ts";
import { joinEffects, type StreamEffects } from "./stream-effects.ts";
import { lockSessionStreams } from "./stream-reads.ts";
import { insertRecords, markTurnBegun } from "./stream-writes.ts";

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
export async function appendUnderSession(
  tx: Tx,
  context: TurnContext,
  append: Append,
): Promise<{ appended: Appended; effects: StreamEffects }> {
  const { environmentId, sessionId, direction } = append;
  const now = context.clock();
  const session = await lockSession(tx, environmentId, sessionId);
  if (session === null) throw notFound();
  if (session.status !== "open") throw sessionClosed(session.status);
  await ensureStream(tx, context.newUuid, append, now);
  let started: Settled | null = null;
  if (session.idle && direction === "input") {
    await lockSessionStreams(tx, environmentId, sessionId, "input");
    started = await startNextTurn(tx, context, session, now);
    // Opens the gate; where the turn begins is known when the record is there.
    await markTurnBegun(tx, environmentId, sessionId);
  }
  const [appended] = await insertRecords(tx, [append], false);
  if (appended === undefined || appended === null)
    throw new Error("A stream of a locked, open session did not take a record.");
  if (started !== null) await markTurnBegun(tx, environmentId, sessionId);
  const settled =
    direction === "input" ? await afterInput(tx, environmentId, [appended.streamId], now) : NOTHING_SETTLED;
  const effects = [{ streamIds: [appended.streamId], settled }];
  if (started !== null) effects.push({ streamIds: [], settled: started });
  return { appended, effects: joinEffects(effects) };
}

async function startNextTurn(
  tx: Tx,
  context: TurnContext,
  session: StoredSession,
  now: number,
): Promise<Settled> {
  try {
    return await startTurn(tx, context, session, now);
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
