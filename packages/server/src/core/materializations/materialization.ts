import type { Isolation, MaterializationStatus } from "@keelson/contract";

/**
 * The life of a materialization.
 *
 * A workspace is put on a machine when somebody needs it live. The materialization is requested until a worker with room
 * and a strong enough isolation leases it; preparing while that worker writes the files out; live until it is to stop:
 * asked for, idle, or because its worker drains. Stopping, its worker commits what changed and lets go. A worker that
 * falls silent before it is live loses the lease to another; afterwards only that worker had the changes, so the
 * materialization has failed and the next one begins with the last committed version. If that worker comes back with its
 * files before anything has gone on without them, they are uncommitted.
 *
 * What a worker could not commit it keeps: the materialization is uncommitted, for as long as it takes, until a version has
 * everything or somebody says that the files are not wanted. Silence of the worker ends nothing then, and nobody else gets
 * the workspace meanwhile.
 */
export const MATERIALIZATION_EDGES = [
  { from: "requested", on: "leased by a worker", to: "preparing" },
  { from: "requested", on: "stop", to: "stopped" },
  { from: "preparing", on: "the worker has it ready", to: "live" },
  { from: "preparing", on: "stop", to: "stopping" },
  { from: "preparing", on: "the worker lets go", to: "stopped" },
  { from: "preparing", on: "the worker is lost, others are left to try", to: "requested" },
  { from: "preparing", on: "the worker cannot, or the last try is lost", to: "failed" },
  { from: "live", on: "stop, or idle for long", to: "stopping" },
  { from: "live", on: "the worker drains", to: "stopped" },
  { from: "live", on: "the worker is lost, or cannot go on", to: "failed" },
  { from: "live", on: "the worker lets go, and cannot commit", to: "uncommitted" },
  { from: "stopping", on: "the worker has let go", to: "stopped" },
  { from: "stopping", on: "the worker is lost", to: "failed" },
  { from: "stopping", on: "the worker cannot commit, or is silent after recover", to: "uncommitted" },
  { from: "uncommitted", on: "recover", to: "stopping" },
  { from: "uncommitted", on: "committed, discarded, or its workspace is deleted", to: "stopped" },
  { from: "uncommitted", on: "the worker has nothing left of it", to: "failed" },
  { from: "failed", on: "the lost worker is back with its files", to: "uncommitted" },
] as const satisfies readonly { from: MaterializationStatus; on: string; to: MaterializationStatus }[];

export type MaterializationDecision =
  | { kind: "none" }
  | { kind: "move"; to: MaterializationStatus }
  | { kind: "refuse"; message: string };

const move = (to: MaterializationStatus): MaterializationDecision => ({ kind: "move", to });
const NONE: MaterializationDecision = { kind: "none" };
const over = (status: MaterializationStatus): MaterializationDecision => ({
  kind: "refuse",
  message: `The materialization is ${status}; end its processes and drop its folder.`,
});

/** How often a workspace is given to another worker before it is said that it cannot be prepared. */
export const MAX_LOST_LEASES = 3;

/** For callers of a workspace whose worker has files that no version has. */
export const UNCOMMITTED_MESSAGE =
  "A worker holds files of the workspace that it could not commit; `materialization.error` says why. Recover them (`keelson workspace recover`), or discard them (`keelson workspace discard`) to continue with the last version.";

export type RequestDecision =
  | { kind: "none" }
  | { kind: "create" }
  | { kind: "again" }
  | { kind: "refuse"; message: string };

/** Somebody needs the workspace live; null is a workspace that never was. */
export function decideRequest(status: MaterializationStatus | null): RequestDecision {
  switch (status) {
    case null:
    case "stopped":
    case "failed":
      return { kind: "create" };
    case "requested":
    case "preparing":
    case "live":
      return { kind: "none" };
    case "stopping":
      return { kind: "again" };
    case "uncommitted":
      return { kind: "refuse", message: UNCOMMITTED_MESSAGE };
  }
}

export type AttachDecision = { kind: "create" | "lease" | "join" } | { kind: "refuse"; message: string };

/** A run of a worker is to work in it. `isMine`: that worker has it. Null is a workspace that never was live. */
export function decideAttach(status: MaterializationStatus | null, isMine: boolean): AttachDecision {
  switch (status) {
    case null:
    case "stopped":
    case "failed":
      return { kind: "create" };
    case "requested":
      return { kind: "lease" };
    case "preparing":
    case "live":
      return isMine
        ? { kind: "join" }
        : { kind: "refuse", message: "Another worker has the workspace; hand the run back as rejected." };
    case "stopping":
      return { kind: "refuse", message: "The workspace is being stopped; hand the run back as rejected." };
    case "uncommitted":
      return {
        kind: "refuse",
        message: "A worker holds uncommitted files of the workspace; hand the run back as rejected.",
      };
  }
}

/** Nobody needs it live any more. */
export function decideStop(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "requested":
      return move("stopped");
    case "preparing":
    case "live":
      return move("stopping");
    case "stopping":
    case "uncommitted":
    case "stopped":
    case "failed":
      return NONE;
  }
}

/** Somebody wants what could not be committed to be committed now. */
export function decideRecover(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "uncommitted":
      return move("stopping");
    case "stopping":
      return NONE;
    case "requested":
    case "preparing":
    case "live":
    case "stopped":
    case "failed":
      return { kind: "refuse", message: "No worker holds uncommitted files of the workspace." };
  }
}

/** Somebody gives up what could not be committed. `isKept`: it was uncommitted before it was to be recovered. */
export function decideDiscard(status: MaterializationStatus, isKept: boolean): MaterializationDecision {
  switch (status) {
    case "uncommitted":
      return move("stopped");
    case "stopping":
      if (isKept) return move("stopped");
      break;
    case "requested":
    case "preparing":
    case "live":
    case "stopped":
    case "failed":
      break;
  }
  return { kind: "refuse", message: "No worker holds uncommitted files of the workspace." };
}

/** Its worker has it ready. One that is to stop meanwhile stays so. */
export function decideLive(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "preparing":
      return move("live");
    case "live":
    case "stopping":
      return NONE;
    case "requested":
    case "uncommitted":
    case "stopped":
    case "failed":
      return over(status);
  }
}

/** Its worker has let go of it. */
export function decideStopped(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "preparing":
    case "live":
    case "stopping":
    case "uncommitted":
      return move("stopped");
    case "stopped":
      return NONE;
    case "requested":
    case "failed":
      return over(status);
  }
}

/** Its worker has ended what ran there, has files that it could not commit, and keeps them. */
export function decideUncommitted(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "live":
    case "stopping":
      return move("uncommitted");
    case "uncommitted":
      return NONE;
    case "requested":
    case "preparing":
    case "stopped":
    case "failed":
      return over(status);
  }
}

/** Its worker cannot prepare it, or cannot go on. */
export function decideFailed(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "preparing":
    case "live":
    case "stopping":
    case "uncommitted":
      return move("failed");
    case "failed":
      return NONE;
    case "requested":
    case "stopped":
      return over(status);
  }
}

/**
 * Its lease ran out. `lostCount`: leases that were lost before. `isKept`: its worker had said that it keeps what it could not
 * commit.
 */
export function decideLost(
  status: MaterializationStatus,
  lostCount: number,
  isKept: boolean,
): MaterializationDecision {
  switch (status) {
    case "preparing":
      return move(lostCount + 1 < MAX_LOST_LEASES ? "requested" : "failed");
    case "live":
      return move("failed");
    case "stopping":
      return move(isKept ? "uncommitted" : "failed");
    case "requested":
    case "uncommitted":
    case "stopped":
    case "failed":
      return NONE;
  }
}

/**
 * A worker is back with the files of what was lost with it. `isNewest`: nobody has asked for the workspace since, and its files
 * are as they were then.
 */
export function decideTakeBack(status: MaterializationStatus, isNewest: boolean): MaterializationDecision {
  return status === "failed" && isNewest ? move("uncommitted") : NONE;
}

/** Its worker commits: the setup while it prepares, and what changed from then on. */
export function decideCommit(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "preparing":
    case "live":
    case "stopping":
    case "uncommitted":
      return NONE;
    case "requested":
    case "stopped":
    case "failed":
      return over(status);
  }
}

/** Whether a machine with that isolation is good enough. */
export const isolates = (has: Isolation, needs: Isolation): boolean =>
  has === "namespace" || needs === "process";

/** Idle times are 10 s and more. A use a moment after another is not written: each write leaves a dead row that reads step over. */
export const USED_AGAIN_MS = 1_000;
