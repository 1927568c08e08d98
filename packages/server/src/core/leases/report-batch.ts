import type { CredentialOrigin } from "../credentials/credential-origin.ts";
import type { DurableError, ErrorCode, Operation, Uuid } from "@keelson/contract";
import type { NewUuid } from "../../uuid.ts";
import type { ProcessCreation } from "../processes/create-process.ts";
import type { NewRun } from "../runs/new-run.ts";
import type { ModelUsage, RunUsage } from "../runs/usage.ts";
import type { NewState } from "../sessions/session-state.ts";
import type { PendingMessage } from "../streams/message.ts";
import type { Append } from "../streams/stream.ts";
import type { NewToken } from "../tokens/create-tokens.ts";
import type { NewWait, SettledWait, WaitKey } from "../waits/wait.ts";
import type { WaitRow } from "../waits/wait-reads.ts";
import type { DurableFacts } from "./durable-facts.ts";
import type { Change, Continuation, NewJournalEntry, NewLogChunk } from "../executions/execution.ts";
import type { EndedLease, RunPolicy } from "../executions/execution-reads.ts";

/** An operation with its ids decoded and its times parsed by the edge. */
/** What an operation says, without the lease that it is under. */
export type LeasedContent = Operation extends infer Kind
  ? Kind extends Operation
    ? Omit<Kind, "environment_id" | "run_id" | "lease_id" | "epoch">
    : never
  : never;

export type LeasedOperation = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  leaseId: Uuid<"lease">;
  epoch: number;
  operation: LeasedContent;
  /** Of a `child-runs` operation: the run to insert, or why there can be none. */
  child?: PreparedChild;
  /** Of a release as `continued`: what the run goes on with, or why it cannot. */
  continuation?: PreparedContinuation;
  /** Of a `usage` operation. */
  used?: readonly ModelUsage[];
  /** The path of a value that cannot be stored. */
  oddAt?: string;
};

export type PreparedChild = { run: NewRun } | { refusal: DurableError };

/** `payload` is JSON text. */
export type PreparedContinuation =
  | { payload: string | null; workspaceId: Uuid<"ws"> | null }
  | { refusal: string };

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
  workerId: Uuid<"wkr">;
  now: number;
  /** The newest time of the report by the worker's clock: what the worker's other times are ages against. */
  newestAt: number;
  /** When the worker sent the report, by its clock; `newestAt` when it does not say. */
  sentAt: number;
  random: () => number;
  newUuid: NewUuid;
  /** Of the credentials of tokens that it creates. */
  origin: CredentialOrigin;
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
  /** Waits that settle by what their runs say. */
  settledWaits: SettledWait[];
  /** Calls that code gives up and that are no open waits. */
  givenUp: WaitKey[];
  /** Messages that begin with one of the appends, or end with one. */
  messages: PendingMessage[];
  /** Streams of messages that are not begun again: from now on pieces are taken only for messages that are open. */
  fenced: { environmentId: Uuid<"env">; streamId: Uuid<"strm"> }[];
  inputs: PendingInput[];
  execs: PendingExec[];
  /** What states were set to last, by session. */
  states: Map<string, NewState>;
  usage: RunUsage[];
  /** Runs that go on with an empty journal. */
  continuations: Continuation[];
};

type Begun =
  | "workerId"
  | "now"
  | "newestAt"
  | "sentAt"
  | "random"
  | "newUuid"
  | "origin"
  | "changes"
  | "facts";

/** Before the first operation is decided. */
export const newBatch = (begun: Pick<Batch, Begun>): Batch => ({
  ...begun,
  ended: new Map(),
  policies: new Map(),
  logs: [],
  journal: [],
  waits: [],
  accepted: [],
  children: [],
  tokens: [],
  appends: [],
  settledWaits: [],
  givenUp: [],
  messages: [],
  fenced: [],
  inputs: [],
  execs: [],
  states: new Map(),
  usage: [],
  continuations: [],
});

/** Of what a run used by one model, about. */
const USAGE_BYTES = 150;

/** What the report stores, by environment. */
export function storedBytesOf({ logs, appends, inputs, usage }: Batch): Map<Uuid<"env">, number> {
  const bytes = new Map<Uuid<"env">, number>();
  const add = (environmentId: Uuid<"env">, more: number): void =>
    void bytes.set(environmentId, (bytes.get(environmentId) ?? 0) + more);
  for (const { environmentId, data } of logs) add(environmentId, data.length);
  for (const { environmentId, records } of [...appends, ...inputs.map(({ append }) => append)])
    for (const { data } of records) add(environmentId, data.length);
  for (const { environmentId } of usage) add(environmentId, USAGE_BYTES);
  return bytes;
}
/** A command of a run: started when everything else of the report has been written, because workspaces are locked last. */
export type PendingExec = {
  entry: NewJournalEntry;
  workerGroupId: Uuid<"wgrp">;
  creation: ProcessCreation;
  index: number;
};

/** Input to another session: decided when everything else of the report has been written. */
export type PendingInput = { entry: NewJournalEntry; append: Append; index: number };
