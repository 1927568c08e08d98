import {
  isTerminalRunStatus,
  type BulkActionKind,
  type BulkActionStatus,
  type BulkOutcome,
  type RunStatus,
  type Uuid,
} from "@keelson/contract";

/**
 * A cancellation or a replay of many runs. Which runs it is about is fixed when it is created: its filter, and the moment,
 * after which no run belongs to it. Background loops go through the runs, newest first, a batch in each transaction.
 */
export type BulkAction = {
  environmentId: Uuid<"env">;
  id: Uuid<"bulk">;
  projectId: Uuid<"proj">;
  action: BulkActionKind;
  status: BulkActionStatus;
  /** A `RunFilter` as JSON; null with `runIds`. */
  runFilter: string | null;
  deploymentVersion: string | null;
  reason: string | null;
  matched: number;
  moreMatched: boolean;
  done: number;
  skipped: number;
  failed: number;
  createdByKind: "api_key" | "user" | "run";
  createdById: Uuid<"key" | "user" | "run">;
  createdAt: number;
  endedAt: number | null;
};

export const BULK_ACTION_LOOP = "bulk-actions";

/** What was done with one run. */
export type BulkItem = { runId: Uuid<"run"> } & (
  | { outcome: Exclude<BulkOutcome, "replayed" | "failed"> }
  | { outcome: "replayed"; newRunId: Uuid<"run"> }
  | { outcome: "failed"; code: string; message: string }
);

/** The time of what a replay starts: after all runs that its action is about, whatever the clock of the server says. */
export const replayTime = (now: number, actionCreatedAt: number): number =>
  Math.max(now, actionCreatedAt + 1);

export type ReplayDecision = { kind: "start" } | { kind: "skip" } | { kind: "refuse"; message: string };

/** Whether a run can be started again. */
export function decideReplay(run: { status: RunStatus; entrypointKind: "task" | "actor" }): ReplayDecision {
  if (run.entrypointKind === "actor")
    return {
      kind: "refuse",
      message:
        "The run is a turn of an actor's session, which continues with its next input. Only runs of tasks can be replayed.",
    };
  return isTerminalRunStatus(run.status) ? { kind: "start" } : { kind: "skip" };
}

export type CancelDecision = { kind: "cancel" } | { kind: "none" } | { kind: "refuse"; message: string };

/** A person stops a bulk action. */
export function decideCancel(status: BulkActionStatus): CancelDecision {
  switch (status) {
    case "running":
      return { kind: "cancel" };
    case "cancelled":
      return { kind: "none" };
    case "completed":
      return {
        kind: "refuse",
        message: "The bulk action is completed already; only a running one can be cancelled.",
      };
  }
}

export type Tally = { done: number; skipped: number; failed: number };

export function tally(items: readonly BulkItem[]): Tally {
  const counts = { done: 0, skipped: 0, failed: 0 };
  for (const { outcome } of items) counts[countedAs(outcome)] += 1;
  return counts;
}

function countedAs(outcome: BulkOutcome): keyof Tally {
  switch (outcome) {
    case "cancelled":
    case "replayed":
      return "done";
    case "already_ended":
    case "not_ended":
      return "skipped";
    case "failed":
      return "failed";
  }
}
