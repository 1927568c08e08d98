import { randomBytes, randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { createGithub } from "./adapters/github.ts";
import { createMailSender } from "./adapters/mail.ts";
import type { Clock } from "./clock.ts";
import { ConfigError, type Config } from "./config.ts";
import { makeCredential } from "./core/credentials/make-credential.ts";
import { ensureMasterKey, isInstallationKey, type MasterKey } from "./core/credentials/master-key.ts";
import { createDeploymentCache } from "./core/entrypoints/deployment-cache.ts";
import { createLeasePolls } from "./core/executions/lease-polls.ts";
import { createFeedHub } from "./core/feeds/feed-hub.ts";
import { createWakeNotifier, type WakeNotifier } from "./core/feeds/wake-notifier.ts";
import { createWakes } from "./core/feeds/wakes.ts";
import { createTreeCache } from "./core/versions/tree-cache.ts";
import { createQuotas } from "./core/quotas/create-quotas.ts";
import { createRunStarter } from "./core/runs/start-runs.ts";
import { createRecordAppender } from "./core/streams/record-appender.ts";
import type { Database } from "./db/pool.ts";
import { sql } from "./db/sql.ts";
import { createFairTurns } from "./http/fair-turns.ts";
import { createDropCounts } from "./http/drop-counts.ts";
import { createMetrics } from "./http/metrics.ts";
import { openApiDocument } from "./http/openapi/document.ts";
import { createReadiness } from "./http/readiness.ts";
import { routes } from "./http/routes.ts";
import { systemRandom } from "./random.ts";
import { openBlobs } from "./open-blobs.ts";
import type { ServerContext } from "./server-context.ts";
import { createUuidGenerator } from "./uuid.ts";

/** Wakes reach other replicas this much later: one NOTIFY for all of them. */
const NOTIFY_INTERVAL_MS = 5;

/** Makes what every handler and loop is given, around one database. */
export async function createContext(
  config: Config,
  db: Database,
  log: Logger,
  { clock, print }: { clock: Clock; print: (text: string) => void },
): Promise<{ context: ServerContext; notifier: WakeNotifier; listensAt: (url: string) => void }> {
  let publicUrl = config.publicUrl;
  const newUuid = createUuidGenerator(clock);
  const notifier = createWakeNotifier({
    replicaId: randomUUID(),
    intervalMs: NOTIFY_INTERVAL_MS,
    notify: async (channel, payload) => void (await db.query(sql`SELECT pg_notify(${channel}, ${payload})`)),
    onError: (error) => log.debug({ err: error }, "wake not sent"),
  });
  const wakes = createWakes(notifier.add);
  const leasePolls = createLeasePolls();
  const { leaseDurationMs, parkAfterMs } = config;
  const metrics = createMetrics();
  const deployments = createDeploymentCache({ db, clock });
  const quotas = createQuotas({ db, clock, wakes, serverId: newUuid() }, config.quotas);
  let openApiJson: string | undefined;
  const { bundles, ofEnvironment: workspaceBlobs } = await openBlobs(config);
  const context: ServerContext = {
    db,
    clock,
    newUuid,
    random: systemRandom,
    randomBytes,
    makeCredential,
    github: config.github === null ? null : createGithub(config.github),
    isSecure: config.publicUrl?.startsWith("https:") ?? false,
    mail: createMailSender({ smtpUrl: config.smtpUrl, from: config.mailFrom, print, log }),
    wakes,
    leasePolls,
    leaseDurationMs,
    parkAfterMs,
    masterKey: await requireMasterKey(config, db),
    publicUrl: () => {
      if (publicUrl === null) throw new Error("The address is not known before the server listens.");
      return publicUrl;
    },
    runStarter: createRunStarter({ db, clock, newUuid, wakes, leasePolls, leaseDurationMs }),
    recordAppender: createRecordAppender({ db, clock, newUuid, wakes, deployments, ...quotas }),
    deployments,
    ...quotas,
    blobs: bundles,
    workspaceBlobs,
    trees: createTreeCache({ db, clock, workspaceBlobs }),
    workspaceIdleMs: config.workspaceIdleMs,
    feeds: createFeedHub(wakes),
    turns: createFairTurns(clock, config.sharedRate),
    retention: config.retention,
    packLogsAfterMs: config.packLogsAfterMs,
    countDropped: createDropCounts(metrics),
    readiness: await createReadiness(db),
    metrics,
    openApiJson: () => (openApiJson ??= JSON.stringify(openApiDocument(routes))),
  };
  showGauges(context);
  return {
    context,
    notifier,
    listensAt: (url) => {
      publicUrl ??= url;
    },
  };
}

function showGauges({ metrics, db, runStarter, recordAppender, turns }: ServerContext): void {
  metrics.gauge("keelson_db_connections", "Open connections to the database.", () => db.poolCounts().total);
  metrics.gauge("keelson_db_waiting", "Callers that wait for a connection.", () => db.poolCounts().waiting);
  metrics.gauge("keelson_starts_pending", "Starts that wait for the database.", () => runStarter.pending());
  metrics.gauge("keelson_appends_pending", "Appends that wait for the database.", () =>
    recordAppender.pending(),
  );
  metrics.gauge("keelson_turns_waiting", "Calls that wait for their environment's turn.", () =>
    turns.waiting(),
  );
}

async function requireMasterKey(config: Config, db: Database): Promise<MasterKey> {
  const key = config.masterKey ?? (await ensureMasterKey(config.dataDir));
  if (await isInstallationKey(db, key)) return key;
  throw new ConfigError(
    "This database was set up with another master key. Set KEELSON_MASTER_KEY to that key, or restore master.key of its data folder.",
  );
}
