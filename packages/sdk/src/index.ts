export { task, type AnyTask, type InputOf, type OutputOf, type Task, type TaskOptions } from "./task.ts";
export { queue, type Queue, type QueueOptions } from "./queue.ts";
export { NonRetryableError, RetryAfterError } from "./task-errors.ts";
export type { RunContext } from "./context.ts";
export type { Logger } from "./runtime/logger.ts";
export type { RunMetadata } from "./runtime/run-metadata.ts";
export type { RetryOptions } from "./retry-options.ts";
export type { DurationInput } from "./duration-input.ts";
export type { JsonSchema, PayloadSchema } from "./payload-schema.ts";
export { SDK_VERSION } from "./version.ts";

export { Client, decodeBase64 } from "./client/client.ts";
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
export type { DeploymentsApi, NewDeployment } from "./client/deployments.ts";
export type { FeedOptions, RunQuery, RunsApi } from "./client/runs.ts";
export type { RequestOptions } from "./client/exchange.ts";
export type { StartOptions } from "./client/start-options.ts";
export type { BatchStart, BatchStartResult, RunOf, StartCallOptions, TasksApi } from "./client/tasks.ts";
export type {
  Deployment,
  DeploymentEvent,
  Run,
  RunEvent,
  RunLogChunk,
  RunLogSnapshot,
  Task as TaskResource,
} from "@keelson/contract";
