import type { Isolation, MaterializationStatus } from "@keelson/contract";

/**
 * The life of a materialization.
 *
 * A workspace is put on a machine when somebody needs it live. The materialization is requested until a worker with room
 * and a strong enough isolation leases it; preparing while that worker writes the files out; live until it is to stop:
 * asked for, idle, or because its worker drains. Stopping, its worker commits what changed and lets go. A worker that
 * falls silent before it is live loses the lease to another; afterwards only that worker had the changes, so the
 * materialization has failed and the next one begins with the last committed version.
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
  { from: "stopping", on: "the worker has let go", to: "stopped" },
  { from: "stopping", on: "the worker is lost, or cannot commit", to: "failed" },
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

export type RequestDecision = { kind: "none" } | { kind: "create" } | { kind: "again" };

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
    case "stopped":
    case "failed":
      return NONE;
  }
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
      return move("stopped");
    case "stopped":
      return NONE;
    case "requested":
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
      return move("failed");
    case "failed":
      return NONE;
    case "requested":
    case "stopped":
      return over(status);
  }
}

/** Its lease ran out. `lostCount`: leases that were lost before. */
export function decideLost(status: MaterializationStatus, lostCount: number): MaterializationDecision {
  switch (status) {
    case "preparing":
      return move(lostCount + 1 < MAX_LOST_LEASES ? "requested" : "failed");
    case "live":
    case "stopping":
      return move("failed");
    case "requested":
    case "stopped":
    case "failed":
      return NONE;
  }
}

/** Its worker commits: the setup while it prepares, and what changed from then on. */
export function decideCommit(status: MaterializationStatus): MaterializationDecision {
  switch (status) {
    case "preparing":
    case "live":
    case "stopping":
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
