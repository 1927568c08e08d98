import type { WorkerStatus } from "@keelson/contract";

/**
 * The life of a worker.
 *
 * A worker enrolls, registers what it can hold, and is active: it gets work. Draining, it gets no more and finishes or hands
 * back what it has; then it is drained and may end. Registering begins anew, after a restart or a drain. `lost` is not a
 * state but how a silent worker looks: a suspicion that makes no write invalid and is over when it is heard again.
 */
export type StoredWorkerStatus = Exclude<WorkerStatus, "lost">;

export const WORKER_EDGES = [
  { from: "registered", on: "activate", to: "active" },
  { from: "registered", on: "drain", to: "draining" },
  { from: "active", on: "drain", to: "draining" },
  { from: "draining", on: "holds no lease", to: "drained" },
  { from: "active", on: "register", to: "registered" },
  { from: "draining", on: "register", to: "registered" },
  { from: "drained", on: "register", to: "registered" },
] as const satisfies readonly { from: StoredWorkerStatus; on: string; to: StoredWorkerStatus }[];

/** Silence after which a worker looks lost. */
export const LOST_AFTER_MS = 15_000;

/** A lease of a run or a workspace lasts no longer than this after it was granted or renewed. */
export const MAX_LEASE_MS = 300_000;

/** A worker that was not heard for this long is dropped, drained or not; its process enrolls again. */
export const WORKER_KEPT_MS = 30 * 86_400_000;

export type WorkerDecision =
  | { kind: "none" }
  | { kind: "move"; to: StoredWorkerStatus }
  | { kind: "refuse"; message: string };

/** A worker process begins: with its first contact, or again. */
export function decideRegister(status: StoredWorkerStatus): WorkerDecision {
  switch (status) {
    case "registered":
      return { kind: "none" };
    case "active":
    case "draining":
    case "drained":
      return { kind: "move", to: "registered" };
  }
}

/** The worker is ready for work. */
export function decideActivate(status: StoredWorkerStatus): WorkerDecision {
  switch (status) {
    case "registered":
      return { kind: "move", to: "active" };
    case "active":
      return { kind: "none" };
    case "draining":
    case "drained":
      return { kind: "refuse", message: `The worker is ${status}; call register first to begin again.` };
  }
}

/** The worker is to get no more work. */
export function decideDrain(status: StoredWorkerStatus): WorkerDecision {
  switch (status) {
    case "registered":
    case "active":
      return { kind: "move", to: "draining" };
    case "draining":
    case "drained":
      return { kind: "none" };
  }
}

/** A draining worker is drained once it holds nothing. */
export function decideDrained(status: StoredWorkerStatus, leases: number): WorkerDecision {
  switch (status) {
    case "draining":
      return leases === 0 ? { kind: "move", to: "drained" } : { kind: "none" };
    case "registered":
    case "active":
    case "drained":
      return { kind: "none" };
  }
}

/** How the worker looks now. One that is drained is expected to be silent. */
export function workerStatus(
  worker: { status: StoredWorkerStatus; lastSeenAt: number },
  now: number,
): WorkerStatus {
  switch (worker.status) {
    case "drained":
      return "drained";
    case "registered":
    case "active":
    case "draining":
      return now - worker.lastSeenAt > LOST_AFTER_MS ? "lost" : worker.status;
  }
}
