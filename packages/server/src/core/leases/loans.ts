import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { claimReady } from "../executions/claim-executions.ts";
import type { LeasedExecution } from "../executions/execution.ts";
import type { LeasePoll } from "../executions/lease-polls.ts";
import type { LeaseContext } from "./lease-executions.ts";

export type LoanContext = Pick<
  LeaseContext,
  "clock" | "newUuid" | "leasePolls" | "claimStarts" | "readyFronts" | "recentLooks" | "leaseDurationMs"
>;

/**
 * Polls that a transaction takes to give them the runs that it makes ready. Their workers have the runs as soon as it is
 * durable, where a claim of its own would be another commit and some round trips later.
 */
export type Loans = {
  /** The last thing of the transaction, which has made runs of these worker groups ready, and wakes the groups. */
  lend(tx: Tx, workerGroupIds: readonly Uuid<"wgrp">[]): Promise<void>;
  /** Answers the polls: the transaction is durable. */
  deliver(): void;
  /** The transaction was undone, or nobody knows: each poll looks for what it was given. */
  giveBack(): void;
};

type Loan = { poll: LeasePoll; executions: LeasedExecution[]; delivered: () => void };

/** The transaction wakes each group once. */
const OWN_WAKES = 1;

/** Of one transaction. */
export function createLoans(context: LoanContext): Loans {
  const loans: Loan[] = [];

  const lendOne = async (tx: Tx, workerGroupId: Uuid<"wgrp">): Promise<void> => {
    const now = context.clock();
    // Which deployments the worker can run, the claim looks at.
    const poll = context.leasePolls.take(workerGroupId, null, now);
    if (poll === undefined) return;
    const loan: Loan = { poll, executions: [], delivered: () => undefined };
    loans.push(loan);
    const sawAll = context.recentLooks.begin(poll);
    const { executions, isAll } = await claimReady(
      { ...context, db: tx },
      { ...poll, limit: poll.free, now },
    );
    loan.executions = executions;
    // That it got nothing does not say that there is nothing: somebody may be draining the worker.
    const delivered = (): void => sawAll({ foundSome: true, ownWakes: OWN_WAKES });
    if (isAll && executions.length > 0) loan.delivered = delivered;
  };

  return {
    lend: async (tx, workerGroupIds) => {
      // While an old snapshot is held, claims begin at known fronts, which a transaction cannot look for.
      if (context.readyFronts.areKnown()) return;
      for (const workerGroupId of workerGroupIds) await lendOne(tx, workerGroupId);
    },
    deliver: () => {
      for (const { poll, executions, delivered } of loans.splice(0)) {
        delivered();
        poll.deliver(executions);
      }
    },
    giveBack: () => {
      for (const { poll } of loans.splice(0)) poll.deliver([]);
    },
  };
}
