import type { Uuid, WhileBusy } from "@keelson/contract";
import type { ResolvedRetry } from "./retry-policy.ts";
import type { RunLinks } from "./run.ts";

export const NO_LINKS: RunLinks = {
  sessionId: null,
  turn: null,
  workspaceId: null,
  scheduleId: null,
  parentRunId: null,
};

export const isLinked = (links: RunLinks): boolean => links !== NO_LINKS;

/** Whether somebody is to be told of its end: the run that called it, or its session. */
export const endIsAwaited = (links: RunLinks): boolean =>
  links.sessionId !== null || links.parentRunId !== null;

/**
 * A run about to be inserted, everything resolved: what the caller asked, what the declaration says, and which
 * deployment it belongs to. Times are milliseconds since the epoch; JSON is text.
 */
export type NewRun = {
  id: Uuid<"run">;
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  workerGroupId: Uuid<"wgrp">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  deploymentId: Uuid<"dep">;
  deploymentVersion: string;
  /** What a worker must meet to run it; null: any worker can. */
  requirement: string | null;
  /** The caller chose the version; otherwise the insert checks that it still is the current one. */
  pinned: boolean;
  payload: string | null;
  metadata: string | null;
  tags: string[];
  queue: string;
  concurrencyKey: string | null;
  priority: number;
  retry: ResolvedRetry;
  /** `retry` as it is stored. */
  retryText: string;
  maxDurationMs: number | null;
  startAt: number | null;
  expiresAt: number | null;
  /** What only some workers can give; null: any worker may run it. What the deployment declares of the entrypoint. */
  requiredIsolation: "namespace" | null;
  /** What input to its session does while it is live, as the deployment declares it. */
  whileBusy: WhileBusy;
  /** Its queue has a limit or it has a concurrency key: it needs a slot before a worker may take it. */
  limited: boolean;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
  createdAt: number;
  links: RunLinks;
  idempotency: { scope: string; key: string; digest: Buffer; expiresAt: number } | null;
};

/** Whether it has nothing that few runs have. */
export const isPlain = (run: NewRun): boolean =>
  !isLinked(run.links) &&
  run.metadata === null &&
  run.tags.length === 0 &&
  run.concurrencyKey === null &&
  run.startAt === null &&
  run.expiresAt === null &&
  run.requiredIsolation === null;

/** A lease given together with the insert to a worker whose long poll was waiting. */
export type BornLease = {
  leaseId: Uuid<"lease">;
  workerId: Uuid<"wkr">;
  leaseRequestId: string;
  expiresAt: number;
};

/** One that works in a workspace goes where that is, and one that is isolated where it can be: not to whoever waits. */
export const mayBeBornLeased = (run: NewRun): boolean =>
  isReadyAtBirth(run) && run.links.workspaceId === null && run.requiredIsolation === null;

export const isReadyAtBirth = (run: NewRun): boolean =>
  !run.limited && (run.startAt === null || run.startAt <= run.createdAt);

/** Whether they differ only in what nearly every run has of its own, or few runs have at all. */
export const isAlike = (a: NewRun, b: NewRun): boolean =>
  a.environmentId === b.environmentId &&
  a.entrypointKind === b.entrypointKind &&
  a.entrypoint === b.entrypoint &&
  a.deploymentId === b.deploymentId &&
  a.deploymentVersion === b.deploymentVersion &&
  a.pinned === b.pinned &&
  a.queue === b.queue &&
  a.priority === b.priority &&
  a.retryText === b.retryText &&
  a.maxDurationMs === b.maxDurationMs &&
  a.limited === b.limited &&
  isReadyAtBirth(a) === isReadyAtBirth(b) &&
  a.clientVersion === b.clientVersion &&
  a.cliVersion === b.cliVersion &&
  a.sdkVersion === b.sdkVersion;
