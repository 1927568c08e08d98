import type { Uuid } from "@keelson/contract";
import type { Clock } from "./clock.ts";
import type { DeploymentCache } from "./core/entrypoints/deployment-cache.ts";
import type { CredentialCache } from "./core/credentials/credential-cache.ts";
import type { MakeCredential } from "./core/credentials/make-credential.ts";
import type { ClaimStarts } from "./core/executions/claim-starts.ts";
import type { RecentLooks } from "./core/leases/recent-looks.ts";
import type { ReadyFronts } from "./core/executions/ready-fronts.ts";
import type { LeasedExecution } from "./core/executions/execution.ts";
import type { WrittenExecutions } from "./core/executions/written-executions.ts";
import type { LeasePolls } from "./core/executions/lease-polls.ts";
import type { WorkspacePolls } from "./core/processes/workspace-polls.ts";
import type { Frames } from "./http/edge/event-stream.ts";
import type { FeedHub } from "./core/feeds/feed-hub.ts";
import type { LoopFailure } from "./core/loop-failures/loop-failure.ts";
import type { Wakes } from "./core/feeds/wakes.ts";
import type { Github } from "./core/github.ts";
import type { MailSender } from "./core/mail.ts";
import type { EventStreamQuota } from "./core/quotas/event-stream-quota.ts";
import type { RunQuota } from "./core/quotas/run-quota.ts";
import type { StorageQuota } from "./core/quotas/storage-quota.ts";
import type { RunStarter } from "./core/runs/start-runs.ts";
import type { RecordAppender } from "./core/sessions/record-appender.ts";
import type { CredentialOrigin, Keyring } from "./core/credentials/credential-origin.ts";
import type { MasterKey } from "./core/credentials/master-key.ts";
import type { RunTokens } from "./core/credentials/run-token.ts";
import type { BlobStore } from "./core/blobs/blob.ts";
import type { DroppedKind, RetentionPolicy } from "./core/retention/retention.ts";
import type { TreeCache } from "./core/versions/tree-cache.ts";
import type { Database } from "./db/pool.ts";
import type { FairTurns } from "./http/edge/fair-turns.ts";
import type { TokenCompleter } from "./core/tokens/token-completer.ts";
import type { InnerCalls } from "./http/edge/inner-calls.ts";
import type { Metrics } from "./http/edge/metrics.ts";
import type { Readiness } from "./http/edge/readiness.ts";
import type { StorageSpace } from "./http/edge/storage-space.ts";
import type { LastAsked } from "./last-asked.ts";
import type { LiveIds } from "./live-ids.ts";
import type { Timekeeper } from "./time/timekeeper.ts";
import type { NewUuid } from "./uuid.ts";

/** What every handler and loop is given; made once by the composition root. */
export type ServerContext = {
  db: Database;
  /** PostgreSQL's time: of every stored instant, and of every comparison with one. */
  clock: Clock;
  timekeeper: Timekeeper;
  lastAsked: LastAsked;
  newUuid: NewUuid;
  random: () => number;
  /** From a cryptographic source. */
  randomBytes: (count: number) => Uint8Array;
  makeCredential: MakeCredential;
  credentialCache: CredentialCache;
  runTokens: RunTokens;
  mail: MailSender;
  /** Null where sign-in by GitHub is not set up. */
  github: Github | null;
  wakes: Wakes;
  leasePolls: LeasePolls;
  claimStarts: ClaimStarts;
  recentLooks: RecentLooks;
  readyFronts: ReadyFronts;
  writtenExecutions: WrittenExecutions;
  /** Of workers, while an old snapshot is held. */
  liveLeases: LiveIds;
  /** Active ones, of environments, while an old snapshot is held. */
  liveProcesses: LiveIds;
  workspacePolls: WorkspacePolls;
  runStarter: RunStarter;
  recordAppender: RecordAppender;
  tokenCompleter: TokenCompleter;
  deployments: DeploymentCache;
  runQuota: RunQuota;
  storageQuota: StorageQuota;
  eventStreamQuota: EventStreamQuota;
  /** Bundles. */
  blobs: BlobStore;
  /** The pieces and manifests of an environment's workspaces. */
  workspaceBlobs: (environmentId: Uuid<"env">) => BlobStore;
  trees: TreeCache;
  /** How long a live workspace is kept on its machine while nothing happens in it. */
  workspaceIdleMs: number;
  retention: RetentionPolicy;
  /** How long after its end a run's logs stay rows; null: for ever. */
  packLogsAfterMs: number | null;
  /** How old records of output are when they are packed; null: never. */
  packRecordsAfterMs: number | null;
  /** Told what was dropped because it was kept long enough. */
  countDropped: (kind: DroppedKind, count: number) => void;
  /** Told of a round of retention that went through everything. */
  noteSwept: (begunAt: number) => void;
  /** Told of each round of a background loop. */
  noteRound: (loop: string, tookMs: number, failed: boolean) => void;
  /** Told which runs a worker was given. */
  noteLeased: (executions: readonly LeasedExecution[]) => void;
  /** Told of each item of a loop that was set aside because it could not be processed. */
  noteLoopFailure: (failure: LoopFailure, error: unknown) => void;
  leaseDurationMs: number;
  /** How long a waiting run keeps its process. */
  parkAfterMs: number;
  masterKey: MasterKey;
  /** The master keys that the installation has had, and has. */
  keyring: Keyring;
  /** What new derived credentials hang on: the cell's tag, which all new credentials carry, and the master key. */
  origin: CredentialOrigin;
  /** Where callers reach the server: `PUBLIC_URL`, or where it listens. Known once it listens. */
  publicUrl: () => string;
  /** Callers reach it by https: cookies are for that alone. */
  isSecure: boolean;
  turns: FairTurns;
  readiness: Readiness;
  storage: StorageSpace;
  metrics: Metrics;
  innerCalls: InnerCalls;
  /** The OpenAPI document of all routes, made when it is first asked for. */
  openApiJson: () => string;
  feeds: FeedHub<Frames>;
};
