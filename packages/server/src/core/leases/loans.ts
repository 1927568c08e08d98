import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { claimReady, type Claimed } from "../executions/claim-executions.ts";
import type { LeasePoll } from "../executions/lease-polls.ts";
import type { LeaseContext } from "./lease-executions.ts";
import type { AllSeen } from "./recent-looks.ts";

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
  deliver(): Promise<void>;
  /** The transaction was undone, or nobody knows: each poll looks for what it was given. */
  giveBack(): void;
};

type Loan = { poll: LeasePoll; claimed: () => Promise<Claimed>; sawAll: (seen: AllSeen) => void };

const notClaimed = (): Promise<Claimed> => Promise.resolve({ executions: [], isAll: false });

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
    const loan: Loan = { poll, claimed: notClaimed, sawAll: context.recentLooks.begin(poll) };
    loans.push(loan);
    loan.claimed = await claimReady(tx, context, { ...poll, limit: poll.free, now });
  };

  const deliverOne = async ({ poll, claimed, sawAll }: Loan): Promise<void> => {
    const { executions, isAll } = await claimed();
    // That it got nothing does not say that there is nothing: somebody may be draining the worker.
    if (isAll && executions.length > 0) sawAll({ foundSome: true, ownWakes: OWN_WAKES });
    poll.deliver(executions);
  };

  return {
    lend: async (tx, workerGroupIds) => {
      // While an old snapshot is held, claims begin at known fronts, which a transaction cannot look for.
      if (context.readyFronts.areKnown()) return;
      for (const workerGroupId of workerGroupIds) await lendOne(tx, workerGroupId);
    },
    deliver: async () => {
      for (const loan of loans.splice(0)) await deliverOne(loan);
    },
    giveBack: () => {
      for (const { poll } of loans.splice(0)) poll.deliver([]);
    },
  };
}
