import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import type { Answer } from "../idempotency/with-idempotency.ts";
import { keyIdOf, withKeys, type ManyKeys } from "../idempotency/with-keys.ts";
import { tellInputWaits } from "./tell-input-waits.ts";
import { appendRecords } from "./append-records.ts";
import type { Append, Appended, Inserted, Sent } from "./stream.ts";
import { insertRecords } from "./stream-writes.ts";

/** The idempotency key of an append. */
export type AppendKey = { scope: string; key: string; digest: Buffer; expiresAt: number };

export type KeyedAppend = { append: Append; key: AppendKey | null };

/** `keyed`: an earlier request has the key; `left`: the fast way does not take it, so nothing has happened. */
export type BatchResult = { kind: "appended"; sent: Sent } | { kind: "keyed" } | { kind: "left" };

/**
 * Where a keyed append's records stand, and whether they began a turn: a repeat is answered from the records themselves, which
 * do not tell that.
 */
export type StoredAppend = { stream_id: Uuid<"strm">; first_sequence: number; started?: true };

export const answerOf = ({ streamId, firstSequence, arrival }: Sent): Answer => {
  const stored: StoredAppend = { stream_id: streamId, first_sequence: firstSequence };
  if (arrival?.startsTurn === true) stored.started = true;
  return { status: 201, body: JSON.stringify(stored) };
};

/** What an earlier request with the key appended. */
export type AppendedBefore = Appended & { startedTurn: boolean };

export function parseStoredAppend(body: string): AppendedBefore {
  const stored = JSON.parse(body) as StoredAppend;
  return {
    streamId: stored.stream_id,
    firstSequence: stored.first_sequence,
    startedTurn: stored.started === true,
  };
}

/** The key as it is taken, and what it is known by; null for an append without one. */
export function keyOfAppend({ append, key }: KeyedAppend): { id: string; wanted: ManyKeys[number] } | null {
  if (key === null) return null;
  const name = { environmentId: append.environmentId, scope: key.scope, key: key.key };
  return {
    id: keyIdOf(name),
    wanted: { ...name, requestDigest: key.digest, expiresAt: key.expiresAt },
  };
}

/**
 * Appends of many callers in one transaction: keys first, then all records in one statement, then the keys' answers and
 * whatever waits for the input. Of equal keys in a batch the first leads.
 */
export function appendBatch(tx: Tx, batch: readonly KeyedAppend[], now: number): Promise<BatchResult[]> {
  const ids = new Map<KeyedAppend, string>();
  const leaders = new Map<string, { item: KeyedAppend; wanted: ManyKeys[number] }>();
  for (const item of batch) {
    const key = keyOfAppend(item);
    if (key === null) continue;
    ids.set(item, key.id);
    if (!leaders.has(key.id)) leaders.set(key.id, { item, wanted: key.wanted });
  }
  const wanted = [...leaders.values()].map((leader) => leader.wanted);
  return withKeys(tx, wanted, now, async (taken) => {
    const goes = (item: KeyedAppend): boolean => {
      const id = ids.get(item);
      return id === undefined || (leaders.get(id)?.item === item && taken.has(id));
    };
    const items = batch.filter(goes);
    const inserted = await appendRecords(
      tx,
      items.map(({ append }) => append),
      "caller",
    );
    const placed = items.flatMap((item, index) => {
      const appended = inserted[index] ?? null;
      return appended === null ? [] : [{ item, appended }];
    });
    const sent = await followUp(tx, placed, now);
    const answers = placed.flatMap(({ item, appended }): [string, Answer][] => {
      const id = ids.get(item);
      return id === undefined ? [] : [[id, answerOf({ ...appended, arrival: null })]];
    });
    const results = batch.map((item) => resultOf(goes(item), sent.get(item) ?? null));
    return { result: results, answers: new Map(answers) };
  });
}

function resultOf(went: boolean, sent: Sent | null): BatchResult {
  if (!went) return { kind: "keyed" };
  return sent === null ? { kind: "left" } : { kind: "appended", sent };
}

/** Lets waits for the input go on. An append to a stream whose gate is open starts no turn. */
async function followUp(
  tx: Tx,
  placed: readonly { item: KeyedAppend; appended: Inserted }[],
  now: number,
): Promise<Map<KeyedAppend, Sent>> {
  const sent = new Map<KeyedAppend, Sent>(
    placed.map(({ item, appended }) => [item, { ...appended, arrival: null }]),
  );
  const inputs = Map.groupBy(
    placed.filter(({ item }) => item.append.direction === "input"),
    ({ item }) => item.append.environmentId,
  );
  for (const [environmentId, appends] of [...inputs].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const ids = [...new Set(appends.map(({ appended }) => appended.streamId))];
    const received = await tellInputWaits(tx, environmentId, ids, now);
    for (const { item, appended } of appends) {
      const delivered = received.get(appended.streamId) ?? new Set();
      const { steer } = appended;
      sent.set(item, { ...appended, arrival: { startsTurn: false, delivered, steer } });
    }
  }
  return sent;
}

/** Outputs without keys, in one statement: what it leaves is done under the session's lock. */
export async function appendOutputs(
  { db, wakes }: { db: Queryable; wakes: Wakes },
  batch: readonly KeyedAppend[],
): Promise<BatchResult[]> {
  const inserted = await insertRecords(
    db,
    batch.map(({ append }) => append),
    "caller",
  );
  for (const [streamId, upTo] of lastSequences(batch, inserted)) wakes.wake(wakeKeys.stream(streamId), upTo);
  return inserted.map((appended) =>
    appended === null ? { kind: "left" } : { kind: "appended", sent: { ...appended, arrival: null } },
  );
}

/** Where each stream ends after these appends. */
function lastSequences(
  batch: readonly KeyedAppend[],
  inserted: readonly (Appended | null)[],
): Map<Uuid<"strm">, number> {
  const last = new Map<Uuid<"strm">, number>();
  for (const [at, appended] of inserted.entries()) {
    if (appended === null) continue;
    const sequence = appended.firstSequence + (batch[at]?.append.records.length ?? 0) - 1;
    last.set(appended.streamId, Math.max(last.get(appended.streamId) ?? 0, sequence));
  }
  return last;
}
