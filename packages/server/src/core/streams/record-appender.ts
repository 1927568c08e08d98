import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import { createBatcher, type BatchOutcome } from "../../db/batcher.ts";
import { DomainError } from "../../domain-error.ts";
import { wakeKeys, type Wakes } from "../feeds/wakes.ts";
import { findStoredAnswer } from "../idempotency/idempotency-reads.ts";
import { withKeys } from "../idempotency/with-keys.ts";
import { keyConflict } from "../runs/start-runs.ts";
import type { TurnContext } from "../sessions/start-turn.ts";
import {
  answerOf,
  appendBatch,
  keyOfAppend,
  type AppendKey,
  type BatchResult,
  type KeyedAppend,
  type StoredAppend,
} from "./append-batch.ts";
import { appendUnderSession } from "./append-under-session.ts";
import type { Append, Appended } from "./stream.ts";
import { wakeStreams } from "./stream-effects.ts";
import { insertRecords } from "./stream-writes.ts";

export type AppendContext = TurnContext & { db: Database; wakes: Wakes };

/** `replayed`: an earlier request with the key appended them, and these are its records. */
export type AppendOutcome = Appended & { replayed: boolean };

/** Appends for callers from outside, concurrent ones sharing a statement. Resolves when the records are durable. */
export type RecordAppender = {
  append(append: Append, key: AppendKey | null): Promise<AppendOutcome>;
  /**
   * Appends in a transaction of its own, in which `first` is done before: both happen or neither. For a repeat of an
   * append it is not done. What it throws refuses the append.
   */
  appendAfter(
    append: Append,
    key: AppendKey | null,
    first: (tx: Tx) => Promise<void>,
  ): Promise<AppendOutcome>;
  pending(): number;
};

const MAX_BATCH = 500;
const MAX_IN_FLIGHT = 2;
/** A key can be given back or expire between two looks at it; more often than this is not chance. */
const MAX_ATTEMPTS = 5;

/**
 * The fast way appends to streams whose gates are open: outputs without a key in one statement, others in a transaction
 * of three. What it leaves is done one by one under the session's lock.
 */
export function createRecordAppender(context: AppendContext): RecordAppender {
  const outputs = createBatcher<KeyedAppend, BatchResult>({
    maxItems: MAX_BATCH,
    maxInFlight: MAX_IN_FLIGHT,
    groupOf: ({ append }) => append.environmentId,
    run: (batch) => inParts(batch, (part) => appendOutputs(context, part)),
  });
  const others = createBatcher<KeyedAppend, BatchResult>({
    maxItems: MAX_BATCH,
    maxInFlight: MAX_IN_FLIGHT,
    groupOf: ({ append }) => append.environmentId,
    run: (batch) => inParts(batch, (part) => appendOthers(context, part)),
  });
  const appendFast = async (item: KeyedAppend): Promise<BatchResult> => {
    const batcher = item.append.direction === "output" && item.key === null ? outputs : others;
    const result = await batcher.submit(item);
    return result.kind === "left" ? appendAlone(context, item) : result;
  };
  const appendOnce = async (
    { append, key }: KeyedAppend,
    tryOnce: () => Promise<BatchResult>,
  ): Promise<AppendOutcome> => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const result = await tryOnce();
      if (result.kind === "appended") return { ...result.appended, replayed: false };
      const first = key === null ? null : await findFirstAppend(context.db, append, key);
      if (first !== null) return { ...first, replayed: true };
    }
    throw new DomainError("unavailable", "The idempotency key is being used; try again.");
  };
  return {
    append: (append, key) => appendOnce({ append, key }, () => appendFast({ append, key })),
    appendAfter: (append, key, first) =>
      appendOnce({ append, key }, () => appendAlone(context, { append, key }, first)),
    pending: () => outputs.pending() + others.pending(),
  };
}

/** Bounds one statement's text, whatever the appends hold. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

function splitBySize(batch: readonly KeyedAppend[]): KeyedAppend[][] {
  const parts: KeyedAppend[][] = [];
  let left = 0;
  for (const item of batch) {
    const characters = item.append.records.reduce((sum, { data }) => sum + data.length, 0);
    if (parts.length === 0 || characters > left) {
      parts.push([]);
      left = MAX_CHARACTERS;
    }
    left -= characters;
    parts.at(-1)?.push(item);
  }
  return parts;
}

/** One part after the other; a part that fails fails alone. */
async function inParts(
  batch: readonly KeyedAppend[],
  run: (part: readonly KeyedAppend[]) => Promise<BatchResult[]>,
): Promise<BatchOutcome<BatchResult>[]> {
  const outcomes: BatchOutcome<BatchResult>[] = [];
  for (const part of splitBySize(batch)) {
    try {
      for (const value of await run(part)) outcomes.push({ ok: true, value });
    } catch (error) {
      for (const _ of part) outcomes.push({ ok: false, error });
    }
  }
  return outcomes;
}

async function appendOutputs(
  { db, wakes }: AppendContext,
  batch: readonly KeyedAppend[],
): Promise<BatchResult[]> {
  const inserted = await insertRecords(
    db,
    batch.map(({ append }) => append),
    false,
  );
  for (const [streamId, upTo] of lastSequences(batch, inserted)) wakes.wake(wakeKeys.stream(streamId), upTo);
  return inserted.map((appended) => (appended === null ? { kind: "left" } : { kind: "appended", appended }));
}

/** Where each stream ends after these appends. */
function lastSequences(
  batch: readonly KeyedAppend[],
  inserted: readonly (Appended | null)[],
): Map<string, number> {
  const last = new Map<string, number>();
  for (const [at, appended] of inserted.entries()) {
    if (appended === null) continue;
    const sequence = appended.firstSequence + (batch[at]?.append.records.length ?? 0) - 1;
    last.set(appended.streamId, Math.max(last.get(appended.streamId) ?? 0, sequence));
  }
  return last;
}

async function appendOthers(
  { db, wakes, clock }: AppendContext,
  batch: readonly KeyedAppend[],
): Promise<BatchResult[]> {
  const { results, effects } = await db.transaction((tx) => appendBatch(tx, batch, clock()));
  wakeStreams(wakes, effects);
  return results;
}

async function appendAlone(
  context: AppendContext,
  item: KeyedAppend,
  first: (tx: Tx) => Promise<void> = () => Promise.resolve(),
): Promise<BatchResult> {
  const key = keyOfAppend(item);
  const wanted = key === null ? [] : [key.wanted];
  const done = await context.db.transaction((tx) =>
    withKeys(tx, wanted, context.clock(), async (taken) => {
      if (key !== null && !taken.has(key.id)) return { result: null, answers: new Map() };
      await first(tx);
      const result = await appendUnderSession(tx, context, item.append);
      const answers = new Map(key === null ? [] : [[key.id, answerOf(result.appended)]]);
      return { result, answers };
    }),
  );
  if (done === null) return { kind: "keyed" };
  wakeStreams(context.wakes, done.effects);
  return { kind: "appended", appended: done.appended };
}

/** @throws DomainError `idempotency_conflict` when the key was used with another body. */
async function findFirstAppend(
  db: Database,
  append: Append,
  { scope, key, digest }: AppendKey,
): Promise<Appended | null> {
  const stored = await findStoredAnswer(db, append.environmentId, scope, key);
  if (stored === null || stored.body === null) return null;
  if (!stored.requestDigest.equals(digest)) throw keyConflict(key);
  const { stream_id: streamId, first_sequence: firstSequence } = JSON.parse(stored.body) as StoredAppend;
  return { streamId, firstSequence };
}
