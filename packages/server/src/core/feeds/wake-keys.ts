import type { Uuid } from "@keelson/contract";

/** Of what one worker alone waits for. */
export const WORKER_PREFIX = "w:";

/** Keys of what can be waited for. */
export const wakeKeys = {
  run: (runId: Uuid<"run">): string => `r:${runId}`,
  /** Records of a stream, and the end of its session. */
  stream: (streamId: Uuid<"strm">): string => `s:${streamId}`,
  deployment: (deploymentId: Uuid<"dep">): string => `d:${deploymentId}`,
  /** An answer to the token's question did not fit: whoever asked asks again. */
  question: (tokenId: Uuid<"tok">): string => `q:${tokenId}`,
  /** A workspace, its materialization or its current version changed. */
  workspace: (workspaceId: Uuid<"ws">): string => `ws:${workspaceId}`,
  /** Work for the workers of a group: ready executions or deployments to check. */
  work: (workerGroupId: Uuid<"wgrp">): string => `g:${workerGroupId}`,
  /** A process of a workspace: its output or its state. */
  process: (processId: Uuid<"exec" | "pty">): string => `p:${processId}`,
  /** Workspaces that workers of a group may put on their machines. */
  workspaceWork: (workerGroupId: Uuid<"wgrp">): string => `gw:${workerGroupId}`,
  /** Something for what a worker has of workspaces: a stop, a process, input. It has a poll of its own. */
  workerWorkspaces: (workerId: Uuid<"wkr">): string => `${WORKER_PREFIX}ws:${workerId}`,
  /** Ends that somebody is to be told of. */
  endings: "endings",
  /** Failed runs are to be counted. */
  errors: "errors",
  /** A wait was created that is due soon. */
  timers: "timers",
  /** A bulk action was created. */
  bulkActions: "bulk-actions",
  /** Another server should hear at once what this one has counted. Of this server alone. */
  rates: "rates",
  /** The same of open event streams. */
  eventStreams: "event-streams",
  /** Something for one worker: a cancellation, or a wait that has settled. */
  worker: (workerId: Uuid<"wkr">): string => WORKER_PREFIX + workerId,
};

/** What any server may do: one that is woken is enough. */
const OF_THIS_SERVER = new Set<string>([
  wakeKeys.endings,
  wakeKeys.errors,
  wakeKeys.timers,
  wakeKeys.bulkActions,
  wakeKeys.rates,
  wakeKeys.eventStreams,
]);

/** Whether other servers are not told that the key was woken. */
export const isOfThisServer = (key: string): boolean => OF_THIS_SERVER.has(key);
