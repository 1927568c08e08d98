import type { WorkerStatus, Uuid } from "@keelson/contract";

/**
 * How much a group of workers has to do, and how much it can hold.
 *
 * What is queued here could run at once if there were a slot: runs that wait for their time, for others of their queue or for
 * an event want no worker. Free slots are those of workers that get work and were heard lately.
 */
export type Slots = { executions: number; workspaces: number };

export type GroupLoad = {
  id: Uuid<"wgrp">;
  name: string;
  /** At most `QUEUED_MAXIMUM`. */
  queued: number;
  running: number;
  /** When the longest-queued run became ready; null when none is. */
  oldestQueuedAt: number | null;
  workspacesRequested: number;
  workspacesLive: number;
  deploymentsPending: number;
  workers: Record<WorkerStatus, number>;
  /** Of workers that get work. */
  slots: Slots;
  /** Of those, what is taken. */
  taken: Slots;
  /** What one worker of the group holds: those that get work, else the newest that there were. */
  size: Slots;
};

/** A backlog is counted up to here: more workers than that are not asked for at once. */
export const QUEUED_MAXIMUM = 100_000;

export const freeSlots = ({ slots, taken }: Pick<GroupLoad, "slots" | "taken">): Slots => ({
  executions: Math.max(0, slots.executions - taken.executions),
  workspaces: Math.max(0, slots.workspaces - taken.workspaces),
});

/** A worker of a group that never had one is taken to hold this much. */
const UNKNOWN_SIZE = 1;

/**
 * How many workers hold what is queued and running, if they are as large as those of the group were. It says nothing of
 * bounds and of how fast to change: that is for whoever scales to say.
 */
export function recommendWorkers(load: GroupLoad): number {
  const need = (demand: number, size: number): number => Math.ceil(demand / Math.max(UNKNOWN_SIZE, size));
  return Math.max(
    need(load.queued + load.running, load.size.executions),
    need(load.workspacesRequested + load.workspacesLive, load.size.workspaces),
    // A deployment becomes ready when a worker has booted it.
    load.deploymentsPending > 0 ? 1 : 0,
  );
}
