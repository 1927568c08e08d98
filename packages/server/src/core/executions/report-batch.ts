import type { DurableError, ErrorCode, Operation } from "@keelson/contract";
import type { NewUuid } from "../../uuid.ts";
import type { ProcessCreation } from "../processes/create-process.ts";
import type { NewRun } from "../runs/new-run.ts";
import type { Append } from "../streams/stream.ts";
import type { NewToken } from "../tokens/create-tokens.ts";
import type { NewWait, WaitKey } from "../waits/wait.ts";
import type { WaitRow } from "../waits/wait-reads.ts";
import type { DurableFacts } from "./durable-facts.ts";
import type { Change, NewJournalEntry } from "./execution.ts";
import type { EndedLease, RunPolicy } from "./execution-reads.ts";
import type { NewLogChunk } from "./execution-writes.ts";

/** An operation with its ids decoded and its times parsed by the edge. */
export type LeasedOperation = {
  environmentId: string;
  runId: string;
  leaseId: string;
  epoch: number;
  operation: Operation;
  /** Of a `child-runs` operation: the run to insert, or why there can be none. */
  child?: PreparedChild;
};

export type PreparedChild = { run: NewRun } | { refusal: DurableError };

/** What an operation answers besides that it was applied. JSON is text. */
export type OperationValue =
  | { kind: "waits"; parked: boolean; waits: WaitRow[] }
  | { kind: "effect"; entry: NewJournalEntry["kind"]; value: string | null; error: string | null };

export type OperationOutcome =
  | { ok: true; value?: OperationValue }
  | { ok: false; code: ErrorCode; message: string };

export const OK: OperationOutcome = { ok: true };

export const refuse = (code: ErrorCode, message: string): OperationOutcome => ({ ok: false, code, message });

/** The state of one report while its operations are decided, and what they are going to write. */
export type Batch = {
  workerId: string;
  now: number;
  /** The newest time of the report by the worker's clock: what the worker's other times are ages against. */
  newestAt: number;
  random: () => number;
  newUuid: NewUuid;
  changes: Map<string, Change>;
  ended: Map<string, EndedLease>;
  policies: Map<string, RunPolicy>;
  facts: DurableFacts;
  logs: NewLogChunk[];
  journal: NewJournalEntry[];
  waits: NewWait[];
  accepted: WaitKey[];
  children: NewRun[];
  tokens: NewToken[];
  appends: Append[];
  inputs: PendingInput[];
  execs: PendingExec[];
};

/** A command of a run: started when everything else of the report has been written, because workspaces are locked last. */
export type PendingExec = { entry: NewJournalEntry; creation: ProcessCreation; index: number };

/** Input to another session: decided when everything else of the report has been written. */
export type PendingInput = { entry: NewJournalEntry; append: Append; index: number };
