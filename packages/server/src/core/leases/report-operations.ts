import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import type { CredentialOrigin, Keyring } from "../credentials/credential-origin.ts";
import type { MasterKey } from "../credentials/master-key.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { insertChildren } from "../runs/insert-children.ts";
import { recordUsage } from "../runs/record-usage.ts";
import type { TurnContext } from "../sessions/start-turn.ts";
import { appendRecords } from "../streams/append-records.ts";
import { keepOutPieces } from "../streams/interrupt-message.ts";
import { recordMessages } from "../streams/record-messages.ts";
import type { PlacedAppend } from "../streams/stream.ts";
import { appendUnderSession } from "../sessions/append-under-session.ts";
import { storeStates } from "../sessions/store-states.ts";
import { createTokens } from "../tokens/create-tokens.ts";
import { listSettledWaits } from "../waits/wait-reads.ts";
import { recordWaits } from "../waits/record-waits.ts";
import {
  childrenOf,
  distinctRuns,
  isDurable,
  lockSources,
  NO_FACTS,
  readFacts,
  receiversOf,
  type Sources,
} from "./durable-facts.ts";
import { applyOperation } from "./decide-operations.ts";
import { toDurableError } from "./effect-operations.ts";
import { findHeldWorkspaces, startExecs } from "./exec-operations.ts";
import { changeOf, type Change, type Execution } from "../executions/execution.ts";
import {
  findEndedLeases,
  findRunPolicies,
  lockExecutions,
  type LockedExecution,
} from "../executions/execution-reads.ts";
import { cancelGivenUpRuns, endGivenUpExecs, listGivenUpRuns } from "./given-up-calls.ts";
import { continueRuns } from "../executions/continue-runs.ts";
import { isContinuation } from "./prepare-continuations.ts";
import {
  newBatch,
  storedBytesOf,
  type Batch,
  type LeasedOperation,
  type OperationOutcome,
} from "./report-batch.ts";
import { settleChanges, settleJournal } from "../executions/settle-changes.ts";

export type ReportResult = {
  outcomes: OperationOutcome[];
  /** What it stored, by environment. */
  storedBytes: Map<Uuid<"env">, number>;
  /** What its runs wrote to streams. */
  appended: readonly PlacedAppend[];
  /** Worker groups in which runs became ready because it gave slots of limited queues back. */
  admittedIn: readonly Uuid<"wgrp">[];
  /** The live rows that it has written. */
  written: readonly LockedExecution[];
};

export type ReportContext = TurnContext & {
  now: number;
  /** When the worker sent the report, by the worker's clock; null when it does not say. */
  sentAt?: number | null;
  random: () => number;
  masterKey: MasterKey;
  keyring: Keyring;
  /** Of the credentials of tokens that it creates. */
  origin: CredentialOrigin;
};
/** What a report is applied with, in a transaction of its own. */
export type LeasesContext = Omit<ReportContext, "now" | "sentAt"> & { db: Database };

/**
 * Applies any mix of operations of many leases, in order, in the caller's transaction: one statement locks the live
 * rows, the operations are decided on copies in memory, one statement writes all of them back.
 *
 * A write is valid when the row's lease and epoch are the operation's, whatever the time. An operation whose sequence
 * has been applied is answered as before and has no second effect; one that leaves a gap is refused, because the
 * operations between are still to come.
 */
export async function reportOperations(
  tx: Tx,
  workerId: Uuid<"wkr">,
  operations: readonly LeasedOperation[],
  context: ReportContext,
): Promise<ReportResult> {
  const durable = operations.filter(isDurable);
  const continuing = operations.filter(isContinuation);
  const sources =
    durable.length + continuing.length === 0
      ? NO_FACTS
      : await lockSources(tx, context, { operations: durable, continuing });
  const keys = distinctRuns([...operations, ...childrenOf(durable), ...receiversOf(sources)]);
  const givenUp = await listGivenUpRuns(tx, durable);
  const locked = await lockExecutions(tx, givenUp.length === 0 ? keys : distinctRuns([...keys, ...givenUp]));
  const batch = beginBatch(context, workerId, operations, { executions: locked, sources });
  const absent = keys.filter((key) => !batch.changes.has(key.runId));
  if (absent.length > 0)
    for (const lease of await findEndedLeases(tx, absent)) batch.ended.set(lease.runId, lease);
  if (durable.length > 0) {
    Object.assign(batch.facts, await readFacts(tx, durable, isRepeatIn(batch), sources));
    batch.facts.heldWorkspaces = await findHeldWorkspaces(tx, durable, batch);
  }
  const needy = operations.filter(
    ({ operation }) =>
      operation.kind === "metadata" || (operation.kind === "release" && operation.outcome !== "succeeded"),
  );
  if (needy.length > 0)
    for (const policy of await findRunPolicies(tx, distinctRuns(needy)))
      batch.policies.set(policy.runId, policy);

  const outcomes = operations.map((operation, index) => applyOperation(batch, operation, index));
  const { appended, admittedIn } = await writeBatch(tx, context, batch);
  await sendInputs(tx, context, batch, outcomes);
  await answerWaits(tx, batch, operations, outcomes);
  await cancelGivenUpRuns(tx, batch);
  await startExecs(tx, context.newUuid, batch, outcomes);
  await endGivenUpExecs(tx, batch);
  await continueRuns(tx, batch.continuations, batch.now);
  const written = locked.filter(({ runId }) => isWritten(batch.changes.get(runId)));
  return { outcomes, storedBytes: storedBytesOf(batch), appended, admittedIn, written };
}

const isWritten = (change: Change | undefined): boolean => change?.dirty === true && change.ending === null;

/** Before the first operation is decided. */
export function beginBatch(
  context: ReportContext,
  workerId: Uuid<"wkr">,
  operations: readonly LeasedOperation[],
  { executions, sources }: { executions: readonly Execution[]; sources: Sources },
): Batch {
  const newestAt = operations.reduce(
    (newest, { operation }) => Math.max(newest, Date.parse(operation.at)),
    0,
  );
  return newBatch({
    now: context.now,
    random: context.random,
    newUuid: context.newUuid,
    origin: context.origin,
    workerId,
    newestAt,
    sentAt: Math.max(newestAt, context.sentAt ?? 0),
    changes: new Map(executions.map((execution) => [execution.runId, changeOf(execution)])),
    // A map of its own, as steps note there what they asked for.
    facts: { ...NO_FACTS, ...sources, openWaits: new Map() },
  });
}

const isRepeatIn =
  ({ changes }: Batch) =>
  ({ runId, leaseId, operation }: LeasedOperation): boolean => {
    const execution = changes.get(runId)?.execution;
    return execution?.leaseId === leaseId && operation.sequence <= execution.appliedSequence;
  };

/** Children and tokens before the waits for them, waits before the entries that accept them. */
async function writeBatch(
  tx: Tx,
  context: ReportContext,
  batch: Batch,
): Promise<Pick<ReportResult, "appended" | "admittedIn">> {
  const { children, tokens, waits, accepted, appends, logs } = batch;
  if (children.length > 0) await insertChildren(tx, children);
  await createTokens(tx, context, tokens);
  await recordWaits(tx, { waits, accepted, settled: batch.settledWaits, now: batch.now });
  const appended = await appendRecords(tx, appends);
  await recordMessages(tx, batch.messages, appended, batch.now);
  await keepOutPieces(tx, batch.fenced);
  await storeStates(tx, [...batch.states.values()]);
  await recordUsage(tx, batch.usage);
  const later = new Set([...batch.inputs, ...batch.execs].map(({ entry }) => entry));
  const journal = batch.journal.filter((entry) => !later.has(entry));
  const admittedIn = await settleChanges(tx, [...batch.changes.values()], { logs, journal });
  const isDueSoon = waits.some(({ timeoutAt }) => timeoutAt !== null && timeoutAt - batch.now < SOON_MS);
  if (isDueSoon) tx.wake(wakeKeys.timers);
  const placed = appends.flatMap((append, index) => {
    const at = appended[index];
    return at === null || at === undefined ? [] : [{ append, ...at }];
  });
  return { appended: placed, admittedIn };
}

/** Input to other sessions, when all that this report says of their runs is written. */
async function sendInputs(
  tx: Tx,
  context: ReportContext,
  { inputs }: Batch,
  outcomes: OperationOutcome[],
): Promise<void> {
  for (const { entry, append, index } of inputs) {
    try {
      const sent = await appendUnderSession(tx, context, append);
      entry.value = JSON.stringify({ sequence: sent.firstSequence });
    } catch (error) {
      entry.error = JSON.stringify(toDurableError(error));
    }
    const { kind, value, error } = entry;
    outcomes[index] = { ok: true, value: { kind: "effect", entry: kind, value, error } };
  }
  await settleJournal(
    tx,
    inputs.map(({ entry }) => entry),
  );
}

/** What is due later than this is found in time by the look that each server takes once a second. */
const SOON_MS = 2_000;

/** A `waits` operation, repeated or not, is answered with every settled wait that the journal does not have. */
async function answerWaits(
  tx: Tx,
  { changes }: Batch,
  operations: readonly LeasedOperation[],
  outcomes: OperationOutcome[],
): Promise<void> {
  const asked = operations.filter(
    ({ operation }, index) => operation.kind === "waits" && outcomes[index]?.ok,
  );
  if (asked.length === 0) return;
  const rows = await listSettledWaits(tx, distinctRuns(asked));
  for (const [index, { runId, operation }] of operations.entries()) {
    if (operation.kind !== "waits" || outcomes[index]?.ok !== true) continue;
    const waits = rows.filter((row) => row.runId === runId);
    const parked = changes.get(runId)?.execution.status === "waiting";
    outcomes[index] = { ok: true, value: { kind: "waits", parked, waits } };
  }
}
