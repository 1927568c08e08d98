import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Logger } from "pino";
import { createDiskBlobs } from "./adapters/disk-blobs.ts";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { createDeploymentCache } from "./core/entrypoints/deployment-cache.ts";
import { createLeasePolls } from "./core/executions/lease-polls.ts";
import { createSharedReads } from "./core/feeds/shared-reads.ts";
import { createWakeNotifier, type WakeNotifier } from "./core/feeds/wake-notifier.ts";
import { createWakes } from "./core/feeds/wakes.ts";
import { createRunStarter } from "./core/runs/start-runs.ts";
import type { Database } from "./db/pool.ts";
import { sql } from "./db/sql.ts";
import { createMetrics } from "./http/metrics.ts";
import { openApiDocument } from "./http/openapi/document.ts";
import { createReadiness } from "./http/readiness.ts";
import { routes } from "./http/routes.ts";
import { systemRandom } from "./random.ts";
import type { ServerContext } from "./server-context.ts";
import { createUuidGenerator } from "./uuid.ts";

/** Wakes reach other replicas this much later: one NOTIFY for all of them. */
const NOTIFY_INTERVAL_MS = 5;

/** Makes what every handler and loop is given, around one database. */
export async function createContext(
  config: Config,
  db: Database,
  log: Logger,
  clock: Clock,
): Promise<{ context: ServerContext; notifier: WakeNotifier }> {
  const newUuid = createUuidGenerator(clock);
  const notifier = createWakeNotifier({
    replicaId: randomUUID(),
    intervalMs: NOTIFY_INTERVAL_MS,
    notify: async (channel, payload) => void (await db.query(sql`SELECT pg_notify(${channel}, ${payload})`)),
    onError: (error) => log.debug({ err: error }, "wake not sent"),
  });
  const wakes = createWakes(notifier.add);
  const leasePolls = createLeasePolls();
  const { leaseDurationMs } = config;
  const metrics = createMetrics();
  let openApiJson: string | undefined;
  const context: ServerContext = {
    db,
    clock,
    newUuid,
    random: systemRandom,
    wakes,
    leasePolls,
    leaseDurationMs,
    runStarter: createRunStarter({ db, clock, newUuid, wakes, leasePolls, leaseDurationMs }),
    deployments: createDeploymentCache({ db, clock }),
    blobs: createDiskBlobs(join(config.dataDir, "blobs")),
    shareFeedRead: createSharedReads(),
    readiness: await createReadiness(db),
    metrics,
    openApiJson: () => (openApiJson ??= JSON.stringify(openApiDocument(routes))),
  };
  metrics.gauge("keelson_db_connections", "Open connections to the database.", () => db.poolCounts().total);
  metrics.gauge("keelson_db_waiting", "Callers that wait for a connection.", () => db.poolCounts().waiting);
  metrics.gauge("keelson_starts_pending", "Starts that wait for the database.", () =>
    context.runStarter.pending(),
  );
  return { context, notifier };
}
