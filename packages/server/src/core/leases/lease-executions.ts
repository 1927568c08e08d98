import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { Clock } from "../../clock.ts";
import type { NewUuid } from "../../uuid.ts";
import { DomainError } from "../../domain-error.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { WAIT_OVER, type Wakes } from "../feeds/wakes.ts";
import {
  leaseDeploymentChecks,
  renewDeploymentChecks,
  type LeasedCheck,
} from "../deployments/lease-checks.ts";
import { silentAfterMs } from "../workers/silence-reads.ts";
import { findLeaseState, type LeaseState } from "../workers/lease-state-reads.ts";
import { claimExecutions, type Claimed } from "../executions/claim-executions.ts";
import type { ClaimStarts } from "../executions/claim-starts.ts";
import type { ReadyFronts } from "../executions/ready-fronts.ts";
import type { LeasedExecution } from "../executions/execution.ts";
import { listLeasedExecutions } from "../executions/leased-reads.ts";
import { listResumptions, type LeasedWaits } from "../waits/wait-reads.ts";
import type { RecentLooks } from "./recent-looks.ts";
import type { RenewalContext } from "./renew-executions.ts";
import { listRequestedEnds, NO_REQUESTED_ENDS, type RequestedEnds } from "./requested-end-reads.ts";
import type { LeasePoll, LeasePolls } from "../executions/lease-polls.ts";

export type LeaseContext = {
  db: Database;
  clock: Clock;
  newUuid: NewUuid;
  wakes: Wakes;
  leasePolls: LeasePolls;
  claimStarts: ClaimStarts;
  readyFronts: ReadyFronts;
  recentLooks: RecentLooks;
  liveLeases: RenewalContext["liveLeases"];
  leaseDurationMs: number;
  /** Told what a worker was given. */
  noteLeased: (executions: readonly LeasedExecution[]) => void;
};

export type LeaseCall = {
  workerId: Uuid<"wkr">;
  workerGroupId: Uuid<"wgrp">;
  leaseRequestId: string;
  /** Milliseconds. */
  calledAt: number;
  limit: number;
  /** Ids of the deployment checks that the worker is at; null: it does not say. */
  heldChecks: readonly string[] | null;
  waitMs: number;
};

export type LeaseAnswer = RequestedEnds & {
  executions: LeasedExecution[];
  resumptions: LeasedWaits[];
  deploymentChecks: LeasedCheck[];
  /** The worker is to end: it gets no runs. */
  draining: boolean;
};

/** A poll looks again by itself this often, whatever it was told: the repair of a lost notification. */
const SAFETY_POLL_MS = 5_000;

/**
 * A claim passes over a run whose row a repeated report holds just then, and nobody is told when that is over. So a poll that
 * found nothing looks once more, this long after it was last told that there may be something.
 */
const LOOK_AGAIN_MS = 500;

const isEmpty = (answer: LeaseAnswer): boolean =>
  answer.executions.length +
    answer.cancellations.length +
    answer.resumptions.length +
    answer.interrupts.length +
    answer.deploymentChecks.length ===
  0;

const onlyRuns = (executions: LeasedExecution[]): LeaseAnswer => ({
  ...NO_REQUESTED_ENDS,
  executions,
  resumptions: [],
  deploymentChecks: [],
  draining: false,
});

/**
 * Gives a worker runs, cancellations and deployments to check, waiting up to `waitMs` for the first of them.
 * The same `leaseRequestId` again is answered with the leases of the first answer that are still held.
 *
 * @throws DomainError `invalid_state` when the worker has not been activated.
 */
export async function leaseExecutions(
  context: LeaseContext,
  call: LeaseCall,
  signal: AbortSignal,
): Promise<LeaseAnswer> {
  const news: News = { forWorker: false };
  try {
    const answer = await leaseUntil(context, call, signal, news);
    if (answer.executions.length > 0) context.noteLeased(answer.executions);
    return answer;
  } finally {
    // A new run was the answer: what else there is, the next poll looks for at once.
    if (news.forWorker) context.wakes.wakeLocal(wakeKeys.worker(call.workerId));
  }
}

/** Whether the worker was told of something that nobody has looked for yet. */
type News = { forWorker: boolean };

async function leaseUntil(
  context: LeaseContext,
  call: LeaseCall,
  signal: AbortSignal,
  news: News,
): Promise<LeaseAnswer> {
  const { db, clock } = context;
  const first = await requireActiveWorker(context, call);
  const { workerId, workerGroupId, heldChecks: held } = call;
  await renewDeploymentChecks(db, { workerId, workerGroupId, held, now: clock() });
  const begun = performance.now();
  let toldAt = begun;
  // A worker that drains meanwhile, or is not heard any more, gets no more runs: it is read again in each round, and draining
  // wakes it.
  for (let worker = first; ; worker = await requireActiveWorker(context, call)) {
    // In each round: another server may have given runs to the first call, which it takes for open still.
    const given = await listGiven(context, call, worker);
    if (given.length > 0) return onlyRuns(given);
    const draining = worker.status !== "active";
    const silentFrom = Math.max(call.calledAt, worker.lastSeenAt) + silentAfterMs(context.leaseDurationMs);
    const limit = draining || silentFrom <= clock() ? null : call.limit;
    // That it drains is said once at once; a worker that polls on nevertheless waits as ever.
    const isNewlyDraining = draining && (first.status === "active" || news.forWorker);
    const ended = new AbortController();
    const until = AbortSignal.any([signal, ended.signal]);
    const lookedAt = performance.now();
    const remainingMs = Math.max(0, call.waitMs - (lookedAt - begun));
    const pauseMs = Math.min(remainingMs, SAFETY_POLL_MS);
    const workToCome = async (withinMs: number): Promise<void> => {
      if (await context.wakes.wait(wakeKeys.work(workerGroupId), withinMs, until)) toldAt = performance.now();
    };
    // Registered before the look, so that what arrives during it is not missed.
    const workerWoken = context.wakes.wait(wakeKeys.worker(workerId), pauseMs, until).then((told) => {
      news.forWorker ||= told;
    });
    const woken = Promise.race([workToCome(pauseMs), workerWoken]);
    try {
      const free = limit ?? 0;
      // What it would be told besides runs, its own key wakes it for.
      const restMs = news.forWorker ? 0 : restMsOf(context, call, worker, free);
      // The last look is one: what the worker was told of between two calls is heard a moment after this.
      const isResting = remainingMs > 0 && restMs > 0 && (restMs === UNTIL_TOLD || restMs < remainingMs);
      const found = isResting ? onlyRuns([]) : await look(context, call, limit, worker, news);
      const answer = { ...found, draining };
      if (!isEmpty(answer) || isNewlyDraining || remainingMs === 0) return answer;
      const lookAgainMs = isResting ? restMs : lookAgainIn(context, workerGroupId, { lookedAt, toldAt });
      const againInMs = free === 0 ? pauseMs : lookAgainMs;
      const delivered = await waitForWork(
        context,
        call,
        { free, meets: worker.meets, silentFrom },
        againInMs < pauseMs ? Promise.race([woken, workToCome(againInMs)]) : woken,
      );
      if (delivered !== null) return onlyRuns(delivered);
      // Nobody is there any more to be given what another look would claim.
      if (signal.aborted) return answer;
    } finally {
      ended.abort(WAIT_OVER);
      await workerWoken;
    }
  }
}

/** Milliseconds from now: a look before would find nothing. */
function restMsOf(
  { recentLooks }: LeaseContext,
  call: LeaseCall,
  { othersWait, workspaceRunsWait, isolatedRunsWait }: LeaseState,
  free: number,
): number {
  // Asked once more: whoever told of something since the worker was read was not waited for by then.
  if (!(othersWait || workspaceRunsWait || isolatedRunsWait) && recentLooks.isUntold(call)) return UNTIL_TOLD;
  return free === 0 ? 0 : recentLooks.restMs(call);
}

const UNTIL_TOLD = Number.POSITIVE_INFINITY;

/** Milliseconds from now; infinity: a look that found nothing need not be repeated before there is a wake. */
function lookAgainIn(
  { readyFronts }: LeaseContext,
  workerGroupId: Uuid<"wgrp">,
  { lookedAt, toldAt }: { lookedAt: number; toldAt: number },
): number {
  const again = toldAt + LOOK_AGAIN_MS;
  const at = Math.max(lookedAt < again ? again : 0, readyFronts.nextLookAt(workerGroupId, toldAt) ?? 0);
  return at === 0 ? Number.POSITIVE_INFINITY : Math.max(0, at - performance.now());
}

/** What the call with this request id was given before, as far as the worker still holds it. */
async function listGiven(
  { db }: LeaseContext,
  { workerId }: LeaseCall,
  { givenLeaseIds }: LeaseState,
): Promise<LeasedExecution[]> {
  return givenLeaseIds.length === 0 ? [] : listLeasedExecutions(db, workerId, givenLeaseIds);
}

async function requireActiveWorker(
  { db, readyFronts, recentLooks }: LeaseContext,
  { workerId, workerGroupId, leaseRequestId }: LeaseCall,
): Promise<LeaseState> {
  const worker = await findLeaseState(db, workerId, leaseRequestId, {
    areRunsKnown: readyFronts.areKnown(),
    asksForOthers: recentLooks.isUntold({ workerId, workerGroupId }),
  });
  if (worker === null || worker.status === "registered") {
    throw new DomainError("invalid_state", "The worker is not active; call activate first.");
  }
  return worker;
}

const NOTHING: Claimed = { executions: [], isAll: false };

/** @param limit null for a worker that is to end, or silent: what it has is all it is told of */
async function look(
  context: LeaseContext,
  call: LeaseCall,
  limit: number | null,
  worker: LeaseState,
  news: News,
): Promise<Omit<LeaseAnswer, "draining">> {
  const { db, clock } = context;
  const now = clock();
  const sawAll = context.recentLooks.begin(call);
  const { executions, isAll } =
    limit === 0 || limit === null ? NOTHING : await claim(context, call, limit, worker, now);
  // Told once when they come; a worker that missed it learns of them with its next renewal.
  const { forWorker } = news;
  news.forWorker = false;
  const live = context.liveLeases.of(call.workerId);
  const ends = forWorker ? await listRequestedEnds(db, call.workerId, live) : NO_REQUESTED_ENDS;
  const resumptions = forWorker ? await listResumptions(db, call.workerId, live) : [];
  // A full answer is not delayed for a deployment that wants checking.
  const deploymentChecks =
    executions.length > 0
      ? []
      : await leaseDeploymentChecks(db, {
          workerId: call.workerId,
          workerGroupId: call.workerGroupId,
          meets: worker.meets,
          held: call.heldChecks,
          mayTakeMore: limit !== null,
          now,
          limit: 1,
        });
  // A check whose answer is lost is given again to a worker that does not name it.
  if (isAll && deploymentChecks.length === 0) sawAll({ foundSome: executions.length > 0 });
  return { ...ends, executions, resumptions, deploymentChecks };
}

function claim(
  context: LeaseContext,
  { workerId, workerGroupId, leaseRequestId, calledAt }: LeaseCall,
  limit: number,
  { workspaceRunsWait, isolatedRunsWait, meets }: LeaseState,
  now: number,
): Promise<Claimed> {
  const leaseExpiresAt = now + context.leaseDurationMs;
  const by = { workerId, workerGroupId, leaseRequestId, calledAt, meets };
  return claimExecutions(context, { ...by, limit, now, leaseExpiresAt, workspaceRunsWait, isolatedRunsWait });
}

/** Waits for a born-leased delivery or a reason to look again (null). */
function waitForWork(
  context: LeaseContext,
  call: LeaseCall,
  worker: Pick<LeasePoll, "free" | "meets" | "silentFrom">,
  woken: Promise<unknown>,
): Promise<LeasedExecution[] | null> {
  if (worker.free === 0) return woken.then(() => null);
  return new Promise((resolve) => {
    const poll: LeasePoll = {
      workerId: call.workerId,
      workerGroupId: call.workerGroupId,
      leaseRequestId: call.leaseRequestId,
      ...worker,
      deliver: (executions) => resolve(executions.length === 0 ? null : executions),
    };
    context.leasePolls.open(poll);
    void woken.then(() => {
      // A start that has taken the poll is about to deliver; its answer must not be lost.
      if (context.leasePolls.close(poll)) resolve(null);
    });
  });
}
