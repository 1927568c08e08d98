export { task, type AnyTask, type InputOf, type OutputOf, type Task, type TaskOptions } from "./task.ts";
export { actor, type Actor, type ActorOptions, type AnyActor } from "./actor.ts";
export { now, random, sessions, step, tokens, uuid, wait, type DurableCalls } from "./durable.ts";
export type { ChildCallOptions, ChildStartOptions } from "./child-runs.ts";
export {
  ChildRunError,
  InputInvalidError,
  RefusedError,
  StepError,
  TokenCancelledError,
  TokenExpiredError,
  WaitTimeoutError,
} from "./durable-errors.ts";
export type { RunSession } from "./session.ts";
export type { RunExecOptions, RunExecOutcome, RunWorkspace } from "./workspace.ts";
export type { InputChannel, InputRecord, ReceiveOptions, SessionInput } from "./session-input.ts";
export type { AppendOptions, OutputChannel, SessionOutput } from "./session-output.ts";
export type { SendOptions, Sessions } from "./sessions.ts";
export type { Step, StepOptions } from "./step.ts";
export type { NewToken, RunToken, Tokens, TokenWaitOptions } from "./tokens.ts";
export type { TimerOptions, Wait } from "./wait.ts";
export { queue, type Queue, type QueueOptions } from "./queue.ts";
export { schedules, type DeclaredSchedule } from "./schedules.ts";
export type { ScheduleDefinition, ScheduledRunOptions } from "./schedule-definition.ts";
export { sandbox, type Sandbox, type SandboxOptions } from "./sandbox.ts";
export { NonRetryableError, RetryAfterError } from "./task-errors.ts";
export type { RunContext } from "./context.ts";
export type { Logger } from "./runtime/logger.ts";
export type { RunMetadata } from "./runtime/run-metadata.ts";
export type { RetryOptions } from "./retry-options.ts";
export type { DurationInput } from "./duration-input.ts";
export type { JsonSchema, PayloadSchema } from "./payload-schema.ts";
export { SDK_VERSION } from "./version.ts";

export { Client } from "./client/client.ts";
export { decodeBase64 } from "./client/base64.ts";
export type { ClientOptions } from "./client/config.ts";
export {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  KeelsonError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
  type KeelsonErrorCode,
} from "./client/errors.ts";
export { RunFailedError, type WaitOptions } from "./client/wait-for-run.ts";
export type { FollowOptions } from "./client/follow-stream.ts";
export type { Page, PagedList, PageQuery } from "./client/paged-list.ts";
export type { ActorsApi } from "./client/actors.ts";
export type { DeploymentsApi, NewDeployment } from "./client/deployments.ts";
export type { FeedOptions, RunQuery, RunsApi } from "./client/runs.ts";
export type { ScheduleQuery, SchedulesApi } from "./client/schedules.ts";
export type { SecretsApi } from "./client/secrets.ts";
export type { SessionQuery, SessionsApi } from "./client/sessions.ts";
export type { SessionHandle } from "./client/session-handle.ts";
export type { ActorLike, NewSession, SessionChanges, StartActorOptions } from "./client/session-options.ts";
export type { SessionTarget } from "./client/session-path.ts";
export type {
  AppendBatchCallOptions,
  AppendCallOptions,
  NewRecord,
  RecordOf,
} from "./client/record-appends.ts";
export type { ReadOptions, RecordsOptions } from "./client/record-reads.ts";
export type { SandboxesApi } from "./client/sandboxes.ts";
export type {
  NewWorkspace,
  SettleOptions,
  WorkspaceChanges,
  WorkspaceQuery,
  WorkspacesApi,
} from "./client/workspaces.ts";
export type { WorkspaceHandle } from "./client/workspace-handle.ts";
export type {
  FileListOptions,
  FileReadOptions,
  FileVersion,
  FileWriteOptions,
  WorkspaceFilesApi,
} from "./client/workspace-files.ts";
export type { DiffOptions, WorkspaceVersionsApi } from "./client/workspace-versions.ts";
export type { ExecHandle, ExecOptions, ExecOutcome, ExecsApi } from "./client/execs.ts";
export type { PtyHandle, PtyOptions, PtysApi } from "./client/ptys.ts";
export type { OutputOptions, ProcessChunk, ProcessOutput } from "./client/process-output.ts";
export type { ProcessWaitOptions } from "./client/wait-for-process.ts";
export type { CreateTokenOptions, TokenQuery, TokensApi } from "./client/tokens.ts";
export type { NewPublicAccessToken, PublicAccessTokensApi } from "./client/public-access-tokens.ts";
export type { ApiRequest, CallOptions, RequestOptions } from "./client/exchange.ts";
export type { StartOptions } from "./client/start-options.ts";
export type { BatchStart, BatchStartResult, RunOf, StartCallOptions, TasksApi } from "./client/tasks.ts";
export type {
  Actor as ActorResource,
  CreatedPublicAccessToken,
  CreatedToken,
  Deployment,
  DeploymentEvent,
  DiffEntry,
  Exec,
  FileEntry,
  Materialization,
  Pty,
  RecordPage,
  Run,
  RunEvent,
  RunLogChunk,
  RunLogSnapshot,
  Sandbox as SandboxResource,
  Schedule,
  ScheduledPayload,
  ScheduleOccurrence,
  Secret,
  Session,
  StartedActor,
  StartedAndWaited,
  Stream,
  StreamRecord,
  Token,
  TokenCompletion,
  Task as TaskResource,
  Workspace,
  WorkspaceVersion,
  WrittenFile,
} from "@keelson/contract";
