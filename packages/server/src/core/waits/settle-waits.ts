import type { Uuid, WaitKind, WaitStatus } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { applyDecision, changeOf, liveRun, type ExecutionKey } from "../executions/execution.ts";
import { lockExecutions } from "../executions/execution-reads.ts";
import { settleChanges } from "../executions/settle-changes.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { decideWaitSettled } from "../runs/run.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import type { MessageKey } from "../streams/message.ts";
import { toStoredEvent } from "../run-events/run-event.ts";
import { decideDue, isWaitedFor } from "./wait.ts";
import {
  listChildWaits,
  listDueWaits,
  listInputWaits,
  listMessageWaits,
  listStillPending,
  listTokenWaits,
  SETTLE_LIMIT,
  type PendingWait,
} from "./wait-reads.ts";
import { markSettled, moveReceived, passSequencesOn, type ReceivedRecord } from "./wait-writes.ts";

type Settlement = PendingWait & { to: Exclude<WaitStatus, "pending">; withoutRecord: boolean };

/**
 * Settles waits and lets their runs go on. The candidates were found without a lock; under the locks of their runs those
 * that somebody else has settled meanwhile fall out, so each wait has one winner.
 */
async function settle<S extends Settlement>(
  tx: Tx,
  candidates: readonly S[],
  now: number,
): Promise<{ won: S[]; orphans: number }> {
  if (candidates.length === 0) return { won: [], orphans: 0 };
  const keys = new Map(candidates.map((wait) => [`${wait.environmentId} ${wait.runId}`, wait]));
  // The second is sent behind the first, and reads what is so under its locks.
  const [locked, stillPending] = await Promise.all([
    lockExecutions(tx, [...keys.values()]),
    listStillPending(tx, candidates),
  ]);
  const changes = new Map(locked.map((execution) => [execution.runId, changeOf(execution)]));
  const pending = new Set(stillPending.map(nameOf));
  // A run that has ended meanwhile has cancelled its waits.
  const won = candidates.filter((wait) => pending.has(nameOf(wait)) && changes.has(wait.runId));
  const orphans = pending.size - won.length;
  if (won.length === 0) return { won, orphans };
  await markSettled(
    tx,
    won.map((wait) => ({ ...wait, status: wait.to })),
    now,
  );
  const givenUp = won.filter(({ kind, to }) => kind === "input" && to === "timed_out");
  if (givenUp.length > 0) await passSequencesOn(tx, givenUp);
  for (const wait of won) {
    const change = changes.get(wait.runId);
    if (change === undefined) continue;
    if (isWaitedFor(wait))
      change.events.push(toStoredEvent(settledEvent(wait), now, change.execution.attemptNumber));
    change.dirty = true;
    const decision = decideWaitSettled(liveRun(change));
    if (decision.kind !== "refuse") applyDecision(change, decision, now);
    // A run that is parked or running is told by its worker.
    if (change.execution.workerId !== null) tx.wake(wakeKeys.worker(change.execution.workerId));
  }
  await settleChanges(tx, [...changes.values()]);
  tx.note({ kind: "waits", waits: won.filter(isWaitedFor), settledAt: now });
  return { won, orphans };
}

const settledEvent = ({ to, kind, name, position }: Settlement & { kind: WaitKind }) =>
  ({
    kind: to === "timed_out" ? "wait.timed_out" : "wait.resolved",
    attributes: { kind, name, position },
  }) as const;

const nameOf = ({ environmentId, id }: PendingWait): string => `${environmentId} ${id}`;

const resolved = (wait: PendingWait): Settlement => ({ ...wait, to: "resolved", withoutRecord: false });

/** In the transaction that completed, cancelled or expired the tokens: their rows are locked. */
export async function settleTokenWaits(
  tx: Tx,
  tokens: readonly { environmentId: Uuid<"env">; id: Uuid<"tok"> }[],
  now: number,
): Promise<void> {
  if (tokens.length === 0) return;
  await settle(tx, (await listTokenWaits(tx, tokens)).map(resolved), now);
}

/** After runs have ended. Their ends are durable, so this can come late and more than once. */
export async function settleChildWaits(
  tx: Tx,
  children: readonly ExecutionKey[],
  now: number,
): Promise<void> {
  await settle(tx, (await listChildWaits(tx, children)).map(resolved), now);
}

/** In the transaction that interrupts a message, with its stream locked. */
export async function settleMessageWaits(
  tx: Tx,
  message: MessageKey & { streamId: Uuid<"strm"> },
  now: number,
): Promise<void> {
  await settle(tx, (await listMessageWaits(tx, message)).map(resolved), now);
}

/**
 * In the transaction that appended to input streams or ended their session, after that statement, with the streams' rows
 * locked: a wait whose record is there receives it, and one whose session takes no more input resolves to nothing.
 *
 * @returns the records that were received
 */
export async function settleInputWaits(
  tx: Tx,
  environmentId: Uuid<"env">,
  streamIds: readonly Uuid<"strm">[],
  now: number,
): Promise<ReceivedRecord[]> {
  const received: ReceivedRecord[] = [];
  for (;;) {
    const waits = await listInputWaits(tx, environmentId, streamIds);
    const { won, orphans } = await settle(
      tx,
      waits.map((wait) => ({ ...wait, to: "resolved" as const, withoutRecord: !wait.hasRecord })),
      now,
    );
    for (const { streamId, recordSequence, hasRecord } of won)
      if (hasRecord) received.push({ environmentId, streamId, sequence: recordSequence });
    // What was for one that was given up meanwhile is for another one now.
    if (won.length + orphans === waits.length) break;
  }
  if (received.length > 0) await moveReceived(tx, received);
  return received;
}

/** Settles timers that are due and other waits whose time is over. */
export const settleDueWaits = (context: ItemContext): Promise<void> =>
  processInBatches(context, {
    loop: "settle-due-waits",
    limit: SETTLE_LIMIT,
    itemOf: ({ environmentId, runId }) => ({ environmentId, itemId: runId }),
    stateOf: ({ position }) => String(position),
    take: async (tx, limit, now) => {
      const rows = await listDueWaits(tx, now, limit);
      return { rows, more: rows.length === limit };
    },
    apply: settleDue,
  });

async function settleDue(tx: Tx, due: readonly PendingWait[], now: number): Promise<void> {
  const settlements = due.map((wait) => ({ ...wait, to: decideDue(wait.kind), withoutRecord: false }));
  const { orphans } = await settle(tx, settlements, now);
  if (orphans > 0) throw new Error("The wait is pending, and its run is not live.");
}
