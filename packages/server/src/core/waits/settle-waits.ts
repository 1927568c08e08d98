import type { WaitStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { applyDecision, changeOf, liveRun, type ExecutionKey } from "../executions/execution.ts";
import { lockExecutions } from "../executions/execution-reads.ts";
import { NOTHING_SETTLED, settleChanges, type Settled } from "../executions/settle-changes.ts";
import { decideWaitSettled } from "../runs/run.ts";
import { toStoredEvent } from "../run-events/run-event.ts";
import { lockStreams } from "../streams/stream-reads.ts";
import { decideDue } from "./wait.ts";
import {
  listChildWaits,
  listDueWaits,
  listInputWaits,
  listStillPending,
  listTokenWaits,
  type PendingWait,
} from "./wait-reads.ts";
import { markSettled, moveReceived } from "./wait-writes.ts";

type Settlement = PendingWait & { to: Exclude<WaitStatus, "pending">; withoutRecord: boolean };

/**
 * Settles waits and lets their runs go on. The candidates were found without a lock; under the locks of their runs those
 * that somebody else has settled meanwhile fall out, so each wait has one winner.
 */
async function settle<S extends Settlement>(
  tx: Tx,
  candidates: readonly S[],
  now: number,
): Promise<{ won: S[]; settled: Settled }> {
  if (candidates.length === 0) return { won: [], settled: NOTHING_SETTLED };
  const keys = new Map(candidates.map((wait) => [`${wait.environmentId} ${wait.runId}`, wait]));
  const changes = new Map(
    (await lockExecutions(tx, [...keys.values()])).map((execution) => [execution.runId, changeOf(execution)]),
  );
  const pending = new Set((await listStillPending(tx, candidates)).map(nameOf));
  // A run that has ended meanwhile has cancelled its waits.
  const won = candidates.filter((wait) => pending.has(nameOf(wait)) && changes.has(wait.runId));
  if (won.length === 0) return { won, settled: NOTHING_SETTLED };
  await markSettled(
    tx,
    won.map((wait) => ({ ...wait, status: wait.to })),
    now,
  );
  const workerIds = new Set<string>();
  for (const wait of won) {
    const change = changes.get(wait.runId);
    if (change === undefined) continue;
    const event = {
      kind: wait.to === "timed_out" ? "wait.timed_out" : "wait.resolved",
      attributes: { kind: wait.kind, name: wait.name, position: wait.position },
    } as const;
    change.events.push(toStoredEvent(event, now, change.execution.attemptNumber));
    change.dirty = true;
    const decision = decideWaitSettled(liveRun(change));
    if (decision.kind !== "refuse") applyDecision(change, decision, now);
    if (change.execution.workerId !== null) workerIds.add(change.execution.workerId);
  }
  const settled = await settleChanges(tx, [...changes.values()]);
  return { won, settled: { ...settled, workerIds: [...workerIds] } };
}

const nameOf = ({ environmentId, runId, position }: PendingWait): string =>
  `${environmentId} ${runId} ${position}`;

const resolved = (wait: PendingWait): Settlement => ({ ...wait, to: "resolved", withoutRecord: false });

/** In the transaction that completed, cancelled or expired the tokens: their rows are locked. */
export async function settleTokenWaits(
  tx: Tx,
  environmentId: string,
  tokenIds: readonly string[],
  now: number,
): Promise<Settled> {
  const waits = await listTokenWaits(tx, environmentId, tokenIds);
  return (await settle(tx, waits.map(resolved), now)).settled;
}

/** After runs have ended. Their ends are durable, so this can come late and more than once. */
export async function settleChildWaits(
  tx: Tx,
  children: readonly ExecutionKey[],
  now: number,
): Promise<Settled> {
  return (await settle(tx, (await listChildWaits(tx, children)).map(resolved), now)).settled;
}

/**
 * In the transaction that appended to the streams or ended their session, after that statement: a wait whose record is
 * there receives it, and one whose session takes no more input resolves to nothing.
 */
export async function settleInputWaits(
  tx: Tx,
  environmentId: string,
  streamIds: readonly string[],
  now: number,
): Promise<Settled> {
  if (streamIds.length === 0) return NOTHING_SETTLED;
  await lockStreams(
    tx,
    streamIds.map((id) => ({ environmentId, id })),
  );
  const waits = await listInputWaits(tx, environmentId, streamIds);
  const { won, settled } = await settle(
    tx,
    waits.map((wait) => ({ ...wait, to: "resolved" as const, withoutRecord: !wait.hasRecord })),
    now,
  );
  const received = won.flatMap(({ streamId, recordSequence, hasRecord }) =>
    hasRecord ? [{ environmentId, streamId, sequence: recordSequence }] : [],
  );
  if (received.length > 0) await moveReceived(tx, received);
  return settled;
}

/** Timers that are due and other waits whose time is over. */
export async function settleDueWaits(tx: Tx, now: number): Promise<Settled> {
  const due = await listDueWaits(tx, now);
  const settlements = due.map((wait) => ({ ...wait, to: decideDue(wait.kind), withoutRecord: false }));
  return (await settle(tx, settlements, now)).settled;
}
