import type { Uuid } from "@keelson/contract";
import type { Clock } from "../../clock.ts";
import { createBatcher, type BatchOutcome } from "../../db/batcher.ts";
import type { Database } from "../../db/pool.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { LeasedExecution } from "../executions/execution.ts";
import type { KnownRuns } from "../executions/known-runs.ts";
import type { LeasePoll, LeasePolls } from "../executions/lease-polls.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { Wakes } from "../feeds/wakes.ts";
import { admitQueues } from "../queues/admit-limited-runs.ts";
import { isReadyAtBirth, mayBeBornLeased, type NewRun } from "./new-run.ts";
import type { RunInsert } from "./group-inserts.ts";
import { findKeyedRuns, insertRuns, isLenderGone } from "./run-writes.ts";

export type StartContext = {
  db: Database;
  clock: Clock;
  newUuid: NewUuid;
  wakes: Wakes;
  leasePolls: LeasePolls;
  knownRuns: Pick<KnownRuns, "noteStarts">;
  leaseDurationMs: number;
};

/** `stale`: the deployment that the run was resolved against is no longer current; resolve again. */
export type StartOutcome = { kind: "created" } | { kind: "replayed"; runId: Uuid<"run"> } | { kind: "stale" };

/** Starts runs, concurrent callers sharing a statement. Resolves when the run is durable. */
export type RunStarter = {
  start(run: NewRun): Promise<StartOutcome>;
  pending(): number;
};

const MAX_BATCH = 500;
const MAX_IN_FLIGHT = 2;

export function createRunStarter(context: StartContext): RunStarter {
  const batcher = createBatcher<NewRun, StartOutcome>({
    maxItems: MAX_BATCH,
    maxInFlight: MAX_IN_FLIGHT,
    groupOf: ({ environmentId }) => environmentId,
    run: (runs) => startBatch(context, runs),
  });
  return { start: batcher.submit, pending: batcher.pending };
}

const keyOf = ({
  environmentId,
  scope,
  key,
}: {
  environmentId: Uuid<"env">;
  scope: string;
  key: string;
}): string => `${environmentId}\n${scope}\n${key}`;

async function startBatch(context: StartContext, runs: NewRun[]): Promise<BatchOutcome<StartOutcome>[]> {
  const { leaders, followers } = splitByKey(runs);
  const { inserts, inserted } = await insertLeased(context, leaders);
  const queued = inserts
    .filter(({ run, lease }) => lease === null && inserted.has(run.id))
    .map(({ run }) => run);
  context.knownRuns.noteStarts(queued.filter(isReadyAtBirth));
  for (const group of new Set(queued.map(({ workerGroupId }) => workerGroupId)))
    context.wakes.wake(wakeKeys.work(group));
  return settle(context, runs, followers, inserted);
}

type Inserted = { inserts: readonly RunInsert[]; inserted: Set<string> };

/** Inserts runs, leased as far as polls wait for them, and answers those polls. */
async function insertLeased(context: StartContext, runs: readonly NewRun[]): Promise<Inserted> {
  const { inserts, deliver, giveBack } = lendPolls(context, runs);
  const inserted = await insert(context, inserts).catch((error: unknown) => {
    giveBack();
    if (isLenderGone(error)) return null;
    throw error;
  });
  if (inserted !== null) {
    deliver(inserted);
    return { inserts, inserted };
  }
  // The poll of a worker that drains was open still: who starts a run need not know.
  const queued = runs.map((run): RunInsert => ({ run, lease: null }));
  return { inserts: queued, inserted: await insert(context, queued) };
}

/** One statement cannot insert a key twice: of equal keys in a batch the first leads and the others get its outcome. */
function splitByKey(runs: readonly NewRun[]): { leaders: NewRun[]; followers: Set<NewRun> } {
  const seen = new Set<string>();
  const followers = new Set<NewRun>();
  const leaders = runs.filter((run) => {
    if (run.idempotency === null) return true;
    const key = keyOf({ environmentId: run.environmentId, ...run.idempotency });
    if (seen.has(key)) followers.add(run);
    else seen.add(key);
    return !followers.has(run);
  });
  return { leaders, followers };
}

async function insert(context: StartContext, inserts: readonly RunInsert[]): Promise<Set<string>> {
  const limited = inserts.filter(({ run }) => run.limited);
  if (limited.length === 0) return insertRuns(context.db, inserts);
  return context.db.transaction(async (tx) => {
    const inserted = await insertRuns(tx, inserts);
    await admitQueues(
      tx,
      limited.filter(({ run }) => inserted.has(run.id)).map(({ run }) => run),
    );
    return inserted;
  });
}

/** Takes waiting polls for the ready runs of a batch, and answers them when the insert is durable. */
function lendPolls(context: StartContext, runs: readonly NewRun[]) {
  const lent = new Map<LeasePoll, RunInsert[]>();
  const current = new Map<string, { poll: LeasePoll; left: number } | null>();
  const nextPoll = ({ workerGroupId: group, requirement, createdAt }: NewRun): LeasePoll | null => {
    const key = `${group} ${requirement ?? ""}`;
    const entry = current.get(key);
    if (entry === null) return null;
    if (entry !== undefined && entry.left > 0) {
      entry.left -= 1;
      return entry.poll;
    }
    const poll = context.leasePolls.take(group, requirement, createdAt);
    current.set(key, poll === undefined ? null : { poll, left: poll.free - 1 });
    return poll ?? null;
  };
  const inserts = runs.map((run): RunInsert => {
    const poll = mayBeBornLeased(run) ? nextPoll(run) : null;
    if (poll === null) return { run, lease: null };
    const lease = {
      leaseId: context.newUuid<"lease">(),
      workerId: poll.workerId,
      leaseRequestId: poll.leaseRequestId,
      expiresAt: run.createdAt + context.leaseDurationMs,
    };
    const entry = { run, lease };
    lent.set(poll, [...(lent.get(poll) ?? []), entry]);
    return entry;
  });
  return {
    inserts,
    deliver: (inserted: Set<string>): void => {
      for (const [poll, entries] of lent)
        poll.deliver(entries.filter(({ run }) => inserted.has(run.id)).map(toLeasedExecution));
    },
    giveBack: (): void => {
      for (const poll of lent.keys()) poll.deliver([]);
    },
  };
}

function toLeasedExecution({ run, lease }: RunInsert): LeasedExecution {
  if (lease === null) throw new Error("Only a leased run can be delivered.");
  return {
    leaseId: lease.leaseId,
    epoch: 1,
    leaseExpiresAt: lease.expiresAt,
    environmentId: run.environmentId,
    projectId: run.projectId,
    runId: run.id,
    entrypointKind: run.entrypointKind,
    entrypoint: run.entrypoint,
    attemptNumber: 1,
    continuations: 0,
    attemptsBefore: 0,
    retry: run.retryText,
    maxDurationMs: run.maxDurationMs,
    payload: run.payload,
    metadata: run.metadata,
    tags: run.tags,
    queue: run.queue,
    createdAt: run.createdAt,
    startAt: run.startAt,
    deploymentId: run.deploymentId,
    deploymentVersion: run.deploymentVersion,
    journalSequence: 0,
    waitCount: 0,
    limited: run.limited,
    activeMs: 0,
    ...run.links,
  };
}

export const keyConflict = (key: string): DomainError =>
  new DomainError(
    "idempotency_conflict",
    "The idempotency key was used with another body. Send the same body, or a new key.",
    {
      idempotency_key: key,
    },
  );

/** Gives each caller its own outcome: created, the run of an earlier request with its key, a conflict, or stale. */
async function settle(
  context: StartContext,
  runs: readonly NewRun[],
  followers: ReadonlySet<NewRun>,
  inserted: ReadonlySet<string>,
): Promise<BatchOutcome<StartOutcome>[]> {
  const asked = runs.flatMap((run) =>
    run.idempotency !== null && (followers.has(run) || !inserted.has(run.id))
      ? [{ environmentId: run.environmentId, scope: run.idempotency.scope, key: run.idempotency.key }]
      : [],
  );
  const keyed = asked.length === 0 ? [] : await findKeyedRuns(context.db, asked);
  const byKey = new Map(keyed.map((row) => [keyOf(row), row]));
  return runs.map((run): BatchOutcome<StartOutcome> => {
    if (inserted.has(run.id)) return { ok: true, value: { kind: "created" } };
    if (run.idempotency === null) return { ok: true, value: { kind: "stale" } };
    const first = byKey.get(keyOf({ environmentId: run.environmentId, ...run.idempotency }));
    if (first === undefined) return { ok: true, value: { kind: "stale" } };
    if (!first.digest.equals(run.idempotency.digest))
      return { ok: false, error: keyConflict(run.idempotency.key) };
    return { ok: true, value: { kind: "replayed", runId: first.runId } };
  });
}
