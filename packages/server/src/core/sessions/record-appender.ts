import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import { createBatcher, type BatchOutcome } from "../../db/batcher.ts";
import { inParts, succeeded } from "../../db/batch-parts.ts";
import { DomainError } from "../../domain-error.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { findStoredAnswer } from "../idempotency/idempotency-reads.ts";
import { withKeys } from "../idempotency/with-keys.ts";
import { keyConflict } from "../runs/start-runs.ts";
import type { TurnContext } from "./start-turn.ts";
import {
  answerOf,
  appendBatch,
  appendOutputs,
  keyOfAppend,
  parseStoredAppend,
  type AppendedBefore,
  type AppendKey,
  type BatchResult,
  type KeyedAppend,
} from "../streams/append-batch.ts";
import { appendUnderSession, type BusyOptions } from "./append-under-session.ts";
import type { Append, Sent } from "../streams/stream.ts";

export type AppendContext = TurnContext & { db: Database; wakes: Wakes };

/** `replayed`: an earlier request with the key appended them, and these are its records. */
export type AppendOutcome = (Sent & { replayed: false }) | (AppendedBefore & { replayed: true });

/** What an append may ask for besides. */
export type AppendOptions = BusyOptions & {
  /** Done before, in the same transaction, and not for a repeat. What it throws refuses the append. */
  first?: ((tx: Tx) => Promise<void>) | undefined;
};

/** Appends for callers from outside, concurrent ones sharing a statement. Resolves when the records are durable. */
export type RecordAppender = {
  append(append: Append, key: AppendKey | null, options?: AppendOptions): Promise<AppendOutcome>;
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
    run: (batch) => runParts(batch, (part) => appendOutputs(context, part)),
  });
  const others = createBatcher<KeyedAppend, BatchResult>({
    maxItems: MAX_BATCH,
    maxInFlight: MAX_IN_FLIGHT,
    groupOf: ({ append }) => append.environmentId,
    run: (batch) => runParts(batch, (part) => appendOthers(context, part)),
  });
  const appendFast = async (item: KeyedAppend, options: AppendOptions): Promise<BatchResult> => {
    const batcher = item.append.direction === "output" && item.key === null ? outputs : others;
    const result = await batcher.submit(item);
    return result.kind === "left" ? appendAlone(context, item, options) : result;
  };
  const appendOnce = async (
    { append, key }: KeyedAppend,
    tryOnce: () => Promise<BatchResult>,
  ): Promise<AppendOutcome> => {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      const result = await tryOnce();
      if (result.kind === "appended") return { ...result.sent, replayed: false };
      const first = key === null ? null : await findFirstAppend(context.db, append, key);
      if (first !== null) return { ...first, replayed: true };
    }
    throw new DomainError("unavailable", "The idempotency key is being used; try again.");
  };
  return {
    append: (append, key, options = {}) => {
      const { first, whileBusy } = options;
      const steer = whileBusy === undefined ? undefined : whileBusy === "steer";
      const item = { append: { ...append, steer }, key };
      // What may be refused once it is there, or comes with something else, has a transaction of its own.
      const isAlone = first !== undefined || whileBusy === "interrupt" || whileBusy === "reject";
      return appendOnce(item, () =>
        isAlone ? appendAlone(context, item, options) : appendFast(item, options),
      );
    },
    pending: () => outputs.pending() + others.pending(),
  };
}

const charactersOf = ({ append }: KeyedAppend): number =>
  append.records.reduce((sum, { data }) => sum + data.length, 0);

const runParts = (
  batch: readonly KeyedAppend[],
  append: (part: readonly KeyedAppend[]) => Promise<BatchResult[]>,
): Promise<BatchOutcome<BatchResult>[]> =>
  inParts(batch, charactersOf, async (part) => (await append(part)).map(succeeded));

async function appendOthers(
  { db, clock }: AppendContext,
  batch: readonly KeyedAppend[],
): Promise<BatchResult[]> {
  return db.transaction((tx) => appendBatch(tx, batch, clock()));
}

async function appendAlone(
  context: AppendContext,
  item: KeyedAppend,
  { first, ...busy }: AppendOptions = {},
): Promise<BatchResult> {
  const key = keyOfAppend(item);
  const wanted = key === null ? [] : [key.wanted];
  const sent = await context.db.transaction((tx) =>
    withKeys(tx, wanted, context.clock(), async (taken) => {
      if (key !== null && !taken.has(key.id)) return { result: null, answers: new Map() };
      await first?.(tx);
      const sent = await appendUnderSession(tx, context, item.append, busy);
      const answers = new Map(key === null ? [] : [[key.id, answerOf(sent)]]);
      return { result: sent, answers };
    }),
  );
  return sent === null ? { kind: "keyed" } : { kind: "appended", sent };
}

/** @throws DomainError `idempotency_conflict` when the key was used with another body. */
async function findFirstAppend(
  db: Database,
  append: Append,
  { scope, key, digest }: AppendKey,
): Promise<AppendedBefore | null> {
  const stored = await findStoredAnswer(db, append.environmentId, scope, key);
  if (stored === null || stored.body === null) return null;
  if (!stored.requestDigest.equals(digest)) throw keyConflict(key);
  return parseStoredAppend(stored.body);
}
