import type { Release } from "../executions/decide-release.ts";

/** How an attempt ended here: as its release says, or without one, because the lease was lost. */
export type AttemptOutcome = Release["outcome"] | "lost";

export const ATTEMPT_OUTCOMES = [
  "succeeded",
  "failed",
  "cancelled",
  "rejected",
  "suspended",
  "continued",
  "lost",
] as const satisfies readonly AttemptOutcome[];

/** What an agent has counted since its start: plain numbers, to which its parts add. */
export type AgentCounts = {
  attemptsEnded: Record<AttemptOutcome, number>;
  leasePolls: { answered: number; failed: number };
  commitsFailed: number;
};

export const createAgentCounts = (): AgentCounts => ({
  attemptsEnded: { succeeded: 0, failed: 0, cancelled: 0, rejected: 0, suspended: 0, continued: 0, lost: 0 },
  leasePolls: { answered: 0, failed: 0 },
  commitsFailed: 0,
});

/** What an agent has just now. */
export type AgentNumbers = {
  runs: number;
  /** Of those, the ones that only wait. */
  parked: number;
  capacity: number;
  taskHosts: { booting: number; idle: number; busy: number };
  /** Operations of runs that the server has not confirmed. */
  reportsPending: number;
  workspaces: number;
  draining: boolean;
};
