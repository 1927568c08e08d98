import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import type { NewErrorGroup } from "../error-groups/error-group.ts";
import { groupOf } from "../error-groups/group-of.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { admitQueues } from "../queues/admit-limited-runs.ts";
import type { Added, Change, NewJournalEntry } from "./execution.ts";
import { insertJournal, writeChanges } from "./execution-writes.ts";

/**
 * Writes changes back, passes slots that they freed or asked for on to the next runs of their queues, and wakes followers
 * of the runs, workers when there is something to lease, and whoever tells of ends.
 *
 * @returns the worker groups in which runs were given slots, each once.
 */
export async function settleChanges(
  tx: Tx,
  changes: readonly Change[],
  added: Added = {},
): Promise<Uuid<"wgrp">[]> {
  const dirty = changes.filter((change) => change.dirty);
  if (dirty.length === 0) return [];
  for (const change of dirty) change.errorGroup = groupOfChange(change);
  await writeChanges(tx, dirty, added);
  tx.note({ kind: "runs", runs: dirty, journal: added.journal ?? [] });
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
  for (const { execution, ending, errorGroup } of dirty) {
    tx.wake(wakeKeys.run(execution.runId));
    if (ending === null && execution.ready) tx.wake(wakeKeys.work(execution.workerGroupId));
    if (ending !== null && execution.endAwaited) tx.wake(wakeKeys.endings);
    if (errorGroup !== null) tx.wake(wakeKeys.errors);
  }
  if (admitted === 0) return [];
  const groups = [...new Set(limited.map(({ execution }) => execution.workerGroupId))];
  for (const workerGroupId of groups) tx.wake(wakeKeys.work(workerGroupId));
  return groups;
}

/** Only of a run that will not be tried again, and not of one that was cancelled or expired. */
const groupOfChange = ({ execution, ending }: Change): NewErrorGroup | null =>
  ending !== null &&
  ending.failure !== null &&
  (ending.status === "failed" || ending.status === "system_failed")
    ? groupOf(execution.environmentId, ending.failure)
    : null;

/** Enters outcomes that follow from what was written after the changes: records in other sessions, and processes. */
export const settleJournal = (tx: Tx, journal: readonly NewJournalEntry[]): Promise<void> =>
  insertJournal(tx, journal);
