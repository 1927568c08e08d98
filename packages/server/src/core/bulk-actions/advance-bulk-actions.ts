import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { BACKGROUND_LIMIT_MS } from "../../db/session-settings.ts";
import { isNobodysFault, trackFailures, type ItemContext } from "../loop-failures/failed-items.ts";
import { causeOf } from "../loop-failures/loop-failure.ts";
import type { RunFilter } from "../runs/run-filter.ts";
import { listPage, type Sifted } from "../run-search/sift-runs.ts";
import { BULK_ACTION_LOOP, tally, type BulkItem } from "./bulk-action.ts";
import { targetsOf } from "./bulk-targets.ts";
import { takeBulkAction, type ActionInWork } from "./bulk-action-reads.ts";
import { insertItems, recordBatch } from "./bulk-action-writes.ts";
import { cancelTargets } from "./cancel-targets.ts";
import { isLater, replayRuns, type ReplayContext } from "./replay-runs.ts";

export type BulkActionContext = ItemContext & ReplayContext;

/** Runs of one transaction while nothing fails: some tens of milliseconds, in which the queue of starts goes on. */
const RUNS_AT_ONCE = 50;
/** How long an action waits for room for more live runs. */
const LATER_MS = 1_000;

/** Runs of a batch by action: fewer after one that failed, down to the run that is to blame. */
type Limits = Map<Uuid<"bulk">, number>;

/**
 * Gives the action that has waited longest its next batch: what is done with its runs, the ledger, and where the action goes
 * on are written in one transaction under the action's lock. So each run is cancelled or replayed once whoever does it, and
 * wherever a server dies. When a batch throws, the next one has half as many runs; a run that throws alone has failed.
 *
 * @returns `run` is one batch, and gives whether there was one.
 */
export function createBulkActionWorker(context: BulkActionContext): { run(): Promise<boolean> } {
  const limits: Limits = new Map();
  return { run: () => advance(context, limits) };
}

type Attempt = { action: ActionInWork | null; runIds: readonly Uuid<"run">[] };

async function advance(context: BulkActionContext, limits: Limits): Promise<boolean> {
  const now = context.clock();
  let attempt: Attempt = { action: null, runIds: [] };
  try {
    await context.db.transaction(
      async (tx) => {
        const action = await takeBulkAction(tx, now);
        attempt = { action, runIds: [] };
        if (action === null) return;
        const limit = limits.get(action.id) ?? RUNS_AT_ONCE;
        const { ids: runIds, next } = await listTargets(tx, action, limit);
        attempt = { action, runIds };
        const items = await applyTo(tx, context, action, runIds, now);
        await record(tx, action, { items, runIds, next }, now);
      },
      { limitMs: BACKGROUND_LIMIT_MS },
    );
  } catch (error) {
    await settleFailure(context, limits, attempt, error, now);
    return true;
  }
  const { action } = attempt;
  if (action === null) return false;
  const limit = limits.get(action.id);
  if (limit !== undefined && limit * 2 < RUNS_AT_ONCE) limits.set(action.id, limit * 2);
  else limits.delete(action.id);
  return true;
}

/** The next runs of an action, newest first. */
async function listTargets(tx: Tx, action: ActionInWork, limit: number): Promise<Sifted> {
  const { environmentId, runIds, nextBefore, runFilter, createdAt } = action;
  if (runIds !== null) {
    const ids = runIds
      .toSorted()
      .reverse()
      .filter((runId) => nextBefore === null || runId < nextBefore)
      .slice(0, limit);
    return { ids, next: ids.length < limit ? null : (ids.at(-1) ?? null) };
  }
  const filter = JSON.parse(runFilter ?? "") as RunFilter;
  return listPage(tx, environmentId, targetsOf(filter, createdAt), nextBefore, limit);
}

function applyTo(
  tx: Tx,
  context: BulkActionContext,
  action: ActionInWork,
  runIds: readonly Uuid<"run">[],
  now: number,
): Promise<BulkItem[]> {
  if (runIds.length === 0) return Promise.resolve([]);
  switch (action.action) {
    case "cancel":
      return cancelTargets(tx, action.environmentId, runIds, now);
    case "replay":
      return replayRuns(tx, context, action, runIds, now);
  }
}

/** `next`: where the action goes on when all of the batch is done; null: it is the last one. */
type Done = { items: readonly BulkItem[]; runIds: readonly Uuid<"run">[]; next: string | null };

async function record(
  tx: Tx,
  action: ActionInWork,
  { items, runIds, next }: Done,
  now: number,
): Promise<void> {
  const isWhole = items.length === runIds.length;
  await insertItems(tx, action, items, now);
  await recordBatch(tx, {
    ...tally(items),
    environmentId: action.environmentId,
    id: action.id,
    nextBefore: isWhole && next !== null ? next : (items.at(-1)?.runId ?? action.nextBefore),
    nextBatchAt: isWhole ? now : now + LATER_MS,
    endedAt: isWhole && next === null ? Math.max(now, action.createdAt) : null,
  });
}

/** @throws what neither the action nor one of its runs is to blame for. */
async function settleFailure(
  context: BulkActionContext,
  limits: Limits,
  { action, runIds }: Attempt,
  error: unknown,
  now: number,
): Promise<void> {
  if (action === null || isNobodysFault(error)) throw error;
  const { environmentId } = action;
  const [runId] = runIds;
  if (runId === undefined || isLater(error)) {
    const items = trackFailures(context, BULK_ACTION_LOOP);
    await items.setAside({ environmentId, itemId: action.id }, error, now);
    return;
  }
  if (runIds.length > 1) {
    limits.set(action.id, Math.floor(runIds.length / 2));
    return;
  }
  await failRun(context, action, runId, now);
  // Whose fault it is only the log says: what a database answers is not for callers.
  const item = { loop: BULK_ACTION_LOOP, environmentId, itemId: runId, failures: 1, cause: causeOf(error) };
  context.noteLoopFailure({ ...item, firstFailedAt: now, lastFailedAt: now, retryAt: now }, error);
}

/** Unless another server has taken the action up meanwhile. */
async function failRun(
  { db }: BulkActionContext,
  { id, nextBefore }: ActionInWork,
  runId: Uuid<"run">,
  now: number,
): Promise<void> {
  const message = "The server could not process this run; its log says why. Try the run alone.";
  await db.transaction(async (tx) => {
    const action = await takeBulkAction(tx, now);
    if (action?.id !== id || action.nextBefore !== nextBefore) return;
    const items: BulkItem[] = [{ runId, outcome: "failed", code: "internal", message }];
    await record(tx, action, { items, runIds: [runId], next: runId }, now);
  });
}
