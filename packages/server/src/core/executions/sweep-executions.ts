import type { Tx } from "../../db/queryable.ts";
import type { LeaseLoss } from "../losses/losses.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import { retryDelayMs, type ResolvedRetry } from "../runs/retry-policy.ts";
import {
  decideDue,
  decideExpiry,
  decideLeaseLost,
  decideRelease,
  decideUnheardLost,
  type Decision,
} from "../runs/run.ts";
import { applyDecision, changeOf, liveRun, type Change, type Execution } from "./execution.ts";
import {
  findRunPolicies,
  findUnheard,
  lockDueExecutions,
  lockExpiredExecutions,
  lockOverdueExecutions,
  SWEEP_LIMIT,
} from "./execution-reads.ts";
import { settleChanges } from "./settle-changes.ts";

/**
 * A worker ends a timed-out or cancelled attempt itself; only one that still holds the lease this long after it should
 * have done so is overruled. It covers the worker's own grace of 10 s before it kills a cancelled process.
 */
export const OVERRUN_GRACE_MS = 20_000;

function decideAll(
  executions: readonly Execution[],
  now: number,
  decide: (execution: Execution) => Decision,
  lossCause: (execution: Execution) => LeaseLoss = () => "worker",
): Change[] {
  return executions.map((execution) => {
    const change = changeOf(execution);
    const cause = lossCause(execution);
    const decision = decide(execution);
    if (decision.kind !== "refuse") applyDecision(change, decision, now, cause);
    return change;
  });
}

const NOT_RENEWED = "The worker did not renew its lease in time.";

async function settleOverdue(
  tx: Tx,
  executions: readonly Execution[],
  now: number,
  random: () => number,
): Promise<void> {
  const policies = new Map(
    (await findRunPolicies(tx, executions)).map((policy) => [
      policy.runId,
      JSON.parse(policy.retry) as ResolvedRetry,
    ]),
  );
  const unheard = await findUnheard(
    tx,
    executions.filter(({ status, resumedAt }) => status === "running" && resumedAt !== null),
  );
  const isOver = ({ leaseExpiresAt }: Execution): boolean => leaseExpiresAt !== null && leaseExpiresAt <= now;
  const decide = (execution: Execution): Decision => {
    const policy = policies.get(execution.runId);
    const maxAttempts = policy?.maxAttempts ?? 1;
    if (isOver(execution)) {
      if (!unheard.has(execution.runId))
        return decideLeaseLost(liveRun({ execution }), maxAttempts, NOT_RENEWED);
      // Its code did not go on, so none of its time is used up.
      execution.resumedAt = now;
      return decideUnheardLost(NOT_RENEWED);
    }
    if (execution.deadlineAt !== null && execution.deadlineAt <= now) {
      const run = liveRun({ execution });
      const delayMs = policy === undefined ? 0 : retryDelayMs(policy, run.attemptNumber, random());
      const failure = {
        kind: "timed_out",
        message: "The attempt ran longer than its max_duration.",
        stack: null,
        retryable: true,
      } as const;
      return decideRelease(run, { outcome: "failed", failure }, maxAttempts, delayMs);
    }
    return decideLeaseLost(
      liveRun({ execution }),
      maxAttempts,
      "The worker did not end the cancelled run in time.",
    );
  };
  const changes = decideAll(executions, now, decide, (execution) =>
    isOver(execution) ? "not_renewed" : "overrun",
  );
  for (const { execution } of changes) execution.recovering = execution.status === "queued";
  await settleChanges(tx, changes);
}

async function settleExpired(tx: Tx, executions: readonly Execution[], now: number): Promise<void> {
  const changes = decideAll(executions, now, (execution) => decideExpiry(liveRun({ execution })));
  for (const change of changes) {
    // A run that a worker once took and handed back has no time to live any more.
    if (change.ending === null) {
      change.execution.expiresAt = null;
      change.dirty = true;
    }
  }
  await settleChanges(tx, changes);
}

export type SweepContext = ItemContext & { random: () => number; leaseDurationMs: number };

// A full batch means that there may be more: the sweep goes on at once, so that a mass of due runs does not trickle.
const sweep = (
  context: ItemContext,
  loop: string,
  lock: (tx: Tx, now: number, limit: number) => Promise<Execution[]>,
  apply: (tx: Tx, executions: readonly Execution[], now: number) => Promise<void>,
): Promise<void> =>
  processInBatches(context, {
    loop,
    limit: SWEEP_LIMIT,
    itemOf: ({ environmentId, runId }) => ({ environmentId, itemId: runId }),
    take: async (tx, limit, now) => {
      const rows = await lock(tx, now, limit);
      return { rows, more: rows.length === limit };
    },
    apply,
  });

/** Takes runs back whose worker is given up or overran. Rows that a report holds right now are left to it. */
export const sweepLeases = (context: SweepContext): Promise<void> =>
  sweep(
    context,
    "sweep-leases",
    (tx, now, limit) =>
      lockOverdueExecutions(
        tx,
        { now, graceMs: OVERRUN_GRACE_MS, leaseDurationMs: context.leaseDurationMs },
        limit,
      ),
    (tx, executions, now) => settleOverdue(tx, executions, now, context.random),
  );

/** Makes delayed starts and retries ready whose time has come. */
export const sweepDue = (context: ItemContext): Promise<void> =>
  sweep(context, "sweep-due", lockDueExecutions, async (tx, executions, now) => {
    const changes = decideAll(executions, now, ({ status }) => decideDue(status));
    await settleChanges(tx, changes);
  });

/** Ends runs that no worker took within their time to live. */
export const sweepExpired = (context: ItemContext): Promise<void> =>
  sweep(context, "sweep-expired", lockExpiredExecutions, settleExpired);
