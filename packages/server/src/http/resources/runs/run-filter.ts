import { parseRunSearch, type ListRuns, type RunSearch, type RunStatus } from "@keelson/contract";
import type { RunFilter } from "../../../core/runs/run-filter.ts";
import { invalidRequest } from "../../../domain-error.ts";
import { FIRST_UUID, nextUuidOf } from "../../../uuid.ts";
import { filterId } from "../../edge/filter-id.ts";

type Query = Omit<ListRuns, "limit" | "cursor">;

/**
 * The filter of a list of runs, as a query or a body says it.
 *
 * @throws DomainError `invalid_request` with where the mistake of a search is
 */
export function runFilterOf(query: Query): RunFilter {
  const filter = plainFilterOf(query);
  if (query.search === undefined) return filter;
  const parsed = parseRunSearch(query.search);
  if ("mistake" in parsed) {
    const { position, message } = parsed.mistake;
    throw invalidRequest([{ path: "search", message: `at character ${position}: ${message}` }]);
  }
  return narrowedBy(filter, parsed.search);
}

const plainFilterOf = (query: Query): RunFilter => ({
  statuses: query.status ?? [],
  task: query.task ?? null,
  actor: query.actor ?? null,
  sessionId: filterId("session_id", "sess", query.session_id),
  scheduleId: filterId("schedule_id", "sched", query.schedule_id),
  deploymentId: filterId("deployment_id", "dep", query.deployment_id),
  parentRunId: filterId("parent_run_id", "run", query.parent_run_id),
  priority: query.priority ?? null,
  errorGroupId: filterId("error_group_id", "err", query.error_group_id),
  tags: query.tag ?? [],
  createdAfter: query.created_after === undefined ? null : Date.parse(query.created_after),
  createdBefore: query.created_before === undefined ? null : Date.parse(query.created_before),
  ...(query.hide === undefined || query.hide.length === 0 ? {} : { hidden: [...new Set(query.hide)] }),
});

/** A filter and a search: a run must pass both. */
function narrowedBy(filter: RunFilter, search: RunSearch): RunFilter {
  const { statuses, task, actor, tags, id, createdAfter, createdBefore, terms } = search;
  const both = bothOf(filter.statuses, statuses);
  const isContrary = (one: string | null, other: string | null): boolean =>
    one !== null && other !== null && one !== other;
  const isNone = both === null || isContrary(filter.task, task) || isContrary(filter.actor, actor);
  return {
    ...filter,
    statuses: both ?? [],
    task: filter.task ?? task,
    actor: filter.actor ?? actor,
    tags: [...new Set([...filter.tags, ...tags])],
    createdAfter: extremeOf(Math.max, filter.createdAfter, createdAfter),
    createdBefore: extremeOf(Math.min, filter.createdBefore, createdBefore),
    ...(id !== null && { idFrom: id.first, idBefore: nextUuidOf(id.last) }),
    ...(isNone && { idBefore: FIRST_UUID }),
    ...(terms.length > 0 && { terms }),
  };
}

/** None of them is every status; null: no status is in both. */
function bothOf(some: readonly RunStatus[], others: readonly RunStatus[]): readonly RunStatus[] | null {
  if (some.length === 0 || others.length === 0) return [...some, ...others];
  const both = some.filter((status) => others.includes(status));
  return both.length === 0 ? null : both;
}

function extremeOf(
  pick: (...values: number[]) => number,
  one: number | null,
  other: number | null,
): number | null {
  const values = [one, other].filter((value) => value !== null);
  return values.length === 0 ? null : pick(...values);
}
