import {
  encodeId,
  type Isolation,
  type LiveRunStatus,
  type MaterializationStatus,
  type StatusReason,
  type Uuid,
} from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { canIsolate } from "../workers/isolation-reads.ts";
import { unableMessage } from "../workers/requirement-reads.ts";
import { LOST_AFTER_MS } from "../workers/worker.ts";

/** What decides why a live run is not running. */
export type StatusFacts = {
  status: LiveRunStatus;
  /** Its worker has not renewed the lease in time, and nobody else can take the run: when that worker was heard last. */
  silentSince: number | null;
  availableAt: number | null;
  ready: boolean;
  limited: boolean;
  admitted: boolean;
  recovering: boolean;
  setbacks: number;
  queue: string;
  concurrencyKey: string | null;
  workerGroup: string;
  activeWorkers: number;
  /** Of those, the ones that take runs at all. */
  runWorkers: number;
  /** Of those, the ones that can run the run's deployment. */
  ableWorkers: number;
  /** What a worker must meet for that; null: any worker can. */
  requirement: string | null;
  keyLimit: number;
  heldByKey: number;
  queueLimit: number | null;
  workspaceId: Uuid<"ws"> | null;
  /** Of the active workers, those that take workspaces. */
  workspaceWorkers: number;
  /** Of those, the ones whose machine can give the workspace's sandbox the isolation that it needs. */
  isolatingWorkers: number;
  requiredIsolation: Isolation | null;
  /** Where the run's workspace is, or is being put; null while it is on no machine. */
  workspaceStatus: MaterializationStatus | null;
  workspaceWorkerId: Uuid<"wkr"> | null;
  /** What the run's task needs of its worker; null: what every worker has. */
  taskIsolation: Isolation | null;
  /** Of the workers that take runs, those that can give it. */
  taskIsolatingWorkers: number;
  /** The worker that has the workspace can give it. */
  workspaceWorkerIsolates: boolean;
};

/** A condition on a worker `k` and a run `e`: the worker can give what the run's task needs. */
const CAN_RUN = canIsolate(sql`k.task_isolation`, sql`coalesce(e.required_isolation, 'process')`);

/** Facts for one live run; null when it is not live. */
export async function findStatusFacts(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
  now: number,
): Promise<StatusFacts | null> {
  const [facts] = await listStatusFacts(db, environmentId, [runId], now);
  return facts ?? null;
}

/** Facts for those of the runs that are live. */
export function listStatusFacts(
  db: Queryable,
  environmentId: Uuid<"env">,
  runIds: readonly Uuid<"run">[],
  now: number,
): Promise<(StatusFacts & { runId: Uuid<"run"> })[]> {
  return db.query(sql`
    SELECT e.run_id, e.status, (SELECT h.last_seen_at FROM workers h
        WHERE h.id = e.worker_id AND e.lease_expires_at <= ${timestamp(now)}) AS silent_since, e.available_at, e.ready, e.limited, e.admitted, e.recovering, e.setbacks, e.queue,
      e.concurrency_key, g.name AS worker_group,
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}) AS active_workers,
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.capacity_executions > 0
        AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}) AS run_workers,
      (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
        AND w.capacity_executions > 0 AND (d.requirement IS NULL OR d.requirement = ANY(w.meets))
        AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}) AS able_workers, d.requirement,
      coalesce(q.concurrency_key_limit, 1) AS key_limit, q.concurrency_limit AS queue_limit,
      CASE WHEN e.limited AND e.concurrency_key IS NOT NULL THEN
        (SELECT count(*) FROM executions o WHERE o.environment_id = e.environment_id AND o.queue = e.queue
          AND o.concurrency_key = e.concurrency_key AND o.limited AND o.admitted)
      ELSE 0 END AS held_by_key,
      e.workspace_id, CASE WHEN e.workspace_id IS NULL THEN 0 ELSE
        (SELECT count(*) FROM workers w WHERE w.worker_group_id = e.worker_group_id AND w.status = 'active'
          AND w.capacity_workspaces > 0 AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)})
      END AS workspace_workers, CASE WHEN e.workspace_id IS NULL THEN 0 ELSE
        (SELECT count(*) FROM workers k WHERE k.worker_group_id = e.worker_group_id AND k.status = 'active'
          AND k.capacity_workspaces > 0 AND k.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}
          AND ${CAN_RUN}
          AND (s.status IS DISTINCT FROM 'active' OR ${canIsolate(sql`k.isolation`, sql`s.sandbox_spec::json ->> 'isolation'`)}))
      END AS isolating_workers, s.sandbox_spec::json ->> 'isolation' AS required_isolation, m.status AS workspace_status, m.worker_id AS workspace_worker_id,
      e.required_isolation AS task_isolation, CASE WHEN e.required_isolation IS NULL THEN 0 ELSE
        (SELECT count(*) FROM workers k WHERE k.worker_group_id = e.worker_group_id AND k.status = 'active'
          AND k.capacity_executions > 0 AND k.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)} AND ${CAN_RUN})
      END AS task_isolating_workers, e.required_isolation IS NULL OR coalesce(
        (SELECT ${CAN_RUN} FROM workers k WHERE k.id = m.worker_id), false) AS workspace_worker_isolates
    FROM executions e
    LEFT JOIN workspaces s ON s.environment_id = e.environment_id AND s.id = e.workspace_id
    LEFT JOIN materializations m ON m.environment_id = e.environment_id AND m.workspace_id = e.workspace_id
      AND m.status IN ('requested', 'preparing', 'live', 'stopping', 'uncommitted')
    JOIN worker_groups g ON g.id = e.worker_group_id
    JOIN runs r ON r.environment_id = e.environment_id AND r.id = e.run_id
    JOIN deployments d ON d.environment_id = r.environment_id AND d.id = r.deployment_id
    LEFT JOIN queues q ON q.environment_id = e.environment_id AND q.name = e.queue
    WHERE e.environment_id = ${environmentId} AND e.run_id = ANY(${runIds}::uuid[])`);
}

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
  if (!facts.ready && facts.concurrencyKey !== null && facts.heldByKey >= facts.keyLimit) {
    return {
      kind: "concurrency_key",
      message: "Other runs with this concurrency_key hold all of its slots.",
      details: { concurrency_key: facts.concurrencyKey, limit: facts.keyLimit, held: facts.heldByKey },
    };
  }
  if (!facts.ready) {
    return {
      kind: "queue_limit",
      message: "The queue's concurrency limit is reached.",
      details: { queue: facts.queue, limit: facts.queueLimit },
    };
  }
  if (facts.activeWorkers === 0) {
    return {
      kind: "no_worker",
      message: `No active worker in group ${facts.workerGroup}; start one with \`keelson agent\`.`,
      details: { worker_group: facts.workerGroup },
    };
  }
  if (facts.runWorkers === 0) {
    return {
      kind: "no_worker",
      message: `The active workers of group ${facts.workerGroup} take no runs. Start an agent with a capacity for runs.`,
      details: { worker_group: facts.workerGroup },
    };
  }
  if (facts.ableWorkers === 0 && facts.requirement !== null) {
    return {
      kind: "no_worker",
      message: `${unableMessage(facts.requirement, facts.runWorkers)} Start an agent on such a machine, or deploy from a machine like the workers'.`,
      details: { worker_group: facts.workerGroup, requirement: facts.requirement },
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
