import type { Tx } from "../../db/queryable.ts";
import { wakeKeys, type Wakes } from "../feeds/wakes.ts";
import { admitQueues } from "../runs/start-runs.ts";
import type { Change } from "./execution.ts";
import { writeChanges, type Added } from "./execution-writes.ts";

/** What others should look at once the transaction is durable. */
export type Settled = {
  runIds: string[];
  readyGroupIds: string[];
  /** Workers whose parked or running runs have waits that settled, or were cancelled. */
  workerIds: string[];
  /** Workers that have commands of runs to start, or to end, in workspaces. */
  workspaceWorkerIds: string[];
  /** An end that somebody is to be told of. */
  endAwaited: boolean;
  /** A wait that is due soon. */
  timers: boolean;
};

export const NOTHING_SETTLED: Settled = {
  runIds: [],
  readyGroupIds: [],
  workerIds: [],
  workspaceWorkerIds: [],
  endAwaited: false,
  timers: false,
};

export const joinSettled = (parts: readonly Settled[]): Settled => ({
  runIds: parts.flatMap((part) => part.runIds),
  readyGroupIds: [...new Set(parts.flatMap((part) => part.readyGroupIds))],
  workerIds: [...new Set(parts.flatMap((part) => part.workerIds))],
  workspaceWorkerIds: [...new Set(parts.flatMap((part) => part.workspaceWorkerIds))],
  endAwaited: parts.some((part) => part.endAwaited),
  timers: parts.some((part) => part.timers),
});

/** Writes changes back and passes slots that they freed or asked for on to the next runs of their queues. */
export async function settleChanges(tx: Tx, changes: readonly Change[], added: Added = {}): Promise<Settled> {
  const dirty = changes.filter((change) => change.dirty);
  if (dirty.length === 0) return NOTHING_SETTLED;
  await writeChanges(tx, dirty, added);
  const limited = dirty.filter(
    ({ execution, ending }) => execution.limited && (ending !== null || !execution.admitted),
  );
  const admitted =
    limited.length === 0
      ? 0
      : await admitQueues(
          tx,
          limited.map(({ execution }) => execution),
        );
  const ready = dirty.filter(
    (change) =>
      (change.ending === null && change.execution.ready) || (admitted > 0 && limited.includes(change)),
  );
  return {
    runIds: dirty.map(({ execution }) => execution.runId),
    readyGroupIds: [...new Set(ready.map(({ execution }) => execution.workerGroupId))],
    workerIds: [],
    workspaceWorkerIds: [],
    endAwaited: dirty.some(({ execution, ending }) => ending !== null && execution.endAwaited),
    timers: false,
  };
}

/** After the commit: followers of the runs, and workers when there is something to lease. */
export function wakeSettled(wakes: Wakes, settled: Settled): void {
  for (const runId of settled.runIds) wakes.wake(wakeKeys.run(runId));
  for (const groupId of settled.readyGroupIds) wakes.wake(wakeKeys.work(groupId));
  for (const workerId of settled.workerIds) wakes.wake(wakeKeys.worker(workerId));
  for (const workerId of settled.workspaceWorkerIds) wakes.wake(wakeKeys.workerWorkspaces(workerId));
  if (settled.endAwaited) wakes.wakeLocal(wakeKeys.endings);
  if (settled.timers) wakes.wakeLocal(wakeKeys.timers);
}
