import { isTerminalRunStatus, type RunStatus, type Uuid } from "@keelson/contract";
import {
  by,
  conditionsOfMatches,
  selectPage,
  sourceOf,
  waysBy,
  waysByTag,
  type Source,
  type Way,
} from "../../db/filtered-page.ts";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { firstUuidOf } from "../../uuid.ts";
import { matchesOf, type RunFilter } from "./run-filter.ts";
import { RUN_COLUMNS, RUN_STATES, RUNS_BY_KEY, type RunRow } from "./run-reads.ts";

/** How far the time in a run's id may be from its `created_at`: both are of one server, some milliseconds apart. */
const ID_SKEW_MS = 1_000;

/** Newest first, after the run `before`. Ids are UUIDv7, so the key is the order of creation. */
export async function listRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  before: string | null,
  limit: number,
): Promise<RunRow[]> {
  const page = await selectRuns(db, environmentId, filter, before, limit);
  return db.query<RunRow>(sql`
    SELECT ${RUN_COLUMNS} FROM (${page}) page, ${RUNS_BY_KEY}
    WHERE r.environment_id = ${environmentId} AND r.id = page.id ORDER BY page.id DESC`);
}

/** The ids alone of that list. */
export async function listRunIds(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  before: string | null,
  limit: number,
): Promise<Uuid<"run">[]> {
  const page = await selectRuns(db, environmentId, filter, before, limit);
  const rows = await db.query<{ id: Uuid<"run"> }>(
    sql`SELECT page.id FROM (${page}) page ORDER BY page.id DESC`,
  );
  return rows.map(({ id }) => id);
}

/** How long that list is; the result is at most `bound`. */
export async function countListedRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  bound: number,
): Promise<number> {
  const page = await selectRuns(db, environmentId, filter, null, bound);
  const [row] = await db.query<{ count: number }>(sql`SELECT count(*) AS count FROM (${page}) page`);
  return row?.count ?? 0;
}

/** A statement for the ids of a page. */
function selectRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  filter: RunFilter,
  before: string | null,
  limit: number,
): Promise<Sql> {
  const ways = waysOf(filter);
  const conditionsOf = (source: Source): Sql[] => conditionsFor(filter, source);
  const place = { environmentId, ...keysOf(filter, before) };
  return selectPage(db, { all: ALL, ways, conditionsOf }, place, limit);
}

/** The ids between which all runs of the filter are. */
export function keysOf(
  { createdAfter, createdBefore, idFrom = null, idBefore = null }: RunFilter,
  before: string | null,
): { from: string | null; before: string | null } {
  const ends = [before, idBefore, createdBefore === null ? null : firstUuidOf(createdBefore + ID_SKEW_MS)];
  const starts = [idFrom, createdAfter === null ? null : firstUuidOf(createdAfter - ID_SKEW_MS)];
  const [end = null] = ends.filter((bound) => bound !== null).toSorted();
  return {
    from:
      starts
        .filter((bound) => bound !== null)
        .toSorted()
        .at(-1) ?? null,
    before: end,
  };
}

/** All that the list asks of a run, for one that was found in another way. */
export const listConditions = (filter: RunFilter): Sql[] => conditionsFor(filter, ALL);

/** The runs of these ids, newest first. */
export const listRunsOf = (
  db: Queryable,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
): Promise<RunRow[]> =>
  db.query<RunRow>(sql`
    SELECT ${RUN_COLUMNS} FROM ${RUNS_BY_KEY}
    WHERE r.environment_id = ${environmentId} AND r.id = ANY(${runIds}::uuid[]) ORDER BY r.id DESC`);

const ALL = sourceOf("runs", "r", RUN_STATES);

/** By status first: the newest runs of a task may all live, those that succeeded begin where the first of them is. */
function waysOf(filter: RunFilter): Way[] {
  const statuses = [...new Set(filter.statuses)];
  return [
    ...(statuses.length === 0 ? [] : [statuses.map(sourceOfStatus)]),
    ...waysByErrorGroup(filter.errorGroupId),
    ...waysBy(ALL, matchesOf(filter)),
    ...waysByTag(filter.tags, { table: "run_tags", of: "runs", id: "run_id", alias: "r", joins: RUN_STATES }),
  ];
}

/** By the table of the group's runs. */
const waysByErrorGroup = (errorGroupId: Uuid<"err"> | null): Way[] =>
  errorGroupId === null
    ? []
    : [[by(OF_GROUPS, { column: rawSql("s.error_group_id"), value: errorGroupId, predicate: null })]];

const OF_GROUPS: Source = {
  rows: rawSql("error_group_runs s"),
  tables: sql`error_group_runs s
    ${joinByKey("runs", "r", sql`r.environment_id = s.environment_id AND r.id = s.run_id`)}${RUN_STATES}`,
  ...{ environment: rawSql("s.environment_id"), key: rawSql("s.run_id") },
  ...{ predicate: null, leading: null },
};

/** A run has a row in one of two tables by whether it lives, and the planner begins with no other. */
const stateSource = (table: "executions e" | "run_results x", other: string): Source => {
  const alias = table.slice(-1);
  return {
    rows: rawSql(table),
    tables: sql`${rawSql(table)}
      ${joinByKey("runs", "r", rawSql(`r.environment_id = ${alias}.environment_id AND r.id = ${alias}.run_id`))}
      LEFT JOIN ${rawSql(other)} ON false`,
    ...{ environment: rawSql(`${alias}.environment_id`), key: rawSql(`${alias}.run_id`) },
    ...{ predicate: null, leading: null },
  };
};
const LIVE = stateSource("executions e", "run_results x");
const ENDED = stateSource("run_results x", "executions e");

/**
 * Each status is listed from where its rows are found by index: a live one from the live rows, an ending other than
 * `succeeded` from its partial index, `succeeded`, which nearly every run has, from the results by key.
 */
function sourceOfStatus(status: RunStatus): Source {
  if (status === "queued") return { ...LIVE, predicate: rawSql("e.status = 'queued'") };
  if (status === "succeeded") return { ...ENDED, predicate: rawSql("x.status = 'succeeded'") };
  const indexed = (name: string, predicate: string) => ({
    ...{ column: rawSql(name), value: status, predicate: rawSql(predicate) },
  });
  return isTerminalRunStatus(status)
    ? by(ENDED, indexed("x.status", "x.status <> 'succeeded'"))
    : by(LIVE, indexed("e.status", "e.status <> 'queued'"));
}

function conditionsFor(filter: RunFilter, source: Source): Sql[] {
  const { statuses, task, actor, tags, createdAfter, createdBefore } = filter;
  const conditions = conditionsOfMatches(matchesOf(filter), source);
  if (statuses.length > 0) conditions.push(sql`coalesce(x.status, e.status) = ANY(${statuses}::text[])`);
  if (task !== null) conditions.push(sql`r.entrypoint_kind = 'task'`);
  if (actor !== null) conditions.push(sql`r.entrypoint_kind = 'actor'`);
  if (tags.length > 0) conditions.push(sql`r.tags @> ${tags}::text[]`);
  if (createdAfter !== null) conditions.push(sql`r.created_at > ${timestamp(createdAfter)}`);
  if (createdBefore !== null) conditions.push(sql`r.created_at < ${timestamp(createdBefore)}`);
  return conditions;
}
