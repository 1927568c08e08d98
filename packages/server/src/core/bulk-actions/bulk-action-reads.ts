import type { BulkOutcome, Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { LAST_UUID } from "../../uuid.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import { BULK_ACTION_LOOP, type BulkAction } from "./bulk-action.ts";

const COLUMNS = rawSql(`
  b.environment_id, b.id, b.project_id, b.action, b.status, b.run_filter, b.deployment_version, b.reason, b.matched,
  b.more_matched, b.done, b.skipped, b.failed, b.created_by_kind, b.created_by_id, b.created_at, b.ended_at`);

/** Newest first. */
export const listBulkActions = (
  db: Queryable,
  environmentId: Uuid<"env">,
  before: string | null,
  limit: number,
): Promise<BulkAction[]> =>
  db.query<BulkAction>(sql`
    SELECT ${COLUMNS} FROM bulk_actions b
    WHERE b.environment_id = ${environmentId} AND b.id < ${before ?? LAST_UUID}
    ORDER BY b.id DESC LIMIT ${limit}`);

export async function findBulkAction(
  db: Queryable,
  environmentId: Uuid<"env">,
  id: Uuid<"bulk">,
): Promise<BulkAction | null> {
  const [row] = await db.query<BulkAction>(sql`
    SELECT ${COLUMNS} FROM bulk_actions b WHERE b.environment_id = ${environmentId} AND b.id = ${id}`);
  return row ?? null;
}

/** Waits for the batch that a server has under way. */
export async function lockBulkAction(
  tx: Tx,
  environmentId: Uuid<"env">,
  id: Uuid<"bulk">,
): Promise<BulkAction | null> {
  const [row] = await tx.query<BulkAction>(sql`
    SELECT ${COLUMNS} FROM bulk_actions b
    WHERE b.environment_id = ${environmentId} AND b.id = ${id} FOR UPDATE`);
  return row ?? null;
}

/** A running action with where it is among its runs. */
export type ActionInWork = BulkAction & { runIds: Uuid<"run">[] | null; nextBefore: Uuid<"run"> | null };

/** The running action that has waited longest for a batch. One that another server has under way is left to it. */
export async function takeBulkAction(tx: Tx, now: number): Promise<ActionInWork | null> {
  const [row] = await tx.query<ActionInWork>(sql`
    SELECT ${COLUMNS}, b.run_ids, b.next_before FROM bulk_actions b
    WHERE ${isDue(now)}
    ORDER BY b.next_batch_at LIMIT 1 FOR UPDATE SKIP LOCKED`);
  return row ?? null;
}

/** A condition: some action is to have its next batch. */
export const hasBulkActionsDue = (now: number): Sql =>
  sql`EXISTS (SELECT FROM bulk_actions b WHERE ${isDue(now)})`;

const isDue = (now: number): Sql => sql`
  b.status = 'running' AND b.next_batch_at <= ${timestamp(now)}
  AND ${isNotSetAside(BULK_ACTION_LOOP, sql`b.environment_id`, sql`b.id`, now)}`;

export type BulkItemRow = {
  runId: Uuid<"run">;
  outcome: BulkOutcome;
  newRunId: Uuid<"run"> | null;
  errorCode: string | null;
  errorMessage: string | null;
  createdAt: number;
};

/** In the order in which the action goes through its runs: the newest run first. */
export const listBulkItems = (
  db: Queryable,
  environmentId: Uuid<"env">,
  id: Uuid<"bulk">,
  before: string | null,
  limit: number,
): Promise<BulkItemRow[]> =>
  db.query<BulkItemRow>(sql`
    SELECT run_id, outcome, new_run_id, error_code, error_message, created_at FROM bulk_action_items
    WHERE environment_id = ${environmentId} AND bulk_action_id = ${id} AND run_id < ${before ?? LAST_UUID}
    ORDER BY run_id DESC LIMIT ${limit}`);
