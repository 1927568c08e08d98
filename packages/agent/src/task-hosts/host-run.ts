import type { DurableCall, ExecuteResult, FileCall, LogStream, MetadataChange } from "@keelson/contract";
import type { HostEvent, RunInput, Thrown } from "../host/frames.ts";
import type { HostDeath } from "../deaths/death.ts";
import type { TaskHost } from "./task-host.ts";

/** Where a run's effects go; called in the order in which the process had them. */
export type RunSink = {
  output(stream: LogStream, bytes: Buffer): void;
  event(event: HostEvent): void;
  metadata(changes: MetadataChange[]): void;
  /** A durable call, to be answered by its number with `TaskHost.answer`. */
  call(id: number, call: DurableCall): void;
  /** It was asked to suspend itself, and has more to do than to wait. */
  awake(): void;
  /** Asks how a command of it ended, to be answered by its number as a durable call is. */
  execResult(id: number, execId: string): void;
  /** A call for files of its workspace, to be answered in the same way. */
  file(id: number, call: FileCall): void;
};

export type RunEnding =
  | { kind: "result"; result: ExecuteResult }
  | { kind: "died"; death: HostDeath }
  | { kind: "abandoned" };

/** A run that has begun in a process, by its number there. */
export type HostRun = { readonly host: TaskHost; readonly n: number; readonly ended: Promise<RunEnding> };

/** A run that waits for a process. */
export type WaitingRun = {
  /** No other one of this agent has it. */
  readonly id: string;
  readonly input: RunInput;
  readonly sink: RunSink;
  /** The run before it in its process has ended. It may have begun then, which is told later. */
  comesNext(): void;
  /** It was taken back, and begins later, if it does. */
  returned(): void;
  /** It has begun, before anything is told of it. */
  begun(run: HostRun): void;
};

/** A bundle that did not come up; `thrown` when it said why, else `death`. */
export class HostBootError extends Error {
  override readonly name = "HostBootError";
  readonly thrown: Thrown | null;
  readonly death: HostDeath | null;

  constructor(thrown: Thrown | null, death: HostDeath | null) {
    super(thrown?.message ?? "the host ended before it was ready");
    this.thrown = thrown;
    this.death = death;
  }
}
