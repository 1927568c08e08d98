import type { Isolation, ProcessSignal, ProcessStream } from "@keelson/contract";
import type { SandboxLimits, SandboxMeans } from "../sandboxes/sandbox.ts";

/** What a workspace's processes have around them. */
export type Surroundings = {
  isolation: Isolation;
  /** Absolute folder of the workspace. */
  root: string;
  env: Record<string, string>;
  network: "on" | "off";
  /** Cores and MiB, as in a sandbox's specification. */
  resources: { cpu: number | null; memory: number | null };
};

export type ProcessSpec = {
  id: string;
  kind: "exec" | "pty";
  /** Null: a shell. */
  command: string[] | null;
  /** Relative to the workspace's root; empty is the root. */
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
  cols: number | null;
  rows: number | null;
};

export type ProcessExit = {
  /** `failed`: it could not be started. `cancelled` (an exec) and `closed` (a PTY): ended by us. */
  outcome: "exited" | "failed" | "cancelled" | "closed" | "lost";
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  error: string | null;
};

export type ProcessState = {
  id: string;
  kind: "exec" | "pty";
  /** Bytes of input taken in all. */
  inputOffset: number;
  inputClosed: boolean;
  /** The last control that was obeyed. */
  controlSequence: number;
  exit: ProcessExit | null;
};

export type OutputOffsets = Record<ProcessStream, number>;
export type OutputPiece = { stream: ProcessStream; offset: number; data: Buffer; at: number };
export type OutputRead = { chunks: OutputPiece[]; exit: ProcessExit | null };

export type SupervisorControl = {
  sequence: number;
  kind: "signal" | "resize" | "close";
  signal: ProcessSignal | null;
  cols: number | null;
  rows: number | null;
};

/** What a supervisor is told at its start, on its standard input. */
export type SupervisorOptions = {
  materializationId: string;
  folder: string;
  surroundings: Surroundings;
  means: SandboxMeans;
  limits: SandboxLimits;
  orphanTimeoutMs: number;
  /** Processes that will most likely be started at once: as `prepare` of each. */
  first: ProcessSpec[];
};

/** The calls of an agent, each with a number `n` that its reply repeats. */
export type Call =
  | { call: "prepare"; spec: ProcessSpec }
  | { call: "drop"; id: string }
  | { call: "start"; spec: ProcessSpec }
  | { call: "list" }
  | { call: "read"; id: string; after: OutputOffsets }
  | { call: "input"; id: string; offset: number; closed: boolean }
  | { call: "control"; id: string; control: SupervisorControl }
  | { call: "end"; id: string }
  | { call: "forget"; id: string }
  | { call: "stop" };

/** `cancel` gives up the waiting call of that number; it has no reply. */
export type ToSupervisor = (Call & { n: number }) | { call: "cancel"; n: number };
export type FromSupervisor = { n: number; result: unknown } | { n: number; error: string };

/** How the chunks of a read are written: their bytes follow one another in the body of the frame. */
export type ReadResult = {
  chunks: (Omit<OutputPiece, "data"> & { bytes: number })[];
  exit: ProcessExit | null;
};
