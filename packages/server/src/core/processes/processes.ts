import type { ExecStatus, OnLost, PtyStatus } from "@keelson/contract";

/**
 * The life of a process in a workspace: an exec or a PTY.
 *
 * It waits until its workspace is live, and runs there. It ends by itself, because it is told to, or with its machine: then
 * it is lost, which is never taken for an end of its own. One that was asked for with `on_lost: rerun` is not lost then, but
 * waits to be started again. What has ended never changes again.
 */
export type ProcessKind = "exec" | "pty";
export type ProcessStatus = ExecStatus | PtyStatus;

export const EXEC_EDGES = [
  { from: "pending", on: "started by the worker", to: "running" },
  { from: "pending", on: "ended before it began", to: "cancelled" },
  { from: "pending", on: "cannot be started, or its workspace cannot be live", to: "failed" },
  { from: "pending", on: "the worker does not know the outcome", to: "lost" },
  { from: "running", on: "exits, or is ended by a signal", to: "exited" },
  { from: "running", on: "cannot be started", to: "failed" },
  { from: "running", on: "ended with its workspace, or given up by its run", to: "cancelled" },
  { from: "running", on: "the machine is lost", to: "lost" },
  { from: "running", on: "the machine is lost, and on_lost is rerun", to: "pending" },
] as const satisfies readonly { from: ExecStatus; on: string; to: ExecStatus }[];

export const PTY_EDGES = [
  { from: "pending", on: "started by the worker", to: "running" },
  { from: "pending", on: "closed before it began", to: "closed" },
  { from: "pending", on: "cannot be started, or its workspace cannot be live", to: "lost" },
  { from: "running", on: "its program exits", to: "exited" },
  { from: "running", on: "close, its workspace stops, or the machine is lost after its close", to: "closed" },
  { from: "running", on: "the machine is lost", to: "lost" },
] as const satisfies readonly { from: PtyStatus; on: string; to: PtyStatus }[];

export const isOver = (status: ProcessStatus): boolean => status !== "pending" && status !== "running";

/** What a caller may send to a process besides input. */
export type NewControl =
  | { kind: "signal"; signal: string }
  | { kind: "resize"; cols: number; rows: number }
  | { kind: "close" };

/** What a worker says of the end. */
export type ProcessOutcome = "exited" | "failed" | "cancelled" | "closed" | "lost";

export type ProcessDecision =
  | { kind: "none" }
  | { kind: "move"; to: ProcessStatus }
  | { kind: "refuse"; message: string };

const NONE: ProcessDecision = { kind: "none" };

/** Who loses its machine so often may be what takes it down. */
export const MAX_RERUNS = 5;

/** Whether a command may be started again. One that was sent a signal may not: somebody wanted to change its course. */
export const mayRerun = (process: { onLost: OnLost; reruns: number; controlSequence: number }): boolean =>
  process.onLost === "rerun" && process.reruns < MAX_RERUNS && process.controlSequence === 0;

/** Its worker has started it. */
export function decideStarted(status: ProcessStatus): ProcessDecision {
  switch (status) {
    case "pending":
      return { kind: "move", to: "running" };
    case "running":
      return NONE;
    case "exited":
    case "failed":
    case "cancelled":
    case "closed":
    case "lost":
      return { kind: "refuse", message: `The process is ${status}; end it.` };
  }
}

/** How a process that is lost goes on: `rerun` again, `close` as somebody wanted it to end, null not at all. */
export type AfterLoss = "rerun" | "close" | null;

export const afterLoss = (process: Parameters<typeof mayRerun>[0] & { closing: boolean }): AfterLoss =>
  process.closing ? "close" : mayRerun(process) ? "rerun" : null;

/** Its worker says that it has ended. What has ended keeps its end, so that a repeat changes nothing. */
export function decideEnded(
  kind: ProcessKind,
  status: ProcessStatus,
  outcome: ProcessOutcome,
  after: AfterLoss,
): ProcessDecision {
  if (isOver(status)) return NONE;
  if (outcome === "lost" && after !== null) return decideLoss(after);
  const to = kind === "exec" ? execEnd(outcome) : ptyEnd(outcome);
  // It cannot have run to an end that nobody saw begin.
  return status === "pending" && to === "exited"
    ? { kind: "refuse", message: "The process has not been started; answer started first." }
    : { kind: "move", to };
}

const decideLoss = (after: "rerun" | "close"): ProcessDecision => ({
  kind: "move",
  to: after === "rerun" ? "pending" : "closed",
});

function execEnd(outcome: ProcessOutcome): ExecStatus {
  return outcome === "closed" ? "cancelled" : outcome;
}

function ptyEnd(outcome: ProcessOutcome): PtyStatus {
  switch (outcome) {
    case "exited":
    case "closed":
    case "lost":
      return outcome;
    case "cancelled":
      return "closed";
    case "failed":
      return "lost";
  }
}

/** Somebody wants it ended before its workspace was live: it never begins. */
export function decideCancel(kind: ProcessKind, status: ProcessStatus): ProcessDecision {
  return status === "pending" ? { kind: "move", to: kind === "exec" ? "cancelled" : "closed" } : NONE;
}

/** Its materialization has ended. `failed`: the workspace could not be live, or its machine is lost. */
export function decideReleased(
  kind: ProcessKind,
  status: ProcessStatus,
  ending: "stopped" | "failed" | "deleted",
  after: AfterLoss,
): ProcessDecision {
  if (status === "running" && ending === "failed" && after !== null) return decideLoss(after);
  if (status === "running") return { kind: "move", to: ending === "failed" ? "lost" : endByStop(kind) };
  if (status !== "pending") return NONE;
  switch (ending) {
    // It waits for the next one.
    case "stopped":
      return NONE;
    case "failed":
      return { kind: "move", to: kind === "exec" ? "failed" : "lost" };
    case "deleted":
      return decideCancel(kind, status);
  }
}

/** A worker that lets go has ended what ran. */
const endByStop = (kind: ProcessKind): ProcessStatus => (kind === "exec" ? "cancelled" : "closed");
