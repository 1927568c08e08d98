import type { Workspace } from "@keelson/contract";
import type { RequestFacts } from "./materialization-reads.ts";

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
      message: `The sandbox needs the isolation ${requiredIsolation}, which no active worker can give. Install bubblewrap where the agent runs, or ask for less.`,
      details,
    };
  }
  return {
    kind: "worker_busy",
    message: "All workers that could take it are full. It is next when one has room.",
    details,
  };
}
