import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/**
 * Gives free slots of a limited queue to the runs that wait for one, highest priority first. Called whenever a limited
 * run enters its queue or gives its slot back, in that transaction.
 *
 * The queue's row lock makes admissions of one queue follow one another; who holds a slot is counted from the live rows
 * under that lock, so there is no counter that could drift from the truth.
 *
 * @returns the number of runs that became ready.
 */
export async function admitLimitedRuns(tx: Tx, environmentId: string, queue: string): Promise<number> {
  const limits = await lockQueue(tx, environmentId, queue);
  const held = await tx.query<{ key: string | null; held: number }>(sql`
    SELECT concurrency_key AS key, count(*) AS held FROM executions
    WHERE environment_id = ${environmentId} AND queue = ${queue} AND limited AND admitted GROUP BY concurrency_key`);
  const heldByKey = new Map(held.map((row) => [row.key, row.held]));
  let free =
    (limits.total ?? MAX_ADMITTED_AT_ONCE) -
    (limits.total === null ? 0 : held.reduce((sum, row) => sum + row.held, 0));
  let admitted = 0;
  while (free > 0) {
    const picked = await pickNext(
      tx,
      environmentId,
      queue,
      limits.perKey,
      heldByKey,
      Math.min(free, MAX_ADMITTED_AT_ONCE),
    );
    if (picked.length === 0) break;
    await tx.query(sql`
      UPDATE executions SET admitted = true, ready = true, updated_at = now()
      WHERE environment_id = ${environmentId} AND run_id = ANY(${picked}::uuid[])`);
    admitted += picked.length;
    free -= picked.length;
  }
  return admitted;
}

/** Bounds one statement's work; the loop goes on until slots or runs are used up. */
const MAX_ADMITTED_AT_ONCE = 500;

type Limits = { total: number | null; perKey: number };

async function lockQueue(tx: Tx, environmentId: string, queue: string): Promise<Limits> {
  await tx.query(sql`
    INSERT INTO queues (environment_id, name) VALUES (${environmentId}, ${queue}) ON CONFLICT (environment_id, name) DO NOTHING`);
  const [row] = await tx.query<Limits>(sql`
    SELECT concurrency_limit AS total, concurrency_key_limit AS "perKey" FROM queues
    WHERE environment_id = ${environmentId} AND name = ${queue} FOR UPDATE`);
  if (row === undefined) throw new Error("A queue vanished while it was being locked.");
  return row;
}

/** The next runs of keys that are not used up. Adds what it picks to `heldByKey`. */
async function pickNext(
  tx: Tx,
  environmentId: string,
  queue: string,
  perKey: number,
  heldByKey: Map<string | null, number>,
  limit: number,
): Promise<string[]> {
  const usedUp = [...heldByKey].filter(([key, count]) => key !== null && count >= perKey).map(([key]) => key);
  const candidates = await tx.query<{ runId: string; key: string | null }>(sql`
    SELECT run_id AS "runId", concurrency_key AS key FROM executions
    WHERE environment_id = ${environmentId} AND queue = ${queue} AND limited AND NOT admitted AND status = 'queued' AND available_at IS NULL
      AND (concurrency_key IS NULL OR concurrency_key <> ALL(${usedUp}::text[]))
    ORDER BY priority DESC, run_id LIMIT ${limit}
    FOR UPDATE`);
  const picked: string[] = [];
  for (const { runId, key } of candidates) {
    const count = heldByKey.get(key) ?? 0;
    if (key !== null && count >= perKey) continue;
    heldByKey.set(key, count + 1);
    picked.push(runId);
  }
  return picked;
}
