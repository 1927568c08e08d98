import { LIMITS, type IdPrefix, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { listExcessGroups } from "../error-groups/error-group-reads.ts";
import { dropRunRollups } from "../run-rollups/drop-run-rollups.ts";
import { dropErrorGroups } from "../error-groups/drop-error-groups.ts";
import type { LoopItem } from "../loop-failures/loop-failure.ts";
import { omitSetAside } from "../loop-failures/loop-failure-reads.ts";
import { FIRST_KEY, soonerOf, type DroppedKind, type RetentionPolicy } from "./retention.ts";
import {
  listEndedBulkActions,
  listEndedRuns,
  listEndedTokens,
  listEnvironmentIds,
  listProcessesWithOutput,
  listRunsWithEvents,
  listRunsWithLogPacks,
  listRunsWithLogs,
  listScheduleIds,
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
  lockEmptySessions,
  lockSessionsWithRecords,
  type EndedSession,
} from "./retention-writes.ts";
import { dropBulkActions } from "./drop-bulk-actions.ts";
import { deleteDeployments, lockDeployments } from "./deployment-retention-writes.ts";
import { listOldDeployments } from "./deployment-retention-reads.ts";
import { dropWorkspaceRemains } from "./drop-workspace-remains.ts";
import type { SweepFronts } from "./sweep-fronts.ts";
import { dropInBatches, PAGE, sweepKeys, type Drop, type List, type SweepContext } from "./sweep-keys.ts";

export type RetentionContext = SweepContext & {
  retention: RetentionPolicy;
  /**
   * Told of a round that went through everything: what was due when it began is gone, but for runs that were let go since
   * the last look at all of them. Time in milliseconds.
   */
  noteSwept: (begunAt: number) => void;
  /** Where the sweep of runs begins; without it, at the first of all. */
  runFronts?: SweepFronts;
};

type Round = RetentionContext & { noteOtherServer: () => void };

const SESSIONS = 20;
const PIECE_RECORDS = 500;

/** Drops, of everything that is kept for a time, what is older. What another server is dropping is left to it. */
export async function dropEnded(context: RetentionContext): Promise<void> {
  const begunAt = context.clock();
  // A round in which another server was dropping something has not gone through everything.
  let isComplete = true;
  const noteOtherServer = (): void => {
    isComplete = false;
  };
  await dropAll({ ...context, noteOtherServer });
  if (isComplete) context.noteSwept(begunAt);
}

async function dropAll(context: Round): Promise<void> {
  const { retention } = context;
  const recordsMs = soonerOf(retention.recordsMs, retention.sessionsMs);
  if (recordsMs !== null) await dropEndedRecords(context, recordsMs);
  if (retention.sessionsMs !== null) await dropEndedSessions(context, retention.sessionsMs);
  for (const environmentId of await listEnvironmentIds(context.db)) {
    const sweep = <Prefix extends IdPrefix>(
      kind: DroppedKind,
      keptMs: number | null,
      list: List<Prefix>,
      drop: Drop<Prefix>,
    ): Promise<void> => sweepKeys(context, { environmentId, kind, keptMs, list, drop });
    await sweepKeys<"run">(context, {
      ...{ environmentId, kind: "runs", keptMs: retention.runsMs, list: listEndedRuns, drop: dropRuns },
      fronts: context.runFronts,
    });
    await dropEndedBulkActions(context, environmentId, retention.runsMs);
    await sweep("run_events", retention.eventsMs, listRunsWithEvents, deleteRunEvents);
    await sweep("run_logs", retention.logsMs, listRunsWithLogs, deleteRunLogs);
    await sweep("run_logs", retention.logsMs, listRunsWithLogPacks, deleteRunLogs);
    await sweep("tokens", retention.tokensMs, listEndedTokens, deleteTokens);
    await sweep("process_outputs", retention.outputMs, listProcessesWithOutput, deleteOutputs);
    await dropWorkspaceRemains(context, environmentId);
    await dropExcessGroups(context, environmentId);
    await dropRollups(context, environmentId);
    await dropDeployments(context, environmentId, retention.deploymentsMs);
    if (retention.occurrencesMs !== null)
      await dropOccurrences(context, environmentId, retention.occurrencesMs);
  }
}

/** A start that pins one, and a promotion, lock it before they believe in it. */
function dropDeployments(context: Round, environmentId: Uuid<"env">, keptMs: number | null): Promise<void> {
  if (keptMs === null) return Promise.resolve();
  const endedBefore = context.clock() - keptMs;
  const drop: Drop<"dep"> = async (tx, _, ids, now) => {
    const locked = await lockDeployments(tx, environmentId, ids);
    return locked.length === 0 ? 0 : deleteDeployments(tx, environmentId, locked, endedBefore, now);
  };
  return sweepKeys(context, { environmentId, kind: "deployments", keptMs, list: listOldDeployments, drop });
}

/** At any age: how many there are is what is bounded. */
const dropExcessGroups = (context: Round, environmentId: Uuid<"env">): Promise<void> =>
  dropInBatches<Uuid<"err">>(context, {
    kind: "error_groups",
    limit: PAGE,
    itemOf: (itemId) => ({ environmentId, itemId }),
    take: async (tx, limit, now) => {
      const ids = await listExcessGroups(tx, environmentId, LIMITS.errorGroups, limit);
      return { rows: await omitSetAside(tx, "drop-error_groups", environmentId, ids, now), more: false };
    },
    drop: (tx, ids) => dropErrorGroups(tx, environmentId, ids),
  });

/** At an age of their own: they stay when the runs that they count are gone. */
function dropRollups(context: Round, environmentId: Uuid<"env">): Promise<void> {
  let isDone = false;
  return dropInBatches<Uuid<"env">>(context, {
    kind: "run_rollups",
    limit: 1,
    itemOf: (itemId) => ({ environmentId, itemId }),
    take: async (tx, _, now) => {
      if (isDone) return { rows: [], more: false };
      const rows = await omitSetAside(tx, "drop-run_rollups", environmentId, [environmentId], now);
      return { rows, more: rows.length > 0 };
    },
    drop: (tx, _, now) => dropRunRollups(tx, environmentId, now, PAGE),
    advance: (dropped) => {
      isDone = dropped === 0;
    },
  });
}

/** A page whose actions are not all gone is looked at again. */
function dropEndedBulkActions(
  context: Round,
  environmentId: Uuid<"env">,
  keptMs: number | null,
): Promise<void> {
  let isPartial = false;
  const drop: Drop<"bulk"> = async (tx, _, ids) => {
    const gone = await dropBulkActions(tx, environmentId, ids);
    isPartial = gone < ids.length;
    return gone;
  };
  const repeats = (): boolean => {
    const repeated = isPartial;
    isPartial = false;
    return repeated;
  };
  const list = listEndedBulkActions;
  return sweepKeys(context, { environmentId, kind: "bulk_actions", keptMs, list, drop, repeats });
}

async function dropRuns(
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
  now: number,
): Promise<number> {
  await deleteRunLogs(tx, environmentId, runIds, now);
  return deleteRuns(tx, environmentId, runIds);
}

async function dropOccurrences(context: Round, environmentId: Uuid<"env">, keptMs: number): Promise<void> {
  const before = context.clock() - keptMs;
  let after = FIRST_KEY;
  let last: string | null = null;
  await dropInBatches<Uuid<"sched">>(context, {
    kind: "occurrences",
    limit: PAGE,
    itemOf: (itemId) => ({ environmentId, itemId }),
    take: async (tx, limit, now) => {
      const ids = await listScheduleIds(tx, { environmentId, after, limit });
      last = ids.at(-1) ?? null;
      const rows = await omitSetAside(tx, "drop-occurrences", environmentId, ids, now);
      return { rows, more: last !== null };
    },
    drop: (tx, ids) => deleteOccurrences(tx, environmentId, ids, before, PAGE),
    advance: (dropped) => {
      if (dropped < PAGE) after = last ?? after;
    },
  });
}

const sessionItem = ({ environmentId, id }: EndedSession): LoopItem => ({ environmentId, itemId: id });

function dropEndedRecords(context: Round, keptMs: number): Promise<void> {
  const before = context.clock() - keptMs;
  return dropInBatches<EndedSession>(context, {
    kind: "records",
    limit: SESSIONS,
    itemOf: sessionItem,
    take: async (tx, limit, now) => {
      const rows = await lockSessionsWithRecords(tx, before, now, limit);
      return { rows, more: rows.length > 0 };
    },
    drop: (tx, sessions) => dropRecords(tx, sessions, SESSIONS, PIECE_RECORDS),
  });
}

function dropEndedSessions(context: Round, keptMs: number): Promise<void> {
  const before = context.clock() - keptMs;
  return dropInBatches<EndedSession>(context, {
    kind: "sessions",
    limit: PAGE,
    itemOf: sessionItem,
    take: async (tx, limit, now) => {
      const rows = await lockEmptySessions(tx, before, now, limit);
      return { rows, more: rows.length === limit };
    },
    drop: (tx, sessions, now) => deleteSessions(tx, sessions, now),
  });
}
