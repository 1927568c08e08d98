import type { Uuid } from "@keelson/contract";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { FIRST_UUID, LAST_UUID } from "../../uuid.ts";
import { isNotSetAside } from "../loop-failures/loop-failure-reads.ts";
import { WORDS_VERSION } from "./words-version.ts";

export const INDEX_LOOP = "index-runs";

/** How far the index of an environment is. Ids before a bound are what it speaks of. */
export type IndexState = {
  version: number;
  nextBlock: number;
  newest: string;
  freshTo: string;
  lateTo: string;
  wholeFrom: string;
  sweepBefore: string | null;
  sweptAt: number | null;
  isFilled: boolean;
};

const STATE = rawSql(
  "version, next_block, newest, fresh_to, late_to, whole_from, sweep_before, swept_at, is_filled",
);

export async function findIndexState(db: Queryable, environmentId: Uuid<"env">): Promise<IndexState | null> {
  const [row] = await db.query<IndexState>(
    sql`SELECT ${STATE} FROM run_search_environments WHERE environment_id = ${environmentId}`,
  );
  return row ?? null;
}

/** Null while another server has it. One server at a time fills the index of an environment. */
export async function lockIndexState(tx: Tx, environmentId: Uuid<"env">): Promise<IndexState | null> {
  const [row] = await tx.query<IndexState>(sql`
    SELECT ${STATE} FROM run_search_environments WHERE environment_id = ${environmentId} FOR UPDATE SKIP LOCKED`);
  return row ?? null;
}

/** The id that a late transaction may still commit is after `lateBefore`; a sweep is due again when it ended before `sweptBefore`. */
export type IndexTimes = { lateBefore: string; sweptBefore: number };

/** Environments whose index is not complete, or is to be looked through again. */
export async function listEnvironmentsToIndex(
  db: Queryable,
  { lateBefore, sweptBefore }: IndexTimes,
): Promise<Uuid<"env">[]> {
  const rows = await db.query<{ id: Uuid<"env"> }>(sql`
    SELECT v.id FROM environments v LEFT JOIN run_search_environments s ON s.environment_id = v.id
    WHERE s.environment_id IS NULL OR s.sweep_before IS NOT NULL OR s.version < ${WORDS_VERSION}
      OR s.swept_at < ${timestamp(sweptBefore)}
      OR EXISTS (SELECT FROM runs r WHERE r.environment_id = v.id AND r.id >= s.fresh_to)
      OR EXISTS (SELECT FROM runs r WHERE r.environment_id = v.id AND r.id >= s.late_to AND r.id < ${lateBefore})
    ORDER BY v.id`);
  return rows.map(({ id }) => id);
}

/** A run that an index pass goes by, and whether it has a row of this version. */
export type PassedRun = { id: Uuid<"run">; isIndexed: boolean };

/** Runs of `[from, before)` in the order of a pass. `OFFSET 0`: while the table is new, the planner would go through all of it. */
export const listPassed = (
  tx: Tx,
  environmentId: Uuid<"env">,
  { from, before, isNewestFirst }: { from: string; before: string; isNewestFirst: boolean },
  limit: number,
): Promise<PassedRun[]> =>
  tx.query<PassedRun>(sql`
    SELECT r.id, coalesce(w.version >= ${WORDS_VERSION}, false) AS is_indexed
    FROM (
      SELECT id FROM runs WHERE environment_id = ${environmentId} AND id >= ${from} AND id < ${before}
      ORDER BY id ${rawSql(isNewestFirst ? "DESC" : "ASC")} LIMIT ${limit}
    ) r LEFT JOIN LATERAL (
      SELECT version FROM run_search WHERE environment_id = ${environmentId} AND run_id = r.id OFFSET 0
    ) w ON true
    ORDER BY r.id ${rawSql(isNewestFirst ? "DESC" : "ASC")}`);

/** In which block a run is, and where that begins. */
export type BlockOfRun = { id: Uuid<"run">; block: number; first: string };

export const listBlocksOf = (
  tx: Tx,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<BlockOfRun[]> =>
  tx.query<BlockOfRun>(sql`
    SELECT r.id, b.block, b.first_run_id AS first
    FROM unnest(${runIds}::uuid[]) AS r (id) CROSS JOIN LATERAL (
      SELECT block, first_run_id FROM run_search_blocks
      WHERE environment_id = ${environmentId} AND first_run_id <= r.id ORDER BY first_run_id DESC LIMIT 1
    ) b`);

/** A run of any environment that was live when it was indexed. */
export type LiveRun = { environmentId: Uuid<"env">; runId: Uuid<"run"> };
/** Before all of them. */
export const FIRST_LIVE: LiveRun = { environmentId: FIRST_UUID, runId: FIRST_UUID };

/** The `count`-th after a place; null when there are fewer. */
export async function findLiveAfter(db: Queryable, after: LiveRun, count: number): Promise<LiveRun | null> {
  const [row] = await db.query<LiveRun>(sql`
    SELECT environment_id, run_id FROM run_search_live
    WHERE (environment_id, run_id) > (${after.environmentId}, ${after.runId})
    ORDER BY environment_id, run_id OFFSET ${count - 1} LIMIT 1`);
  return row ?? null;
}

/** One that has ended since, and whether with words that it did not have before: of an error, or of other metadata. */
export type EndedRun = LiveRun & { hasMore: boolean };

/** Those of `(after, to]`. */
export const lockEndedSince = (
  tx: Tx,
  { after, to }: { after: LiveRun; to: LiveRun | null },
  now: number,
  limit: number,
): Promise<EndedRun[]> =>
  tx.query<EndedRun>(sql`
    SELECT l.environment_id, l.run_id, coalesce(x.has_more, false) AS has_more
    FROM run_search_live l LEFT JOIN LATERAL (
      SELECT failure IS NOT NULL OR metadata IS NOT NULL AS has_more FROM run_results
      WHERE environment_id = l.environment_id AND run_id = l.run_id OFFSET 0
    ) x ON true
    WHERE (l.environment_id, l.run_id) > (${after.environmentId}, ${after.runId})
      AND (l.environment_id, l.run_id) <= (${to?.environmentId ?? LAST_UUID}, ${to?.runId ?? LAST_UUID})
      AND NOT EXISTS (SELECT FROM executions e WHERE e.environment_id = l.environment_id AND e.run_id = l.run_id OFFSET 0)
      AND ${isNotSetAside(INDEX_LOOP, sql`l.environment_id`, sql`l.run_id`, now)}
    ORDER BY l.environment_id, l.run_id LIMIT ${limit} FOR UPDATE OF l SKIP LOCKED`);

/** A part of the runs of an environment: ids of `[first, before)`. */
export type Block = { block: number; first: string; runs: number };

/** Newest first. */
export const listBlocks = (
  db: Queryable,
  environmentId: Uuid<"env">,
  before: string,
  limit: number,
): Promise<Block[]> =>
  db.query<Block>(sql`
    SELECT block, first_run_id AS first, runs FROM run_search_blocks
    WHERE environment_id = ${environmentId} AND first_run_id < ${before}
    ORDER BY first_run_id DESC LIMIT ${limit}`);

/** A block, or a part of one, that is searched. */
export type SearchedBlock = { block: number; first: string; before: string };

/**
 * The newest runs of the blocks that have the words, newest first. Blocks are given newest first and read one after the
 * other, until there are enough: what is read of a word that nearly all runs have is the block's part of it. No other index
 * serves the inner conditions, so that the words are what is read.
 */
export async function listRunsByWords(
  db: Queryable,
  environmentId: Uuid<"env">,
  query: string,
  blocks: readonly SearchedBlock[],
  limit: number,
): Promise<Uuid<"run">[]> {
  const rows = await db.query<{ id: Uuid<"run"> }>(sql`
    SELECT found.run_id AS id
    FROM (
      SELECT block, first, before
      FROM unnest(${blocks.map((one) => one.block)}::bigint[], ${blocks.map((one) => one.first)}::uuid[],
        ${blocks.map((one) => one.before)}::uuid[]) WITH ORDINALITY AS b (block, first, before, n)
      ORDER BY n
    ) b CROSS JOIN LATERAL (
      SELECT w.run_id FROM (
        SELECT environment_id, run_id FROM run_search
        WHERE words @@ ('''#' || b.block || ''' & ' || ${query}::text)::tsquery OFFSET 0
      ) w
      WHERE w.environment_id = ${environmentId} AND w.run_id >= b.first AND w.run_id < b.before
      ORDER BY w.run_id DESC LIMIT ${limit}
    ) found LIMIT ${limit}`);
  return rows.map(({ id }) => id);
}

/** Whether there is a run that the index of the environment was not made for yet. */
export async function hasNewerRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  freshTo: string,
): Promise<boolean> {
  const [row] = await db.query<{ isThere: boolean }>(sql`
    SELECT EXISTS (SELECT FROM runs WHERE environment_id = ${environmentId} AND id >= ${freshTo}) AS is_there`);
  return row?.isThere ?? false;
}
