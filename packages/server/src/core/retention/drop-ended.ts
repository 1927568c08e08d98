import type { Clock } from "../../clock.ts";
import type { Database } from "../../db/pool.ts";
import type { Tx } from "../../db/queryable.ts";
import { firstUuidOf } from "../../uuid.ts";
import { FIRST_KEY, soonerOf, type DroppedKind, type RetentionPolicy, type Swept } from "./retention.ts";
import {
  listEndedRuns,
  listEndedTokens,
  listEnvironmentIds,
  listProcessesWithOutput,
  listRunsWithEvents,
  listRunsWithLogPacks,
  listRunsWithLogs,
  listScheduleIds,
  takeRetentionLock,
  type Candidate,
  type Sweep,
} from "./retention-reads.ts";
import {
  deleteOccurrences,
  deleteOutputs,
  deleteRunEvents,
  deleteRunLogs,
  deleteRuns,
  deleteSessions,
  deleteTokens,
  dropRecords,
} from "./retention-writes.ts";

export type RetentionContext = {
  db: Database;
  clock: Clock;
  retention: RetentionPolicy;
  /** Told what went, for the metrics. */
  countDropped: (kind: DroppedKind, count: number) => void;
};

/** Keys that a transaction looks at. What hangs on one of them goes with it: some thousand rows, in tens of milliseconds. */
const PAGE = 500;
const SESSIONS = 20;
const PIECE_RECORDS = 500;

type List = (tx: Tx, sweep: Sweep) => Promise<Candidate[]>;
type Drop = (tx: Tx, environmentId: string, ids: readonly string[], now: number) => Promise<number>;

/** Drops, of everything that is kept for a time, what is older. What another server is dropping is left to it. */
export async function dropEnded(context: RetentionContext): Promise<void> {
  const { retention } = context;
  const recordsMs = soonerOf(retention.recordsMs, retention.sessionsMs);
  if (recordsMs !== null) await dropEndedRecords(context, recordsMs);
  if (retention.sessionsMs !== null) await dropEndedSessions(context, retention.sessionsMs);
  for (const environmentId of await listEnvironmentIds(context.db)) {
    const sweep = (kind: DroppedKind, keptMs: number | null, list: List, drop: Drop): Promise<void> =>
      keptMs === null ? Promise.resolve() : sweepKeys(context, environmentId, kind, keptMs, list, drop);
    await sweep("runs", retention.runsMs, listEndedRuns, dropRuns);
    await sweep("run_events", retention.eventsMs, listRunsWithEvents, deleteRunEvents);
    await sweep("run_logs", retention.logsMs, listRunsWithLogs, deleteRunLogs);
    await sweep("run_logs", retention.logsMs, listRunsWithLogPacks, deleteRunLogs);
    await sweep("tokens", retention.tokensMs, listEndedTokens, deleteTokens);
    await sweep("process_outputs", retention.outputMs, listProcessesWithOutput, deleteOutputs);
    if (retention.occurrencesMs !== null)
      await dropOccurrences(context, environmentId, retention.occurrencesMs);
  }
}

async function dropRuns(
  tx: Tx,
  environmentId: string,
  runIds: readonly string[],
  now: number,
): Promise<number> {
  await deleteRunLogs(tx, environmentId, runIds, now);
  return deleteRuns(tx, environmentId, runIds);
}

/**
 * Repeats a step, a transaction each, until it says that it has seen all. A crash of PostgreSQL may undo the last ones,
 * and the next round does them again.
 */
async function repeat(
  { db, countDropped }: RetentionContext,
  kind: DroppedKind,
  step: (tx: Tx, after: string) => Promise<Swept>,
): Promise<void> {
  for (let after: string | null = FIRST_KEY; after !== null;) {
    const from: string = after;
    const swept: Swept = await db.transaction(
      async (tx) => ((await takeRetentionLock(tx)) ? step(tx, from) : { dropped: 0, after: null }),
      { durability: "relaxed" },
    );
    countDropped(kind, swept.dropped);
    after = swept.after;
  }
}

/**
 * Goes through the keys that were made before the time in question: what ended before it was made before it too. Those
 * that are not due are passed over, which are few, or gone with the next round.
 */
function sweepKeys(
  context: RetentionContext,
  environmentId: string,
  kind: DroppedKind,
  keptMs: number,
  list: List,
  drop: Drop,
): Promise<void> {
  const now = context.clock();
  const endedBefore = now - keptMs;
  const horizon = firstUuidOf(endedBefore);
  return repeat(context, kind, async (tx, after) => {
    const candidates = await list(tx, { environmentId, after, horizon, endedBefore, limit: PAGE });
    const due = candidates.filter(({ isDue }) => isDue).map(({ id }) => id);
    const dropped = due.length === 0 ? 0 : await drop(tx, environmentId, due, now);
    // A page of rows may be of fewer keys: only an empty one is known to be the last.
    return { dropped, after: candidates.at(-1)?.id ?? null };
  });
}

function dropOccurrences(context: RetentionContext, environmentId: string, keptMs: number): Promise<void> {
  const before = context.clock() - keptMs;
  return repeat(context, "occurrences", async (tx, after) => {
    const ids = await listScheduleIds(tx, { environmentId, after, limit: PAGE });
    if (ids.length === 0) return { dropped: 0, after: null };
    const dropped = await deleteOccurrences(tx, environmentId, ids, before, PAGE);
    return { dropped, after: dropped === PAGE ? after : (ids.at(-1) ?? null) };
  });
}

function dropEndedRecords(context: RetentionContext, keptMs: number): Promise<void> {
  const before = context.clock() - keptMs;
  return repeat(context, "records", async (tx, after) => {
    const { dropped, looked } = await dropRecords(tx, before, SESSIONS, PIECE_RECORDS);
    return { dropped, after: looked === 0 ? null : after };
  });
}

function dropEndedSessions(context: RetentionContext, keptMs: number): Promise<void> {
  const before = context.clock() - keptMs;
  return repeat(context, "sessions", async (tx, after) => {
    const dropped = await deleteSessions(tx, before, PAGE);
    return { dropped, after: dropped < PAGE ? null : after };
  });
}
