import type { MaterializationStatus, WorkspaceStatus } from "@keelson/contract";

/**
 * The life of a workspace.
 *
 * A workspace is a tree of files that outlives what runs in it. It is active until its deletion; one that is live on a
 * machine is deleting until that machine has let go of it, then deleted: its versions are gone, and the bytes that
 * nothing else needs go with the next collection. One that was made for a run, and that nobody made theirs, is deleted
 * when nobody has used it for long.
 */
export const WORKSPACE_EDGES = [
  { from: "active", on: "delete, or unused for long after its run, while on no machine", to: "deleted" },
  { from: "active", on: "delete, while on a machine", to: "deleting" },
  { from: "deleting", on: "its machine has let go", to: "deleted" },
] as const satisfies readonly { from: WorkspaceStatus; on: string; to: WorkspaceStatus }[];

export type WorkspaceDecision =
  | { kind: "none" }
  | { kind: "move"; to: WorkspaceStatus }
  | { kind: "refuse"; message: string };

/** Somebody wants it gone. `isHeld`: a worker has it, or is to get it. */
export function decideDelete(status: WorkspaceStatus, isHeld: boolean): WorkspaceDecision {
  switch (status) {
    case "active":
      return { kind: "move", to: isHeld ? "deleting" : "deleted" };
    case "deleting":
    case "deleted":
      return { kind: "none" };
  }
}

/** No machine has it any more. */
export function decideReleased(status: WorkspaceStatus): WorkspaceDecision {
  switch (status) {
    case "deleting":
      return { kind: "move", to: "deleted" };
    case "active":
    case "deleted":
      return { kind: "none" };
  }
}

/** Its files are to be changed, or it is to be put on a machine. */
export function decideUse(status: WorkspaceStatus): WorkspaceDecision {
  switch (status) {
    case "active":
      return { kind: "none" };
    case "deleting":
    case "deleted":
      return { kind: "refuse", message: "The workspace has been deleted; create another one." };
  }
}

/** Whether the files are a worker's to change: nobody else may commit then. */
export const isHeld = (materialization: MaterializationStatus | null): boolean =>
  materialization !== null && materialization !== "stopped" && materialization !== "failed";
