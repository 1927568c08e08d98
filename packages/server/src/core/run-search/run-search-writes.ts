import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { FIRST_UUID } from "../../uuid.ts";
import type { IndexState } from "./run-search-reads.ts";
import { WORDS_VERSION } from "./words-version.ts";

/** The index of an environment begins: runs from `start` on are new to it, those before it are for the sweep. */
export async function insertIndexState(tx: Tx, environmentId: Uuid<"env">, start: string): Promise<void> {
  await tx.query(sql`
    WITH made AS (
      INSERT INTO run_search_environments
        (environment_id, version, next_block, newest, fresh_to, late_to, whole_from, sweep_before)
      VALUES (${environmentId}, ${WORDS_VERSION}, 3, ${start}, ${start}, ${start}, ${start}, ${start})
      ON CONFLICT (environment_id) DO NOTHING RETURNING environment_id
    )
    INSERT INTO run_search_blocks (environment_id, first_run_id, block, runs)
    SELECT environment_id, b.first::uuid, b.block, 0
    FROM made CROSS JOIN (VALUES (${FIRST_UUID}::uuid, 1), (${start}::uuid, 2)) AS b (first, block)
    ON CONFLICT (environment_id, first_run_id) DO NOTHING`);
}

export async function updateIndexState(tx: Tx, environmentId: Uuid<"env">, state: IndexState): Promise<void> {
  await tx.query(sql`
    UPDATE run_search_environments SET version = ${state.version}, next_block = ${state.nextBlock},
      newest = ${state.newest}, fresh_to = ${state.freshTo}, late_to = ${state.lateTo}, whole_from = ${state.wholeFrom},
      sweep_before = ${state.sweepBefore}::uuid, swept_at = ${timestamp(state.sweptAt)}, is_filled = ${state.isFilled}
    WHERE environment_id = ${environmentId}`);
}

export async function insertBlock(
  tx: Tx,
  environmentId: Uuid<"env">,
  { first, block }: { first: string; block: number },
): Promise<void> {
  await tx.query(sql`
    INSERT INTO run_search_blocks (environment_id, first_run_id, block, runs)
    VALUES (${environmentId}, ${first}, ${block}, 0) ON CONFLICT (environment_id, first_run_id) DO NOTHING`);
}

/** The oldest block, which had no beginning, begins here from now on. */
export async function closeOldestBlock(tx: Tx, environmentId: Uuid<"env">, first: string): Promise<void> {
  await tx.query(sql`
    UPDATE run_search_blocks SET first_run_id = ${first}
    WHERE environment_id = ${environmentId} AND first_run_id = ${FIRST_UUID}`);
}

/** Blocks without runs are part of the one before them. */
export async function deleteEmptyBlocks(tx: Tx, environmentId: Uuid<"env">): Promise<void> {
  await tx.query(sql`
    DELETE FROM run_search_blocks b USING (
      SELECT first_run_id, lead(first_run_id) OVER (ORDER BY first_run_id) AS before
      FROM run_search_blocks WHERE environment_id = ${environmentId}
    ) o
    WHERE b.environment_id = ${environmentId} AND b.first_run_id = o.first_run_id AND o.before IS NOT NULL
      AND b.first_run_id <> ${FIRST_UUID} AND NOT EXISTS (
        SELECT FROM run_search w
        WHERE w.environment_id = ${environmentId} AND w.run_id >= o.first_run_id AND w.run_id < o.before OFFSET 0)`);
}

export type IndexedRun = { id: Uuid<"run">; vector: string; blockFirst: string; isEnded: boolean };

/** Stores the words of runs, counts the new ones in their blocks, and remembers which of them live. */
export async function upsertWords(
  tx: Tx,
  environmentId: Uuid<"env">,
  runs: readonly IndexedRun[],
): Promise<void> {
  const live = runs.filter(({ isEnded }) => !isEnded).map(({ id }) => id);
  await tx.query(sql`
    WITH words AS (
      INSERT INTO run_search (environment_id, run_id, version, words)
      SELECT ${environmentId}, id, ${WORDS_VERSION}, vector::tsvector
      FROM unnest(${runs.map(({ id }) => id)}::uuid[], ${runs.map(({ vector }) => vector)}::text[]) AS w (id, vector)
      ORDER BY id
      ON CONFLICT (environment_id, run_id) DO UPDATE SET version = excluded.version, words = excluded.words
        WHERE run_search.version <> excluded.version OR run_search.words <> excluded.words
    ), living AS (
      INSERT INTO run_search_live (environment_id, run_id)
      SELECT ${environmentId}, id FROM unnest(${live}::uuid[]) AS l (id) ORDER BY id
      ON CONFLICT DO NOTHING
    )
    UPDATE run_search_blocks b SET runs = b.runs + n.runs
    FROM (
      SELECT first, count(*) AS runs FROM unnest(${runs.map(({ blockFirst }) => blockFirst)}::uuid[]) AS f (first) GROUP BY first
    ) n
    WHERE b.environment_id = ${environmentId} AND b.first_run_id = n.first`);
}

/**
 * Puts the words of a batch, which are in a list of pending entries yet, into their places in the index: each of the common ones once for
 * all of its runs. Every search would read the list from end to end. Only the owner of an index may do this; for others VACUUM does.
 */
export async function placeWords(tx: Tx): Promise<void> {
  await tx.query(sql`
    SELECT gin_clean_pending_list(oid) FROM pg_class
    WHERE oid = to_regclass('run_search_words') AND pg_has_role(relowner, 'USAGE')`);
}

/** They have their last words. */
export async function deleteLive(
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<void> {
  await tx.query(sql`
    DELETE FROM run_search_live WHERE environment_id = ${environmentId} AND run_id = ANY(${runIds}::uuid[])`);
}

/** Drops rows of `[from, before)` whose runs are gone: one may have been written while its run was being dropped. */
export async function deleteOrphans(
  tx: Tx,
  environmentId: Uuid<"env">,
  from: string,
  before: string,
): Promise<void> {
  await tx.query(sql`
    DELETE FROM run_search w
    WHERE w.environment_id = ${environmentId} AND w.run_id >= ${from} AND w.run_id < ${before}
      AND NOT EXISTS (SELECT FROM runs r WHERE r.environment_id = w.environment_id AND r.id = w.run_id OFFSET 0)`);
}
