import type { RunStatus, RunSearchTerm, Uuid } from "@keelson/contract";
import { matchOf, type Match } from "../../db/filtered-page.ts";
import { rawSql, type Sql } from "../../db/sql.ts";

export type RunFilter = {
  statuses: readonly RunStatus[];
  task: string | null;
  actor: string | null;
  sessionId: Uuid<"sess"> | null;
  scheduleId: Uuid<"sched"> | null;
  deploymentId: Uuid<"dep"> | null;
  parentRunId: Uuid<"run"> | null;
  priority: number | null;
  errorGroupId: Uuid<"err"> | null;
  tags: readonly string[];
  createdAfter: number | null;
  createdBefore: number | null;
  /** UUIDs that ids are not before, and that they are before. */
  idFrom?: string | null;
  idBefore?: string | null;
  /** No index of the list serves these: a list that has them is sifted. */
  terms?: readonly RunSearchTerm[];
  hidden?: readonly HiddenRuns[];
};

/** Runs that other runs started, and runs that schedules started. */
export type HiddenRuns = "children" | "scheduled";

/** The filter that lets every run pass. */
export const ALL_RUNS: RunFilter = {
  statuses: [],
  task: null,
  actor: null,
  sessionId: null,
  scheduleId: null,
  deploymentId: null,
  parentRunId: null,
  priority: null,
  errorGroupId: null,
  tags: [],
  createdAfter: null,
  createdBefore: null,
};

/** Those that mostly let the fewest pass first. */
export function matchesOf(filter: RunFilter): Match[] {
  return [
    ...matchOf("r.parent_run_id", filter.parentRunId),
    ...matchOf("x.error_group_id", filter.errorGroupId).map(byTable),
    ...matchOf("r.session_id", filter.sessionId),
    ...matchOf("r.schedule_id", filter.scheduleId),
    ...matchOf("r.priority", filter.priority).map(byPriority),
    ...matchOf("r.deployment_id", filter.deploymentId),
    ...matchOf("r.entrypoint", filter.task ?? filter.actor),
  ];
}

/** Nearly every run has the priority 0, and no row in the index. */
const byPriority = (match: Match): Match =>
  match.value === 0 ? { ...match, isIndexed: false } : { ...match, predicate: rawSql("r.priority <> 0") };

/** Which runs are of an error group is in a table of its own. */
const byTable = (match: Match): Match => ({ ...match, isIndexed: false });

/** Whether the list alone cannot say which runs pass. */
export const isSifted = ({ terms = [], hidden = [] }: RunFilter): boolean => terms.length + hidden.length > 0;

const HIDDEN: Readonly<Record<HiddenRuns, Sql>> = {
  children: rawSql("r.parent_run_id IS NULL"),
  scheduled: rawSql("r.schedule_id IS NULL"),
};

/** What is asked of each run besides. */
export const conditionsOfHidden = ({ hidden = [] }: RunFilter): Sql[] => hidden.map((one) => HIDDEN[one]);
