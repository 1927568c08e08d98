import type { Client } from "./client/client.ts";
import type { DurableCalls } from "./durable.ts";
import type { Logger } from "./runtime/logger.ts";
import type { RunMetadata } from "./runtime/run-metadata.ts";
import type { RunUsage } from "./runtime/run-usage.ts";
import type { RunSession } from "./session.ts";
import type { RunWorkspace } from "./workspace.ts";

/** What the contexts of a task's and of an actor's run have in common: the second argument of `run`. */
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
    /** How often the run has continued by `continueAs()`. */
    continuations: number;
  };
  /** `number` is 1 for the first attempt, also after each `continueAs()`; `max` is how many there may be. */
  attempt: { number: number; max: number };
  /** Aborted when the run is cancelled or its `maxDuration` is over. Pass it to fetch, timers and child processes. */
  signal: AbortSignal;
  /** Values of the secrets that the task or actor declares, by name. They stay the same for the whole attempt. */
  secrets: Readonly<Record<string, string>>;
  /** Says nothing while the code is replayed: it has said it before. */
  logger: Logger;
  /**
   * Calls the server as this run: in its environment, and with the permissions that its task or actor declares. It works
   * until the run ends, is suspended, or loses its worker. Outside of steps, a replay repeats its calls.
   */
  readonly client: Client;
  /** Outside of steps, a replay does not repeat changes. */
  metadata: RunMetadata;
  /** What the run's calls of models used. */
  usage: RunUsage;
  /** Null for a run that belongs to no session. */
  session: RunSession | null;
  /**
   * The workspace that the run was started in, or that was created from its task's `sandbox`. Throws an Error for a run
   * without a workspace, whose `run.workspaceId` is null.
   */
  readonly workspace: RunWorkspace;
};
