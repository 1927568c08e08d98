import type { EffectResult, JournalEntry, LeasedSession, WaitsResult, WaitState } from "./schemas/durable.ts";
import type { MetadataChange, LeasedRun, Operation } from "./schemas/execution.ts";
import type { ExecResult } from "./schemas/process.ts";
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
  /** Outcomes of durable calls of earlier executions of this run, in the order in which its code saw them. */
  journal: JournalEntry[];
  /** Waits that the journal does not have. */
  waits: WaitState[];
  session: LeasedSession | null;
  /** The run's workspace, which is live on this machine, and the folder that has its files. */
  workspace?: { id: string; path: string } | null;
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
  /**
   * Resolves when the server has the operation's effect durably, in the order of the calls. A refusal that the code can
   * handle is the `error` of the result. Rejects when the server did not take the call, with its code and message as a
   * `CallRefusal`: nothing of it has happened and the run cannot go on. Never settles when the execution is over for this
   * worker.
   */
  call<C extends DurableCall>(call: C): Promise<DurableResult<C>>;
  /** The listener is called with waits that have settled, possibly more than once with the same. One listener. */
  onSettled(listener: (waits: WaitState[]) => void): void;
  /** Resolves with how a command of the run ended, once it has, and never when the workspace is lost with it. */
  execResult?(execId: string): Promise<ExecResult>;
  /**
   * The listener is asked whether the run can end its process now: true when it only waits. Then `execute` resolves as
   * `suspended`. One listener.
   */
  onSuspend(listener: () => boolean): void;
};

/** What a call rejects with. */
export type CallRefusal = Error & { code: string };

type CallFields<K extends Operation["kind"]> = Omit<
  Extract<Operation, { kind: K }>,
  "run_id" | "environment_id" | "lease_id" | "epoch" | "sequence" | "at"
>;

/** What a run asks of the server through its worker. */
export type DurableCall =
  | CallFields<"steps">
  | CallFields<"waits">
  | CallFields<"tokens">
  | CallFields<"child-runs">
  | CallFields<"outputs">
  | CallFields<"inputs">
  | CallFields<"execs">;

export type DurableResult<C extends DurableCall> = C extends { kind: "steps" }
  ? null
  : C extends { kind: "waits" }
    ? WaitsResult
    : EffectResult;

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
      /** The run has failed before its code ended: what is left of it may still be at work in the process. */
      codeLeft?: true;
    }
  | { outcome: "cancelled" }
  /** The run waits, and its journal has everything that happened: it goes on elsewhere. */
  | { outcome: "suspended" };
