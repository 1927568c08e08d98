/**
 * The client for programs outside of a run: a web application, a script, or an edge function. It imports no module of
 * Node.js, so it also runs on Bun, Deno and edge runtimes. The main entry exports the same.
 */
export { Client } from "./client/client.ts";
export type { JsonInput, JsonOf, JsonValue } from "./json-type.ts";
export { DataInvalidError } from "./data-invalid-error.ts";
export { decodeBase64 } from "./client/base64.ts";
export type { ClientOptions } from "./client/config.ts";
export { KeelsonError, UsageError } from "./keelson-error.ts";
export {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ConnectionError,
  ApiError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
  type ApiErrorCode,
} from "./client/errors.ts";
export { RunFailedError, type WaitOptions } from "./client/wait-for-run.ts";
export type { FollowOptions } from "./client/follow-stream.ts";
export type { Page, PagedList, PageQuery } from "./client/paged-list.ts";
export type { DevicesApi } from "./client/devices.ts";
export type { AuditEventsApi, AuditQuery, WorkersApi } from "./client/installation.ts";
export type { AccountApi, InOrganization, InvitationsApi, MembersApi } from "./client/organizations.ts";
export type {
  ApiKeysApi,
  EnvironmentsApi,
  EnvironmentTarget,
  Naming,
  NamingChanges,
  NewApiKey,
  ProjectsApi,
} from "./client/projects.ts";
export type { ActorsApi } from "./client/actors.ts";
export type { DeploymentsApi, NewDeployment } from "./client/deployments.ts";
export type {
  BulkActionRequest,
  BulkActionsApi,
  BulkActionWaitOptions,
  BulkRunFilter,
} from "./client/bulk-actions.ts";
export type { ErrorGroupQuery, ErrorGroupsApi } from "./client/error-groups.ts";
export type {
  EntrypointMetricsQuery,
  FeedOptions,
  RunCallQuery,
  RunMetricsQuery,
  RunsApi,
} from "./client/runs.ts";
export type { RunQuery } from "./client/run-query.ts";
export type { ScheduleQuery, SchedulesApi } from "./client/schedules.ts";
export type { SecretsApi } from "./client/secrets.ts";
export type { MessageQuery } from "./client/messages.ts";
export type { SessionQuery, SessionsApi } from "./client/sessions.ts";
export type {
  FileUploadOptions,
  HandleFiles,
  SessionFilesApi,
  UploadContent,
} from "./client/session-files.ts";
export type { SessionHandle } from "./client/session-handle.ts";
export type { ActorLike, NewSession, SessionChanges, StartActorOptions } from "./client/session-options.ts";
export type { SetStateCallOptions, StateOf, StateOfSession } from "./client/session-state.ts";
export type { SessionTarget } from "./client/session-path.ts";
export type {
  AppendBatchCallOptions,
  AppendCallOptions,
  NewRecord,
  RecordOf,
} from "./client/record-appends.ts";
export { joinMessages, messageEndOf, type StreamMessage } from "./client/join-messages.ts";
export type { ReadOptions, RecordsCursor, RecordsOptions } from "./client/record-reads.ts";
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
  AcceptedInvitation,
  Actor as ActorResource,
  ApiKey,
  AuditEvent,
  CreatedApiKey,
  DeviceToken,
  Environment,
  Invitation,
  Me,
  Member,
  Project,
  StartedDevice,
  UploadedBundle,
  Worker,
  BulkAction,
  BulkActionItem,
  BulkActionPreview,
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
  Message,
  Run,
  RunCall,
  RunEvent,
  RunLogChunk,
  RunLogSnapshot,
  RunMetrics,
  Sandbox as SandboxResource,
  Schedule,
  ScheduleOccurrence,
  EntrypointMetrics,
  EntrypointMetricsList,
  ErrorGroup,
  Secret,
  Session,
  SessionFile,
  SessionState,
  StartedActor,
  StartedAndWaited,
  Stream,
  SentRecord,
  StreamRecord,
  Token,
  TokenCompletion,
  Task as TaskResource,
  Usage,
  Workspace,
  WorkspaceVersion,
  WrittenFile,
} from "./client/resources.ts";
export type { ScheduledPayload } from "@keelson/contract";
export { SDK_VERSION } from "./version.ts";
