import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { BulkAction, BulkItem, Tally } from "./bulk-action.ts";

export type BulkActionInsert = Omit<BulkAction, "status" | "done" | "skipped" | "failed" | "endedAt"> & {
  runIds: readonly Uuid<"run">[] | null;
};

export async function insertBulkAction(tx: Tx, row: BulkActionInsert): Promise<void> {
  await tx.query(sql`
    INSERT INTO bulk_actions (environment_id, id, project_id, action, status, run_filter, run_ids, deployment_version, reason,
      matched, more_matched, next_batch_at, created_by_kind, created_by_id, created_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.projectId}, ${row.action}, 'running', ${row.runFilter},
      ${row.runIds}::uuid[], ${row.deploymentVersion}, ${row.reason}, ${row.matched}, ${row.moreMatched},
      ${timestamp(row.createdAt)}, ${row.createdByKind}, ${row.createdById}, ${timestamp(row.createdAt)})`);
}

/** Of a locked one. */
export async function markCancelled(
  tx: Tx,
  environmentId: Uuid<"env">,
  id: Uuid<"bulk">,
  now: number,
): Promise<void> {
  await tx.query(sql`
    UPDATE bulk_actions SET status = 'cancelled', ended_at = ${timestamp(now)}
    WHERE environment_id = ${environmentId} AND id = ${id}`);
}

/** What a batch leaves in its action. */
export type Batch = Tally & {
  environmentId: Uuid<"env">;
  id: Uuid<"bulk">;
  nextBefore: string | null;
  nextBatchAt: number;
  endedAt: number | null;
};

/** The ledger: the key refuses a second row of a run. */
export async function insertItems(
  tx: Tx,
  { environmentId, id }: Pick<Batch, "environmentId" | "id">,
  items: readonly BulkItem[],
  now: number,
): Promise<void> {
  if (items.length === 0) return;
  await tx.query(sql`
    INSERT INTO bulk_action_items (environment_id, bulk_action_id, run_id, outcome, new_run_id, error_code, error_message,
      created_at)
    SELECT ${environmentId}, ${id}, i.run_id, i.outcome, i.new_run_id, i.error_code, i.error_message, ${timestamp(now)}
    FROM unnest(
      ${items.map(({ runId }) => runId)}::uuid[], ${items.map(({ outcome }) => outcome)}::text[],
      ${items.map((item) => ("newRunId" in item ? item.newRunId : null))}::uuid[],
      ${items.map((item) => ("code" in item ? item.code : null))}::text[],
      ${items.map((item) => ("message" in item ? item.message : null))}::text[]
    ) AS i (run_id, outcome, new_run_id, error_code, error_message)`);
}

/** Of an action that is locked. Once it has gone through all runs, `matched` is how many there were. */
export async function recordBatch(tx: Tx, batch: Batch): Promise<void> {
  await tx.query(sql`
    UPDATE bulk_actions SET
      status = CASE WHEN ${timestamp(batch.endedAt)} IS NULL THEN 'running' ELSE 'completed' END,
      ended_at = ${timestamp(batch.endedAt)},
      next_before = ${batch.nextBefore}, next_batch_at = ${timestamp(batch.nextBatchAt)},
      done = done + ${batch.done}, skipped = skipped + ${batch.skipped}, failed = failed + ${batch.failed},
      matched = CASE WHEN ${timestamp(batch.endedAt)} IS NULL THEN
          greatest(matched, done + skipped + failed + ${batch.done + batch.skipped + batch.failed})
        ELSE done + skipped + failed + ${batch.done + batch.skipped + batch.failed} END,
      more_matched = more_matched AND ${timestamp(batch.endedAt)} IS NULL
    WHERE environment_id = ${batch.environmentId} AND id = ${batch.id}`);
}
