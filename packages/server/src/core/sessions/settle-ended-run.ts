import { sessionOnFailureOf, type SessionOnFailure, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { ADMITTED } from "../quotas/run-quota.ts";
import { listSessionStreamIds, lockSessionStreams } from "../streams/stream-reads.ts";
import { hasInputAfter } from "../streams/stream.ts";
import { beginTurn } from "../streams/begin-turn.ts";
import { restStreams } from "../streams/rest-streams.ts";
import { hasReceivedFrom } from "../waits/wait-reads.ts";
import { endSessions } from "./end-sessions.ts";
import { lockSession, type StoredSession } from "./session-reads.ts";
import { markIdle, markLastFailure } from "./session-writes.ts";
import { decideRunEnded, type LastFailure, type TurnEnd } from "./session.ts";
import { startTurn, type TurnContext } from "./start-turn.ts";

export type EndedRun = TurnEnd & {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  sessionId: Uuid<"sess">;
  deploymentId: Uuid<"dep">;
  finishedAt: number;
};

/**
 * Tells a session that a run of it has ended, in a transaction that follows the end. A failed run ends the session, unless
 * its actor keeps sessions open. When the session goes on, input that nobody received starts the next turn where it came
 * during this one, or where this one received some of its stream; otherwise the session is idle, and the next input does. So
 * a turn that received nothing never starts itself again, and each other leaves less.
 *
 * Until this has happened an input only waits, so it may come late; it may come twice, and it does nothing when the session
 * is already in another turn.
 */
export async function settleEndedRun(tx: Tx, context: TurnContext, ended: EndedRun): Promise<void> {
  const { environmentId, sessionId } = ended;
  const now = context.clock();
  const session = await lockSession(tx, environmentId, sessionId);
  if (session === null || session.currentRunId !== ended.runId || session.idle) return;
  const decision = decideRunEnded(session.status, ended, await onFailure(tx, context, session, ended));
  await recordFailure(tx, session, ended, decision.lastFailure, now);
  if (session.status !== "open") {
    // Nothing can append any more: followers are to see the end.
    for (const streamId of await listSessionStreamIds(tx, environmentId, sessionId))
      tx.wake(wakeKeys.stream(streamId));
    return;
  }
  if (decision.session.kind === "end") {
    const { status, reason } = decision.session;
    return endSessions(tx, [{ session, status, reason }], now);
  }
  const hasInput = await hasInputLeft(tx, session, ended);
  return hasInput ? continueOrRest(tx, context, session, now) : rest(tx, session, now);
}

/** As the deployment of the run declares it, also when another one is current by now. */
async function onFailure(
  tx: Tx,
  { deployments }: TurnContext,
  { environmentId, entrypointKind, entrypoint }: StoredSession,
  { status, deploymentId }: EndedRun,
): Promise<SessionOnFailure> {
  if (entrypointKind === "task" || status === "succeeded" || status === "cancelled") return "end";
  const deployment = await deployments.within(tx).byId(environmentId, deploymentId);
  return sessionOnFailureOf(deployment?.actors.get(entrypoint)?.declaration);
}

async function recordFailure(
  tx: Tx,
  session: StoredSession,
  { runId, finishedAt }: EndedRun,
  lastFailure: LastFailure,
  now: number,
): Promise<void> {
  if (lastFailure.kind === "set")
    return markLastFailure(tx, session, { ...lastFailure.failure, runId, at: finishedAt }, now);
  if (lastFailure.kind === "clear" && session.failedRunId !== null)
    await markLastFailure(tx, session, null, now);
}

/**
 * Whether the next turn has something to begin with. What a turn left of a stream that it received nothing of may be for
 * nobody: each turn after it would wait for other input.
 */
async function hasInputLeft(
  tx: Tx,
  { environmentId, id }: StoredSession,
  { runId }: EndedRun,
): Promise<boolean> {
  const inputs = await lockSessionStreams(tx, environmentId, id, "input");
  if (inputs.some((stream) => hasInputAfter(stream, stream.turnSequence))) return true;
  const left = inputs.filter((stream) => hasInputAfter(stream, stream.receivedSequence));
  if (left.length === 0) return false;
  const streamIds = left.map((stream) => stream.id);
  return hasReceivedFrom(tx, environmentId, runId, streamIds);
}

async function continueOrRest(
  tx: Tx,
  context: TurnContext,
  session: StoredSession,
  now: number,
): Promise<void> {
  try {
    await startTurn(tx, { ...context, runQuota: ADMITTED }, session, now);
    await beginTurn(tx, session.environmentId, session.id);
  } catch (error) {
    // The current deployment cannot run it. The input stays, and whoever sends the next one is told why.
    if (error instanceof DomainError && error.code !== "unavailable") return rest(tx, session, now);
    throw error;
  }
}

async function rest(tx: Tx, session: StoredSession, now: number): Promise<void> {
  await markIdle(tx, session, now);
  await restStreams(tx, session.environmentId, session.id);
}
