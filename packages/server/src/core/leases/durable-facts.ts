import type { ExecutionKey } from "../executions/execution.ts";
import { decodeId, type TokenStatus, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewUuid } from "../../uuid.ts";
import { listJournalEntries, type JournalRow } from "../journal/journal-reads.ts";
import { findSessionIdByExternalId, lockSession, type StoredSession } from "../sessions/session-reads.ts";
import type { KnownState, SessionKey } from "../sessions/session-state.ts";
import type { MessagePart, OpenMessage } from "../streams/message.ts";
import {
  listInterruptedCalls,
  listOpenMessages,
  listParts,
  listTakenMessages,
} from "../streams/message-reads.ts";
import { ensureStreams, type WantedStream } from "../streams/ensure-streams.ts";
import { keyOfStream } from "../streams/stream.ts";
import { findStreams, lockStreams, type StreamRow } from "../streams/stream-reads.ts";
import {
  listOpenWaits,
  listRunPlaces,
  lockTokenStatuses,
  type OpenWait,
  type RunPlace,
} from "../waits/wait-source-reads.ts";
import { listAwaitedStreams } from "../executions/continuation-reads.ts";
import type { LeasedContent, LeasedOperation } from "./report-batch.ts";
import { keyOfState, readStates, sessionsToSet } from "./state-facts.ts";

/** What durable operations of a report are decided by, read and locked for all of them at once. */
export type DurableFacts = {
  /** By run. */
  runs: Map<string, RunPlace>;
  /** By environment and session as an `inputs` operation names it. */
  targets: Map<string, StoredSession>;
  /** By environment and token. */
  tokens: Map<string, TokenStatus>;
  /** By environment, session and name. */
  streams: Map<string, StreamRow>;
  /** Waits that the journal does not have, by run and position: of those that are pending, the ones that the operations may be about. */
  openWaits: Map<string, Map<number, OpenWait>>;
  /** By run and position: what an operation that is repeated has entered in the journal. */
  entries: Map<string, JournalRow>;
  /** Messages of the runs that have begun and not ended, by run; only where operations begin or end some. */
  openMessages: Map<string, OpenMessage[]>;
  /** Calls of the runs whose message was interrupted, by run; only where operations begin messages under a later lease. */
  interruptedCalls: Map<string, Set<string>>;
  /** Messages of repeated operations that were ended without their code, or not begun; only where such streams are fenced. */
  endedMessages: Set<string>;
  /** Parts that count, by message; only of those of which some are to count no more. */
  parts: Map<string, MessagePart[]>;
  /** Workspaces of the runs whose commands are to be started, as far as the worker has them. */
  heldWorkspaces: Set<string>;
  /** States of the sessions of runs that read or set them, by environment and session. */
  states: Map<string, KnownState>;
};

export const NO_FACTS: DurableFacts = {
  runs: new Map(),
  targets: new Map(),
  tokens: new Map(),
  streams: new Map(),
  openWaits: new Map(),
  entries: new Map(),
  openMessages: new Map(),
  interruptedCalls: new Map(),
  endedMessages: new Set(),
  parts: new Map(),
  heldWorkspaces: new Set(),
  states: new Map(),
};

const DURABLE_KINDS: ReadonlySet<LeasedContent["kind"]> = new Set([
  "steps",
  "waits",
  "tokens",
  "child-runs",
  "outputs",
  "inputs",
  "execs",
  "states",
]);

export const isDurable = ({ operation }: LeasedOperation): boolean => DURABLE_KINDS.has(operation.kind);

type InputsOperation = Extract<LeasedContent, { kind: "inputs" }>;

/** Each run once: a report may have a hundred operations of one run. */
export function distinctRuns<Key extends ExecutionKey>(keys: readonly Key[]): Key[] {
  const environments = new Map<string, string>();
  return keys.filter(({ environmentId, runId }) => {
    const isNew = environments.get(runId) !== environmentId;
    // A worker that names a run under several environments is answered for each: the run is of one of them at most.
    if (isNew) environments.set(runId, environmentId);
    return isNew;
  });
}

const waitsOf = (operations: readonly LeasedOperation[]) =>
  operations.flatMap(({ environmentId, runId, operation }) =>
    operation.kind === "waits" ? operation.waits.map((wait) => ({ environmentId, runId, wait })) : [],
  );

/** Runs that new waits are for. They are locked with the waiting runs, so that neither misses the other's news. */
export const childrenOf = (operations: readonly LeasedOperation[]): ExecutionKey[] =>
  waitsOf(operations).flatMap(({ environmentId, wait }) => {
    const runId = decodeId("run", wait.run_id ?? "");
    return runId === null ? [] : [{ environmentId, runId }];
  });

/** The session that an `inputs` operation names. */
export const targetName = (environmentId: Uuid<"env">, operation: InputsOperation): string =>
  operation.session_id === undefined
    ? `${environmentId} external ${operation.external_id ?? ""}`
    : `${environmentId} id ${operation.session_id}`;

export type Sources = Pick<DurableFacts, "runs" | "targets" | "tokens" | "streams">;

/**
 * Before the live rows are locked, in the order that every transaction keeps: the tokens that new waits are for, the
 * sessions that input goes to or whose state is set, and the streams that are received or appended to, or that runs give input back
 * to which continue. Whoever completes a token, appends or
 * ends a session locks these too, so what they do comes wholly before or wholly after this report.
 */
export async function lockSources(
  tx: Tx,
  { newUuid, now }: { newUuid: NewUuid; now: number },
  { operations, continuing }: { operations: readonly LeasedOperation[]; continuing: readonly ExecutionKey[] },
): Promise<Sources> {
  const placed = operations.filter(({ operation }) => PLACED_KINDS.has(operation.kind));
  const runs = new Map(
    (placed.length === 0 ? [] : await listRunPlaces(tx, distinctRuns(placed))).map((row) => [row.runId, row]),
  );
  const tokens = await lockTokens(tx, operations);
  const targets = await lockTargets(tx, operations, sessionsToSet(operations, runs));
  const wanted = wantedStreams(operations, runs, targets);
  const awaited = continuing.length === 0 ? [] : await listAwaitedStreams(tx, distinctRuns(continuing));
  if (wanted.length + awaited.length === 0) return { runs, targets, tokens, streams: new Map() };
  const ensured = await ensureStreams(tx, newUuid, wanted, now);
  const interrupted = await listInterruptible(tx, targets);
  // Their counters are read again under the locks.
  await lockStreams(tx, [...ensured.values(), ...interrupted, ...awaited]);
  const streams = new Map((await findStreams(tx, wanted)).map((stream) => [keyOfStream(stream), stream]));
  return { runs, targets, tokens, streams };
}

/** Streams of messages that the input interrupts, as the actors of its sessions declare it. */
async function listInterruptible(
  tx: Tx,
  targets: ReadonlyMap<string, StoredSession>,
): Promise<{ environmentId: Uuid<"env">; id: Uuid<"strm"> }[]> {
  const runs = [...targets.values()]
    .filter(({ whileBusy }) => whileBusy === "interrupt")
    .map(({ environmentId, id: sessionId, currentRunId: runId }) => ({ environmentId, sessionId, runId }));
  const open = await listOpenMessages(tx, runs);
  return open.map(({ environmentId, streamId: id }) => ({ environmentId, id }));
}

/** Operations for which it matters what the run belongs to. */
const PLACED_KINDS: ReadonlySet<LeasedContent["kind"]> = new Set([
  "waits",
  "outputs",
  "tokens",
  "execs",
  "states",
]);

async function lockTokens(tx: Tx, operations: readonly LeasedOperation[]): Promise<Map<string, TokenStatus>> {
  const keys = waitsOf(operations).flatMap(({ environmentId, wait }) => {
    const tokenId = decodeId("tok", wait.token_id ?? "");
    return tokenId === null ? [] : [{ environmentId, tokenId }];
  });
  const rows = keys.length === 0 ? [] : await lockTokenStatuses(tx, keys);
  return new Map(rows.map((row) => [`${row.environmentId} ${row.tokenId}`, row.status]));
}

async function lockTargets(
  tx: Tx,
  operations: readonly LeasedOperation[],
  more: readonly SessionKey[],
): Promise<Map<string, StoredSession>> {
  const found = new Map<string, SessionKey>(more.map((key) => [keyOfState(key), key]));
  for (const { environmentId, operation } of operations) {
    if (operation.kind !== "inputs") continue;
    const sessionId =
      operation.session_id === undefined
        ? await findSessionIdByExternalId(tx, environmentId, operation.external_id ?? "")
        : decodeId("sess", operation.session_id);
    if (sessionId !== null) found.set(targetName(environmentId, operation), { environmentId, sessionId });
  }
  const inOrder = [...found].sort(([, a], [, b]) =>
    `${a.environmentId} ${a.sessionId}` < `${b.environmentId} ${b.sessionId}` ? -1 : 1,
  );
  const targets = new Map<string, StoredSession>();
  for (const [name, { environmentId, sessionId }] of inOrder) {
    const session = await lockSession(tx, environmentId, sessionId);
    if (session !== null) targets.set(name, session);
  }
  return targets;
}

function wantedStreams(
  operations: readonly LeasedOperation[],
  runs: ReadonlyMap<string, RunPlace>,
  targets: ReadonlyMap<string, StoredSession>,
): WantedStream[] {
  return operations.flatMap(({ environmentId, runId, operation }): WantedStream[] => {
    const sessionId = runs.get(runId)?.sessionId ?? null;
    switch (operation.kind) {
      case "outputs":
        return sessionId === null
          ? []
          : [{ environmentId, sessionId, name: operation.stream, direction: "output" }];
      case "waits":
        return operation.waits.flatMap(({ kind, stream: name }): WantedStream[] => {
          if (name === undefined || sessionId === null) return [];
          if (kind === "input") return [{ environmentId, sessionId, name, direction: "input" }];
          // Who interrupts a message locks its stream too.
          return kind === "message" ? [{ environmentId, sessionId, name, direction: "output" }] : [];
        });
      case "inputs": {
        const target = targets.get(targetName(environmentId, operation));
        return target === undefined
          ? []
          : [{ environmentId, sessionId: target.id, name: operation.stream, direction: "input" }];
      }
      default:
        return [];
    }
  });
}

/** The runs that input to these sessions may resume. */
export const receiversOf = ({ targets }: Sources): ExecutionKey[] =>
  [...targets.values()].map(({ environmentId, currentRunId }) => ({ environmentId, runId: currentRunId }));

/** Under the locks of the live rows: what the runs wait for already, and what repeated operations have entered. */
export async function readFacts(
  tx: Tx,
  operations: readonly LeasedOperation[],
  isRepeat: (operation: LeasedOperation) => boolean,
  { runs, streams }: Sources,
): Promise<
  Pick<
    DurableFacts,
    "openWaits" | "entries" | "openMessages" | "interruptedCalls" | "endedMessages" | "parts" | "states"
  >
> {
  const waiting = operations.filter(
    ({ operation }) =>
      operation.kind === "waits" ||
      (operation.kind === "steps" && operation.entries.some(({ kind }) => kind === "wait")) ||
      (operation.kind === "outputs" && operation.position !== null && operation.message?.ends !== undefined),
  );
  const openWaits = new Map<string, Map<number, OpenWait>>();
  for (const wait of await listOpenWaits(tx, distinctRuns(waiting), waiting.flatMap(positionsOf))) {
    const ofRun = openWaits.get(wait.runId) ?? new Map<number, OpenWait>();
    openWaits.set(wait.runId, ofRun.set(wait.position, wait));
  }
  const repeated = operations.filter(isRepeat).flatMap(({ environmentId, runId, operation }) => {
    const position = "position" in operation ? operation.position : null;
    return position === null ? [] : [{ environmentId, runId, position }];
  });
  const entries = new Map(
    (await listJournalEntries(tx, repeated)).map((row) => [`${row.runId} ${row.position}`, row]),
  );
  const isFenced = isOfFencedStream(runs, streams);
  return {
    openWaits,
    entries,
    openMessages: await readOpenMessages(tx, operations, runs, isFenced),
    interruptedCalls: await readInterruptedCalls(tx, operations),
    parts: await readParts(tx, operations),
    states: await readStates(tx, operations, runs),
    endedMessages: await readEndedMessages(
      tx,
      operations.filter((leased) => isRepeat(leased) && isFenced(leased)),
    ),
  };
}

/** Where there are waits that it accepts or gives up. */
function positionsOf({ operation }: LeasedOperation): number[] {
  if (operation.kind === "steps")
    return operation.entries.flatMap(({ kind, position }) => (kind === "wait" ? [position] : []));
  return operation.kind === "waits" ? (operation.cancels ?? []) : [];
}

/** Whether it writes to a stream whose messages may have been ended in the place of their code. */
const isOfFencedStream =
  (runs: Sources["runs"], streams: Sources["streams"]) =>
  ({ environmentId, runId, operation }: LeasedOperation): boolean => {
    const sessionId = runs.get(runId)?.sessionId;
    if (operation.kind !== "outputs" || sessionId === undefined || sessionId === null) return false;
    return streams.get(keyOfStream({ environmentId, sessionId, name: operation.stream }))?.fenced === true;
  };

async function readOpenMessages(
  tx: Tx,
  operations: readonly LeasedOperation[],
  runs: ReadonlyMap<string, RunPlace>,
  isFenced: (operation: LeasedOperation) => boolean,
): Promise<Map<string, OpenMessage[]>> {
  const writing = operations.filter((leased) => {
    const { operation } = leased;
    if (operation.kind === "waits") return operation.waits.some(({ kind }) => kind === "message");
    if (operation.kind !== "outputs" || operation.message === undefined) return false;
    const { begins, ends, part, voids } = operation.message;
    return [begins, ends, part, voids].some((one) => one !== undefined) || isFenced(leased);
  });
  const open = new Map<string, OpenMessage[]>();
  const inSessions = distinctRuns(writing).flatMap((key) => {
    const sessionId = runs.get(key.runId)?.sessionId ?? null;
    return sessionId === null ? [] : [{ ...key, sessionId }];
  });
  for (const message of await listOpenMessages(tx, inSessions))
    open.set(message.runId, [...(open.get(message.runId) ?? []), message]);
  return open;
}

/** A run that has its first lease has begun no message before. */
async function readInterruptedCalls(
  tx: Tx,
  operations: readonly LeasedOperation[],
): Promise<Map<string, Set<string>>> {
  const again = operations.filter(
    ({ epoch, operation }) => epoch > 1 && operation.kind === "outputs" && operation.message?.begins === true,
  );
  const calls = new Map<string, Set<string>>();
  for (const { runId, call } of await listInterruptedCalls(tx, distinctRuns(again)))
    calls.set(runId, (calls.get(runId) ?? new Set()).add(call));
  return calls;
}

/** What may be void from now on. */
async function readParts(
  tx: Tx,
  operations: readonly LeasedOperation[],
): Promise<Map<string, MessagePart[]>> {
  const keys = operations.flatMap(({ environmentId, operation }) => {
    const { id, voids } = (operation.kind === "outputs" ? operation.message : undefined) ?? {};
    const messageId = voids === undefined ? null : decodeId("msg", id ?? "");
    return messageId === null ? [] : [{ environmentId, id: messageId }];
  });
  const once = [...new Map(keys.map((key) => [key.id, key])).values()];
  const parts = Map.groupBy(await listParts(tx, once), ({ id }) => id);
  return new Map(once.map(({ id }) => [id, parts.get(id) ?? []]));
}

async function readEndedMessages(tx: Tx, repeated: readonly LeasedOperation[]): Promise<Set<string>> {
  const keys = repeated.flatMap(({ environmentId, operation }) => {
    const id = operation.kind === "outputs" ? decodeId("msg", operation.message?.id ?? "") : null;
    return id === null ? [] : [{ environmentId, id }];
  });
  const taken = new Set((await listTakenMessages(tx, keys)).map(({ id }) => id));
  return new Set(keys.flatMap(({ id }) => (taken.has(id) ? [] : [id])));
}
