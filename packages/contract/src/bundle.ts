import type { EffectResult, JournalEntry, LeasedSession, WaitsResult, WaitState } from "./schemas/durable.ts";
import type { LeasedRun, Operation } from "./schemas/execution.ts";
import type { MetadataChange } from "./schemas/metadata-change.ts";
import type { ExecResult } from "./schemas/process.ts";
import type { DeploymentManifest } from "./schemas/deployment.ts";
import type { EventSeverity, FailureKind, LogStream, WorkerEventKind } from "./runs.ts";

/**
 * What a task host and a bundle know of each other, in bundle formats 1 and 2 alike.
 *
 * The export `keelson` of a bundle's module, or of an archive's entry, is a `BundleModule`, made by the SDK that the code was
 * bundled with; the host is the worker's. Both sides may be of different versions, so this interface only grows by optional
 * members.
 */
export type BundleModule = {
  /** Of this interface. */
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
  /** Where the run reaches the server, and by which credential: its lease's own. */
  access?: { url: string; credential: string };
  /** Aborted when the run is cancelled or its max_duration is over; `reason` is an Error that says which. */
  signal: AbortSignal;
  /** The worker and the server know continuations: `execute` may resolve as `continued`. */
  mayContinue?: boolean;
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
   * `CallRefusal`: nothing of it has happened, and calls that were made after it go on. Never settles when the execution is over for this
   * worker.
   */
  call<C extends DurableCall>(call: C): Promise<DurableResult<C>>;
  /** The listener is called with waits that have settled, possibly more than once with the same. One listener. */
  onSettled(listener: (waits: WaitState[]) => void): void;
  /** The listener is called with the id of a message that is to be ended, possibly more than once. One listener. */
  onInterrupt?(listener: (messageId: string) => void): void;
  /** Resolves with how a command of the run ended, once it has, and never when the workspace is lost with it. */
  execResult?(execId: string): Promise<ExecResult>;
  /**
   * Reads or changes the live files of the run's workspace, and never what is outside of it. Not a durable call. Rejects
   * with a `CallRefusal`.
   */
  file?<C extends FileCall>(call: C): Promise<FileAnswers[C["op"]]>;
  /**
   * The listener is asked whether the run can end its process now: true when it only waits. Then `execute` resolves as
   * `suspended`. One listener.
   */
  onSuspend(listener: () => boolean): void;
};

/**
 * What a run asks of its workspace's files. Paths are relative to the root. Bytes are base64, of at most
 * `LIMITS.runFilePieceBytes`.
 */
export type FileCall =
  | { op: "read"; path: string }
  /** The next piece. */
  | { op: "read_on"; handle: number }
  /** `more`: other pieces follow, and the file is there with the last of them. `mode` is in octal. */
  | { op: "write"; path: string; mode: string | null; bytes: string; more: boolean }
  | { op: "write_on"; handle: number; bytes: string; more: boolean }
  /** Reads or writes no further; what is not written to its end is dropped. */
  | { op: "close"; handle: number }
  | { op: "list"; path: string }
  | { op: "stat"; path: string }
  | { op: "remove"; path: string; recursive: boolean };

/** An entry of a live workspace. */
export type LiveFile = {
  path: string;
  kind: "file" | "directory" | "symlink" | "other";
  size_bytes: number;
  /** Permission bits in octal. */
  mode: string;
  link_target: string | null;
  modified_at: string;
};

/** `handle` is null when there is no more to come. */
export type FilePiece = { bytes: string; handle: number | null };

export type FileAnswers = {
  read: FilePiece;
  read_on: FilePiece;
  write: { handle: number | null };
  write_on: { handle: number | null };
  close: null;
  list: LiveFile[];
  stat: LiveFile;
  remove: null;
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
  | CallFields<"execs">
  | CallFields<"states">
  | CallFields<"usage">;

export type DurableResult<C extends DurableCall> = C extends { kind: "steps" | "usage" }
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
  | {
      outcome: "suspended";
      /** Nothing of its code is at work in the process any more. The process that runs the bundle says so. */
      codeLeft?: false;
    }
  /** The run goes on with an empty journal. `payload` is JSON text, null for none. */
  | {
      outcome: "continued";
      payload: string | null;
      /** The code goes on although it has said so: what is left of it may still be at work in the process. */
      codeLeft?: true;
    };
