export {
  task,
  type AnyTask,
  type InputOf,
  type OutputOf,
  type Task,
  type TaskFailure,
  type TaskOptions,
} from "./task.ts";
export {
  actor,
  type Actor,
  type ActorFailure,
  type ActorOptions,
  type AnyActor,
  type EmittedOf,
} from "./actor.ts";
export type { TaskFolderOption } from "./check-isolation.ts";
export { now, random, sessions, step, tokens, uuid, wait, type DurableCalls } from "./durable.ts";
export type { BatchCallItem, BatchCallResult, ChildCallOptions, ChildStartOptions } from "./child-runs.ts";
export {
  ChildRunError,
  ExecLostError,
  InputInvalidError,
  RefusedError,
  StateConflictError,
  StepError,
  InterruptedError,
  StepTimeoutError,
  TokenCancelledError,
  TokenExpiredError,
  WaitTimeoutError,
} from "./durable-errors.ts";
export type { RunSession } from "./session.ts";
export type { RunExecOptions, RunExecOutcome, RunWorkspace } from "./workspace.ts";
export {
  WorkspaceFileError,
  type RunFile,
  type RunFileContent,
  type RunWorkspaceFiles,
  type WorkspaceFileErrorCode,
} from "./workspace-files.ts";
export type { InputChannel, InputRecord, ReceiveOptions, SessionInput } from "./session-input.ts";
export type { EndOptions, OutputMessage } from "./output-message.ts";
export type { Piped, PipedMessage, PiecesOf } from "./pipe-message.ts";
export type { AppendOptions, OutputChannel, SessionOutput } from "./session-output.ts";
export type { SessionStateStore, SetStateOptions, UpdateState, Versioned } from "./session-state.ts";
export type { RunSessionFile } from "./session-files.ts";
export type { SendOptions, Sessions } from "./sessions.ts";
export type { Step, StepContext, StepOptions } from "./step.ts";
export type { NewToken, RunToken, Tokens, TokenSchema, TokenWaitOptions } from "./tokens.ts";
export type { TimerOptions, Wait } from "./wait.ts";
export { queue, type Queue, type QueueOptions } from "./queue.ts";
export { schedules, type DeclaredSchedule } from "./schedules.ts";
export type { ScheduleDefinition, ScheduledRunOptions } from "./schedule-definition.ts";
export { sandbox, type Sandbox, type SandboxOptions } from "./sandbox.ts";
export { NonRetryableError, RetryAfterError } from "./task-errors.ts";
export type { RunContext } from "./context.ts";
export type { ActorContext, TaskContext } from "./continue-as.ts";
export type { Logger } from "./runtime/logger.ts";
export type { RunMetadata } from "./runtime/run-metadata.ts";
export type { RunUsage, UsedModel } from "./runtime/run-usage.ts";
export type { RetryOptions } from "./retry-options.ts";
export type { DurationInput } from "./duration-input.ts";
export type { JsonSchema, PayloadSchema } from "./payload-schema.ts";

export { defineConfig, type BuildLoader, type ProjectConfig } from "./project-config.ts";

export * from "./client.ts";
