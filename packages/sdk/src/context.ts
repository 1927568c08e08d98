import type { Logger } from "./runtime/logger.ts";
import type { RunMetadata } from "./runtime/run-metadata.ts";

/** What a task's `run` is given beside its payload. */
export type RunContext = {
  run: {
    id: string;
    task: string | null;
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
  };
  /** `number` is 1 for the first attempt; `max` is how many there may be. */
  attempt: { number: number; max: number };
  /** Aborted when the run is cancelled or its `maxDuration` is over. Pass it to fetch, timers and child processes. */
  signal: AbortSignal;
  logger: Logger;
  metadata: RunMetadata;
};
