import type { Uuid } from "@keelson/contract";
import type { Database } from "../../db/pool.ts";
import type { Teller, Tx } from "../../db/queryable.ts";
import type { NewErrorGroup } from "../error-groups/error-group.ts";
import { groupOf } from "../error-groups/group-of.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import { admitQueues } from "../queues/admit-limited-runs.ts";
import type { Added, Change, NewJournalEntry, RowVersion } from "./execution.ts";
import { insertJournal, writeChanges, writeIfUnchanged } from "./execution-writes.ts";

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
  tell(tx, dirty, added);
  const limited = dirty.filter(movesSlots);
  const admitted =
    limited.length === 0
      ? 0
      : await admitQueues(
          tx,
          limited.map(({ execution }) => execution),
        );
  if (admitted === 0) return [];
  const groups = [...new Set(limited.map(({ execution }) => execution.workerGroupId))];
  for (const workerGroupId of groups) tx.wake(wakeKeys.work(workerGroupId));
  return groups;
}

/**
 * The same for changes that were decided on rows that nobody has locked, in one statement. They free no slots, ask for none, and end no
 * run as failed.
 *
 * @param versions of the rows that the changes were decided on
 * @returns the version of the rows that are left; null when a row has changed, and nothing was written
 */
export async function settleIfUnchanged(
  db: Database,
  changes: readonly Change[],
  added: Added,
  versions: ReadonlyMap<Uuid<"run">, RowVersion>,
): Promise<RowVersion | null> {
  const version = await writeIfUnchanged(db, changes, added, versions);
  if (version !== null) tell(db.told, changes, added);
  return version;
}

/** Its queue has a slot to give once it is written. */
export const movesSlots = ({ execution, ending }: Change): boolean =>
  execution.limited && (ending !== null || !execution.admitted);

function tell(teller: Teller, changes: readonly Change[], { journal = [] }: Added): void {
  teller.note({ kind: "runs", runs: changes, journal });
  for (const { execution, ending, errorGroup } of changes) {
    teller.wake(wakeKeys.run(execution.runId));
    if (ending === null && execution.ready) teller.wake(wakeKeys.work(execution.workerGroupId));
    if (ending !== null && execution.endAwaited) teller.wake(wakeKeys.endings);
    if (errorGroup !== null) teller.wake(wakeKeys.errors);
  }
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
