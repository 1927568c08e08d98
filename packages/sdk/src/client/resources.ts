import type * as Wire from "@keelson/contract";
import type { CamelCased } from "./camel-cased.ts";

/** What the client answers: the objects of the wire in the SDK's spelling. */

export type AcceptedInvitation = CamelCased<Wire.AcceptedInvitation>;
export type Actor = CamelCased<Wire.Actor>;
export type ApiKey = CamelCased<Wire.ApiKey>;
export type AuditEvent = CamelCased<Wire.AuditEvent>;
export type CreatedApiKey = CamelCased<Wire.CreatedApiKey>;
export type CreatedPublicAccessToken = CamelCased<Wire.CreatedPublicAccessToken>;
export type CreatedToken = CamelCased<Wire.CreatedToken>;
export type Deployment = CamelCased<Wire.Deployment>;
export type DeploymentEvent = CamelCased<Wire.DeploymentEvent>;
export type DeviceToken = CamelCased<Wire.DeviceToken>;
export type DiffEntry = CamelCased<Wire.DiffEntry>;
export type Environment = CamelCased<Wire.Environment>;
export type ErrorGroup = CamelCased<Wire.ErrorGroup>;
export type RunMetrics = CamelCased<Wire.RunMetrics>;
export type EntrypointMetrics = CamelCased<Wire.EntrypointMetrics>;
export type EntrypointMetricsList = CamelCased<Wire.EntrypointMetricsList>;
export type Exec = CamelCased<Wire.Exec>;
export type ExecResult = CamelCased<Wire.ExecResult>;
export type BulkAction = CamelCased<Wire.BulkAction>;
export type BulkActionItem = CamelCased<Wire.BulkActionItem>;
export type BulkActionPreview = CamelCased<Wire.BulkActionPreview>;
export type FileEntry = CamelCased<Wire.FileEntry>;
export type Invitation = CamelCased<Wire.Invitation>;
export type Materialization = CamelCased<Wire.Materialization>;
export type Me = CamelCased<Wire.Me>;
export type Member = CamelCased<Wire.Member>;
export type Project = CamelCased<Wire.Project>;
export type PublicRun = CamelCased<Wire.PublicRun>;
export type Pty = CamelCased<Wire.Pty>;
export type RecordPage = CamelCased<Wire.RecordPage>;
export type Run = CamelCased<Wire.Run>;
export type Message = CamelCased<Wire.Message>;
/** What becomes of a message that was interrupted. */
export type MessageInterrupted = CamelCased<Wire.MessageInterrupted>;
export type RunCall = CamelCased<Wire.RunCall>;
export type RunEvent = CamelCased<Wire.RunEvent>;
export type RunLogChunk = CamelCased<Wire.RunLogChunk>;
export type RunLogSnapshot = CamelCased<Wire.RunLogSnapshot>;
export type Sandbox = CamelCased<Wire.Sandbox>;
export type Schedule = CamelCased<Wire.Schedule>;
export type ScheduleOccurrence = CamelCased<Wire.ScheduleOccurrence>;
export type Secret = CamelCased<Wire.Secret>;
export type Session = CamelCased<Wire.Session>;
/** A picture or document that was uploaded to a session. */
export type SessionFile = CamelCased<Wire.SessionFile>;
export type SessionState = CamelCased<Wire.SessionState>;
export type StartBatchResult = CamelCased<Wire.StartBatchResult>;
export type StartedActor = CamelCased<Wire.StartedActor>;
export type StartedAndWaited = CamelCased<Wire.StartedAndWaited>;
export type StartedDevice = CamelCased<Wire.StartedDevice>;
export type Stream = CamelCased<Wire.Stream>;
export type SentRecord = CamelCased<Wire.SentRecord>;
export type StreamRecord = CamelCased<Wire.StreamRecord>;
export type Task = CamelCased<Wire.Task>;
export type Token = CamelCased<Wire.Token>;
export type TokenCompletion = CamelCased<Wire.TokenCompletion>;
export type UploadedBundle = CamelCased<Wire.UploadedBundle>;
/** What calls of models used, in all and by model. */
export type Usage = CamelCased<Wire.Usage>;
export type Worker = CamelCased<Wire.Worker>;
export type Workspace = CamelCased<Wire.Workspace>;
export type WorkspaceVersion = CamelCased<Wire.WorkspaceVersion>;
export type WrittenFile = CamelCased<Wire.WrittenFile>;
