import type { DurableCalls } from "./durable.ts";
import type { Logger } from "./runtime/logger.ts";
import type { RunMetadata } from "./runtime/run-metadata.ts";
import type { RunSession } from "./session.ts";
import type { RunWorkspace } from "./workspace.ts";

/** What the `run` of a task or actor is given beside its payload or session. */
export type RunContext = DurableCalls & {
  /** The run and its attempt. */
  run: {
    id: string;
    /** The task or the actor; the other is null. */
    task: string | null;
    actor: string | null;
    queue: string;
    tags: readonly string[];
    /** The metadata the attempt began with; `ctx.metadata` has it as it is now. */
    metadata: Readonly<Record<string, unknown>>;
    createdAt: Date;
    projectId: string;
    environmentId: string;
    deploymentId: string;
    deploymentVersion: string;
    parentRunId: string | null;
    scheduleId: string | null;
    /** Null for a run that works in no workspace. */
    workspaceId: string | null;
  };
  /** `number` is 1 for the first attempt; `max` is how many there may be. */
  attempt: { number: number; max: number };
  /** Aborted when the run is cancelled or its `maxDuration` is over. Pass it to fetch, timers and child processes. */
  signal: AbortSignal;
  /** Values of the secrets that the task or actor declares, by name. They stay the same for the whole attempt. */
  secrets: Readonly<Record<string, string>>;
  /** Says nothing while the code is replayed: it has said it before. */
  logger: Logger;
  /** Outside of steps, changes are made when the code comes there for the first time, and not again. */
  metadata: RunMetadata;
  /** Null for a run that belongs to no session. */
  session: RunSession | null;
  /**
   * The workspace that the run was started in, or that its task's `sandbox` made for it. Throws an Error for a run that
   * has none; `run.workspaceId` is null then.
   */
  readonly workspace: RunWorkspace;
};
