import type { Uuid } from "@keelson/contract";
import type { LeasedExecution } from "./execution.ts";

/**
 * Long polls of workers that found nothing to do, inside one replica. A start that meets one is inserted already leased
 * to its worker ("born leased"): no queue row is claimed, and the worker has the run as soon as the commit is done.
 */
export type LeasePoll = {
  readonly workerId: Uuid<"wkr">;
  readonly workerGroupId: Uuid<"wgrp">;
  readonly leaseRequestId: string;
  /** Milliseconds: from then on the worker is silent, unless it was heard since, and nothing new is given to it. */
  readonly silentFrom: number;
  /** Free slots of the worker. */
  readonly free: number;
  /** The requirements of deployments that the worker meets. */
  readonly meets: readonly string[];
  /** Answers the poll; once. */
  deliver(executions: LeasedExecution[]): void;
};

export type LeasePolls = {
  open(poll: LeasePoll): void;
  /** Withdraws a poll that ends by itself; false when a start has taken it and will deliver. */
  close(poll: LeasePoll): boolean;
  /** Takes the longest-waiting poll of the group away whose worker is heard and can run the deployment, if there is one. */
  take(workerGroupId: Uuid<"wgrp">, requirement: string | null, now: number): LeasePoll | undefined;
};

export function createLeasePolls(): LeasePolls {
  const byGroup = new Map<string, Set<LeasePoll>>();
  return {
    open: (poll) => {
      const polls = byGroup.get(poll.workerGroupId) ?? new Set();
      polls.add(poll);
      byGroup.set(poll.workerGroupId, polls);
    },
    close: (poll) => byGroup.get(poll.workerGroupId)?.delete(poll) ?? false,
    take: (workerGroupId, requirement, now) => {
      const polls = byGroup.get(workerGroupId);
      for (const poll of polls ?? []) {
        if (poll.silentFrom <= now) continue;
        if (requirement !== null && !poll.meets.includes(requirement)) continue;
        polls?.delete(poll);
        return poll;
      }
      return undefined;
    },
  };
}
