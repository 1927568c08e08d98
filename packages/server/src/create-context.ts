import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { createGithub } from "./adapters/github.ts";
import { createMailSender, type MailOptions } from "./adapters/mail.ts";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { createDeploymentCache } from "./core/entrypoints/deployment-cache.ts";
import { createClaimStarts } from "./core/executions/claim-starts.ts";
import { listLeases } from "./core/executions/execution-reads.ts";
import { createReadyFronts, type ReadyFrontsOptions } from "./core/executions/ready-fronts.ts";
import type { KnownRuns } from "./core/executions/known-runs.ts";
import { createLeasePolls } from "./core/executions/lease-polls.ts";
import { createWrittenExecutions } from "./core/executions/written-executions.ts";
import { createRecentLooks } from "./core/leases/recent-looks.ts";
import { listActive } from "./core/processes/process-reads.ts";
import { createWorkspacePolls } from "./core/processes/workspace-polls.ts";
import { createFeedHub } from "./core/feeds/feed-hub.ts";
import { createFeedWatch } from "./core/feeds/feed-watch.ts";
import type { Wakes } from "./core/feeds/wakes.ts";
import { createTreeCache } from "./core/versions/tree-cache.ts";
import { createQuotas } from "./core/quotas/create-quotas.ts";
import { createRunStarter } from "./core/runs/start-runs.ts";
import { createRecordAppender } from "./core/sessions/record-appender.ts";
import { createTokenCompleter } from "./core/tokens/token-completer.ts";
import type { Database } from "./db/pool.ts";
import { createFairTurns } from "./http/edge/fair-turns.ts";
import { createLoopFailureNotes } from "./http/system/loop-failure-notes.ts";
import { createDropCounts, createRetentionLag } from "./http/system/drop-counts.ts";
import { createInnerCalls } from "./http/edge/inner-calls.ts";
import { createLoopMetrics } from "./http/system/loop-metrics.ts";
import { openApiDocument } from "./http/openapi/document.ts";
import { createReadiness } from "./http/edge/readiness.ts";
import { routes } from "./http/routes.ts";
import { createStorageSpace } from "./http/edge/storage-space.ts";
import { createLastAsked } from "./last-asked.ts";
import { createLiveIds } from "./live-ids.ts";
import { systemRandom } from "./random.ts";
import { openBlobs } from "./open-blobs.ts";
import { openCredentials } from "./open-credentials.ts";
import type { OpenMetrics } from "./open-metrics.ts";
import type { ServerContext } from "./server-context.ts";
import type { Timekeeper } from "./time/timekeeper.ts";
import { createUuidGenerator } from "./uuid.ts";

type ContextParts = {
  timekeeper: Timekeeper;
  print: MailOptions["print"];
  wakes: Wakes;
  counted: OpenMetrics;
  knownRuns: KnownRuns;
};

/** Makes what every handler and loop is given, around one database. */
export async function createContext(
  config: Config,
  db: Database,
  log: Logger,
  { timekeeper, print, wakes, counted, knownRuns }: ContextParts,
): Promise<{ context: ServerContext; listensAt: (url: string) => void }> {
  let publicUrl = config.publicUrl;
  const clock = timekeeper.now;
  const newUuid = createUuidGenerator(clock);
  const leasePolls = createLeasePolls();
  const { leaseDurationMs, parkAfterMs } = config;
  const deployments = createDeploymentCache({ db, clock });
  const knownRows = createKnownRows({ db, clock, knownRuns }, log);
  const isHeld = knownRows.readyFronts.areKnown;
  const quotas = createQuotas({ db, clock, wakes, serverId: newUuid(), isHeld }, config.quotas);
  let openApiJson: string | undefined;
  const { bundles, ofEnvironment: workspaceBlobs } = await openBlobs(config);
  const credentials = await openCredentials(config, db);
  const context: ServerContext = {
    db,
    clock,
    ...{ timekeeper, lastAsked: createLastAsked() },
    newUuid,
    random: systemRandom,
    randomBytes,
    github: config.github === null ? null : createGithub(config.github),
    isSecure: config.publicUrl?.startsWith("https:") ?? false,
    mail: createMailSender({ smtpUrl: config.smtpUrl, from: config.mailFrom, print, log }),
    wakes,
    leasePolls,
    claimStarts: createClaimStarts(),
    recentLooks: createRecentLooks(wakes),
    ...knownRows,
    workspacePolls: createWorkspacePolls(),
    leaseDurationMs,
    parkAfterMs,
    ...credentials,
    publicUrl: () => {
      if (publicUrl === null) throw new Error("The address is not known before the server listens.");
      return publicUrl;
    },
    runStarter: createRunStarter({ db, clock, newUuid, wakes, leasePolls, knownRuns, leaseDurationMs }),
    tokenCompleter: createTokenCompleter({ db, clock }),
    recordAppender: createRecordAppender({ db, clock, newUuid, wakes, deployments, ...quotas }),
    deployments,
    ...quotas,
    blobs: bundles,
    workspaceBlobs,
    trees: createTreeCache({ db, clock, workspaceBlobs }),
    workspaceIdleMs: config.workspaceIdleMs,
    feeds: createFeedHub({ wakes, watch: createFeedWatch(db) }),
    turns: createFairTurns(clock),
    retention: config.retention,
    packLogsAfterMs: config.packLogsAfterMs,
    packRecordsAfterMs: config.packRecordsAfterMs,
    ...notesOf(counted, clock, log),
    readiness: await createReadiness(db),
    storage: createStorageSpace(db, bundles),
    innerCalls: createInnerCalls(),
    openApiJson: () => (openApiJson ??= JSON.stringify(openApiDocument(routes))),
  };
  showGauges(context);
  counted.readFrom(db, clock);
  return {
    context,
    listensAt: (url) => {
      publicUrl ??= url;
    },
  };
}

const notesOf = (
  { metrics, noteLeased }: OpenMetrics,
  clock: Clock,
  log: Logger,
): Pick<
  ServerContext,
  "metrics" | "countDropped" | "noteSwept" | "noteRound" | "noteLeased" | "noteLoopFailure"
> => ({
  metrics,
  countDropped: createDropCounts(metrics),
  noteSwept: createRetentionLag(metrics, clock),
  noteRound: createLoopMetrics(metrics),
  noteLeased,
  noteLoopFailure: createLoopFailureNotes(metrics, log),
});

function showGauges({
  metrics,
  db,
  runStarter,
  recordAppender,
  tokenCompleter,
  turns,
  timekeeper,
}: ServerContext): void {
  metrics.gauge(
    "keelson_clock_ahead_seconds",
    "By how much this machine's clock is ahead of PostgreSQL's; negative: behind.",
    () => timekeeper.wallClockAheadMs() / 1_000,
  );
  metrics.gauge("keelson_db_connections", "Open connections to the database.", () => db.poolCounts().total);
  metrics.gauge("keelson_db_waiting", "Callers that wait for a connection.", () => db.poolCounts().waiting);
  metrics.gauge("keelson_starts_pending", "Starts that wait for the database.", () => runStarter.pending());
  metrics.gauge("keelson_appends_pending", "Appends that wait for the database.", () =>
    recordAppender.pending(),
  );
  metrics.gauge("keelson_completions_pending", "Completions that wait for the database.", () =>
    tokenCompleter.pending(),
  );
  metrics.gauge("keelson_turns_waiting", "Calls that wait for their environment's turn.", () =>
    turns.waiting(),
  );
}

/** What is remembered of live rows: what this server wrote last, and more while dead ones cannot be removed. */
function createKnownRows(
  parts: Pick<ReadyFrontsOptions, "db" | "clock" | "knownRuns">,
  log: Logger,
): Pick<ServerContext, "writtenExecutions" | "readyFronts" | "liveLeases" | "liveProcesses"> {
  const { db, clock } = parts;
  const liveLeases = createLiveIds({ clock, list: (before, live) => listLeases(db, before, live) });
  const liveProcesses = createLiveIds({ clock, list: (before, live) => listActive(db, before, live) });
  const noteHeld = (isHeld: boolean): void => {
    liveLeases.hold(isHeld);
    liveProcesses.hold(isHeld);
    logHeldRows(log, isHeld);
  };
  const readyFronts = createReadyFronts({ ...parts, noteHeld });
  return { writtenExecutions: createWrittenExecutions(), readyFronts, liveLeases, liveProcesses };
}

const logHeldRows = (log: Logger, isHeld: boolean): void =>
  isHeld
    ? log.warn(
        "something holds an old snapshot of the database, so PostgreSQL cannot remove dead rows of the queue: a backup, a dump, a long query, an idle transaction or a standby. Find it by backend_xmin in pg_stat_activity and xmin in pg_replication_slots.",
      )
    : log.info("PostgreSQL can remove dead rows of the queue again");
