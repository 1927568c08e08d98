import type { RunStatus } from "@keelson/contract/plain";
import type { PageQuery } from "./paged-list.ts";
import { toWireTime } from "./time-input.ts";

/** Filters of `runs.list()`; they narrow the list together. */
export type RunQuery = PageQuery & {
  /** Only runs in this status, or one of these. */
  status?: RunStatus | readonly RunStatus[];
  /** Only runs of the task with this declared id. */
  task?: string;
  /** Only runs of the actor with this declared id. */
  actor?: string;
  /** Only runs of this session. */
  sessionId?: string;
  /** Only runs with this tag. */
  tag?: string;
  /** Only runs that this schedule started. */
  scheduleId?: string;
  /** Only runs of this deployment. */
  deploymentId?: string;
  /** Only runs that this run started. */
  parentRunId?: string;
  /** Only runs of this priority, from -100 to 100. */
  priority?: number;
  /** Only runs of this error group. */
  errorGroupId?: string;
  /**
   * Words and filters, such as `timeout status:failed metadata.customer:ada`. A page may have fewer rows than `limit`, or none,
   * and the list goes on.
   */
  search?: string;
  /** Without runs that other runs started, or that schedules started. */
  hide?: "children" | "scheduled" | readonly ("children" | "scheduled")[];
  /** Only runs created later. */
  createdAfter?: Date | string;
  /** Only runs created earlier. */
  createdBefore?: Date | string;
};

/** The filters of a query as the wire names them. */
export const runFiltersOf = (query: Omit<RunQuery, keyof PageQuery>) => ({
  status: query.status,
  task: query.task,
  actor: query.actor,
  session_id: query.sessionId,
  tag: query.tag,
  schedule_id: query.scheduleId,
  deployment_id: query.deploymentId,
  parent_run_id: query.parentRunId,
  priority: query.priority,
  error_group_id: query.errorGroupId,
  search: query.search,
  hide: query.hide,
  created_after: toWireTime(query.createdAfter, "createdAfter"),
  created_before: toWireTime(query.createdBefore, "createdBefore"),
});
