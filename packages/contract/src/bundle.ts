import type { MetadataChange, LeasedRun } from "./schemas/execution.ts";
import type { DeploymentManifest } from "./schemas/deployment.ts";
import type { EventSeverity, FailureKind, LogStream, WorkerEventKind } from "./runs.ts";

/**
 * Bundle format 1: what a task host and a bundle know of each other.
 *
 * A bundle is one ES module with an inline source map. Its export `keelson` is a `BundleModule`, made by the SDK
 * that the code was bundled with; the host is the worker's. Both sides may be of different versions, so this
 * interface only grows by optional members within one bundle format version.
 */
export type BundleModule = {
  formatVersion: 1;
  sdkVersion: string;
  /** What importing the bundle registered. */
  manifest(): DeploymentManifest;
  /** Runs one attempt. Never rejects: every ending is a result. */
  execute(input: ExecuteInput): Promise<ExecuteResult>;
};

export type ExecuteInput = {
  entrypoint: { kind: "task" | "actor"; declaredId: string };
  run: LeasedRun;
  secrets: Record<string, string>;
  /** Aborted when the run is cancelled or its max_duration is over; `reason` is an Error that says which. */
  signal: AbortSignal;
  host: RuntimeHost;
};

/** What the host does for a run. Each call returns at once; effects are delivered in order, before the run's end. */
export type RuntimeHost = {
  log(stream: LogStream, text: string): void;
  event(event: {
    kind: WorkerEventKind;
    severity?: EventSeverity;
    message: string;
    attributes?: Record<string, unknown>;
  }): void;
  metadata(changes: MetadataChange[]): void;
};

export type ExecuteResult =
  /** `output` is JSON text, null when the task returned undefined. */
  | { outcome: "succeeded"; output: string | null }
  | {
      outcome: "failed";
      failure: {
        kind: FailureKind;
        message: string;
        stack: string | null;
        retryable: boolean;
        retryAfterMs?: number;
      };
    }
  | { outcome: "cancelled" };
