/**
 * What has ended is kept for a time and then dropped, in small transactions and by one server at a time. What lives, and
 * what something living may still read, is never dropped. A reader that asks for what was dropped is told so.
 */

/** How long each is kept after its end, in milliseconds; null for ever. */
export type RetentionPolicy = {
  /** Ended runs, with everything of them. Those of a session stay as long as it does. And bulk actions with their items. */
  runsMs: number | null;
  /** The events and the logs of ended runs, when those are to go before the run. */
  eventsMs: number | null;
  logsMs: number | null;
  sessionsMs: number | null;
  /** The records of ended sessions, when those are to go before the session. */
  recordsMs: number | null;
  tokensMs: number | null;
  occurrencesMs: number | null;
  /** The output of ended execs and PTYs. */
  outputMs: number | null;
  /** Ended execs and PTYs, and what is known of the machines that a workspace was on. */
  processesMs: number | null;
  /** Workspaces that were made for a run and that nobody made theirs, after the last use. */
  runWorkspacesMs: number | null;
  /** Versions of workspaces that are older than this and than the newest `versionCount`. */
  versionsMs: number | null;
  versionCount: number;
  /** Deployments that are not current, the newest ones aside, and those that something is pinned to. */
  deploymentsMs: number | null;
};

export const DROPPED_KINDS = [
  "runs",
  "bulk_actions",
  "run_events",
  "run_logs",
  "records",
  "sessions",
  "tokens",
  "occurrences",
  "process_outputs",
  "processes",
  "materializations",
  "run_workspaces",
  "deleted_workspaces",
  "versions",
  "deployments",
  "error_groups",
  "run_rollups",
] as const;

export type DroppedKind = (typeof DROPPED_KINDS)[number];

/** What goes with something else goes with it at the latest. */
export const soonerOf = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);

/**
 * How long a deleted workspace is still shown. A worker that was away learns in that time that the folder of it is wanted by
 * nobody; one that was away for longer is forgotten too. So this is no setting.
 */
export const DELETED_WORKSPACES_MS = 30 * 86_400_000;

export const FIRST_KEY = "00000000-0000-0000-0000-000000000000";
