import { encodeId, type StatusReason, type Uuid } from "@keelson/contract";
import { unableMessage } from "../workers/requirement-reads.ts";
import type { StatusFacts } from "./status-reads.ts";

/** Some of the runs that hold the slots. */
const heldBy = (runs: readonly Uuid<"run">[]): object => ({ held_by: runs.map((id) => encodeId("run", id)) });
const iso = (ms: number): string => new Date(ms).toISOString();

/** Why a live run is not running, in words that say what to look at; null while a worker has it that is heard. */
export function statusReason(facts: StatusFacts): StatusReason | null {
  switch (facts.status) {
    case "running":
      return silentReason(facts);
    case "cancel_requested":
      return null;
    case "waiting":
      return { kind: "waiting", message: "The run is waiting. See pending_wait.", details: null };
    case "retry_delayed":
      return {
        kind: "retry_delay",
        message: "The last attempt failed; the next one is due at available_at.",
        details: { available_at: facts.availableAt === null ? null : iso(facts.availableAt) },
      };
    case "queued":
      return queuedReason(facts);
  }
}

/** Its worker may be gone, or the run may go on there unheard. */
function silentReason({ silentSince, workerGroup }: StatusFacts): StatusReason | null {
  if (silentSince === null) return null;
  return {
    kind: "lease_recovery",
    message: `The worker that has the run was heard last at ${iso(silentSince)}. The run goes on when that worker is back. If it is gone, start an agent in group ${workerGroup}: it takes the run.`,
    details: null,
  };
}

/** What of its workspace a run waits for; null when it waits for a worker's slot as any other. */
function workspaceReason(facts: StatusFacts, workspaceId: Uuid<"ws">): StatusReason | null {
  const { workspaceStatus, workspaceWorkerId, workspaceWorkers, isolatingWorkers, requiredIsolation } = facts;
  const details = {
    workspace_id: encodeId("ws", workspaceId),
    workspace_status: workspaceStatus,
    worker_id: workspaceWorkerId === null ? null : encodeId("wkr", workspaceWorkerId),
  };
  if (workspaceStatus === "stopping") {
    return {
      kind: "worker_busy",
      message: "The workspace is being stopped; the run begins once it is free.",
      details,
    };
  }
  if (workspaceStatus === "uncommitted") {
    return {
      kind: "worker_busy",
      message:
        "A worker holds files of the run's workspace that it could not commit. Recover or discard them, and the run begins.",
      details,
    };
  }
  if ((workspaceStatus === "preparing" || workspaceStatus === "live") && !facts.workspaceWorkerIsolates) {
    return {
      kind: "worker_busy",
      message: `The workspace is live on a worker that runs no tasks with the isolation ${facts.taskIsolation}. The run begins on another worker once the workspace is stopped.`,
      details: { ...details, required_isolation: facts.taskIsolation },
    };
  }
  if (workspaceStatus === "preparing" || workspaceStatus === "live") {
    return {
      kind: "worker_busy",
      message: "The workspace is live on a worker, and the run begins there when that has a free slot.",
      details,
    };
  }
  if (workspaceWorkers > 0 && isolatingWorkers > 0) return null;
  if (workspaceWorkers > 0 && facts.taskIsolation !== null) {
    return {
      kind: "no_worker",
      message: `No active worker of group ${facts.workerGroup} both runs tasks with the isolation ${facts.taskIsolation} and can take the run's workspace. \`keelson worker list\` shows what each worker has.`,
      details: { ...details, required_isolation: facts.taskIsolation },
    };
  }
  if (workspaceWorkers > 0) {
    return {
      kind: "no_worker",
      message: `The sandbox needs the isolation ${requiredIsolation}, which no active worker of group ${facts.workerGroup} can give. \`keelson worker list\` shows why. Install bubblewrap where an agent runs, or declare the sandbox with less isolation.`,
      details: { ...details, required_isolation: requiredIsolation },
    };
  }
  return {
    kind: "no_worker",
    message: "The active workers take no workspaces. Start an agent with room for workspaces.",
    details,
  };
}

/** What the run's task needs, when no worker has it. */
function isolationReason({
  taskIsolation,
  taskIsolatingWorkers,
  workerGroup,
}: StatusFacts): StatusReason | null {
  if (taskIsolation === null || taskIsolatingWorkers > 0) return null;
  return {
    kind: "no_worker",
    message: `The task needs the isolation ${taskIsolation}, which no active worker of group ${workerGroup} can give. \`keelson worker list\` shows why. Install bubblewrap where an agent runs, or declare the task with less isolation.`,
    details: { worker_group: workerGroup, required_isolation: taskIsolation },
  };
}

/** Every worker that may have the run is full. */
function slotsReason({ activeWorkers, taskIsolation, taskIsolatingWorkers }: StatusFacts): StatusReason {
  const details = { active_workers: activeWorkers };
  if (taskIsolation === null)
    return { kind: "worker_busy", message: "All workers' slots are in use.", details };
  return {
    kind: "worker_busy",
    message: `All slots are in use on the workers that can give the isolation ${taskIsolation}.`,
    details: { ...details, isolating_workers: taskIsolatingWorkers },
  };
}

/** Its concurrency key, or its queue, has no free slot. */
function heldReason(facts: StatusFacts): StatusReason {
  if (facts.concurrencyKey !== null && facts.heldByKey >= facts.keyLimit) {
    return {
      kind: "concurrency_key",
      message: "Other runs with this concurrency_key hold all of its slots.",
      details: {
        concurrency_key: facts.concurrencyKey,
        limit: facts.keyLimit,
        held: facts.heldByKey,
        ...heldBy(facts.keyHolders),
      },
    };
  }
  return {
    kind: "queue_limit",
    message: "The queue's concurrency limit is reached.",
    details: { queue: facts.queue, limit: facts.queueLimit, ...heldBy(facts.queueHolders) },
  };
}

function queuedReason(facts: StatusFacts): StatusReason {
  if (facts.availableAt !== null && facts.recovering) {
    return {
      kind: "lease_recovery",
      message: `Workers could not begin the run ${facts.setbacks} times in a row; they try again at available_at. The run's lease.lost events say why.`,
      details: { available_at: iso(facts.availableAt), tries: facts.setbacks },
    };
  }
  if (facts.availableAt !== null) {
    return {
      kind: "delayed",
      message: "The run was asked to start later.",
      details: { available_at: iso(facts.availableAt) },
    };
  }
  if (!facts.ready) return heldReason(facts);
  const group = { worker_group: facts.workerGroup };
  if (facts.activeWorkers === 0) {
    return {
      kind: "no_worker",
      message: `No active worker in group ${facts.workerGroup}; start one with \`keelson agent\`.`,
      details: group,
    };
  }
  if (facts.runWorkers === 0) {
    return {
      kind: "no_worker",
      message: `The active workers of group ${facts.workerGroup} take no runs. Start an agent with a capacity for runs.`,
      details: group,
    };
  }
  if (facts.ableWorkers === 0 && facts.requirement !== null) {
    return {
      kind: "no_worker",
      message: `${unableMessage(facts.requirement, facts.runWorkers)} Start an agent on such a machine, or deploy from a machine like the workers'.`,
      details: { ...group, requirement: facts.requirement },
    };
  }
  const noWorker = isolationReason(facts);
  if (noWorker !== null) return noWorker;
  if (facts.recovering) {
    return {
      kind: "lease_recovery",
      message: "The worker that had the run was lost; another will take it.",
      details: null,
    };
  }
  if (facts.workspaceId !== null) {
    const reason = workspaceReason(facts, facts.workspaceId);
    if (reason !== null) return reason;
  }
  return slotsReason(facts);
}
