import { encodeId, type Workspace } from "@keelson/contract";
import type { WorkspaceRow } from "../workspaces/workspace-reads.ts";
import type { RequestFacts } from "./materialization-reads.ts";

/** Why a workspace goes on nowhere: its worker holds what it could not commit. `isHeard`: that worker was heard lately. */
export function uncommittedReason(
  { error, workerId }: Pick<WorkspaceRow, "error" | "workerId">,
  isHeard: boolean,
): Workspace["status_reason"] {
  const next = isHeard
    ? "It retries automatically. Recover the files to retry at once, or discard them to continue with the last version."
    : "The worker has not reported since. Start its agent again on the same data folder, or discard the files to continue with the last version.";
  return {
    kind: "uncommitted",
    message: `A worker holds files that it could not commit: ${error ?? "it gave no reason"} ${next}`,
    details: { worker_id: workerId === null ? null : encodeId("wkr", workerId), worker_heard: isHeard },
  };
}

/** Why nothing happens in a workspace: its worker cannot be heard, and nobody else can take it. */
export function silentReason({
  materializationStatus,
}: Pick<WorkspaceRow, "materializationStatus">): Workspace["status_reason"] {
  const files =
    materializationStatus === "preparing"
      ? "The workspace starts when that worker is back. If it is gone, start another agent."
      : "Its files and commands continue when that worker is back. If it is gone, start another agent: the workspace continues there with its last version.";
  return {
    kind: "no_worker",
    message: `The worker that has the workspace cannot be heard. ${files}`,
    details: null,
  };
}

/** Why a requested materialization has not been leased yet. */
export function requestReason(facts: RequestFacts): Workspace["status_reason"] {
  const { requiredIsolation, workers, withCapacity, isolating } = facts;
  const details = { required_isolation: requiredIsolation, workers, with_capacity: withCapacity, isolating };
  if (withCapacity === 0) {
    return {
      kind: "no_worker",
      message:
        workers === 0
          ? "No worker is active. Start an agent."
          : "The active workers take no workspaces. Start an agent with room for workspaces.",
      details,
    };
  }
  if (isolating === 0) {
    return {
      kind: "isolation",
      message: `The sandbox needs the isolation ${requiredIsolation}, which no active worker can give. \`keelson worker list\` shows why. Install bubblewrap where the agent runs, or ask for less.`,
      details,
    };
  }
  return {
    kind: "worker_busy",
    message: "All workers that could take it are full. It is next when one has room.",
    details,
  };
}
