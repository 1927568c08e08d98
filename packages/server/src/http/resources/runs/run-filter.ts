import type { ListRuns } from "@keelson/contract";
import type { RunFilter } from "../../../core/runs/run-filter.ts";
import { filterId } from "../../edge/filter-id.ts";

/** The filter of a list of runs, as a query or a body says it. */
export const runFilterOf = (query: Omit<ListRuns, "limit" | "cursor">): RunFilter => ({
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
});
