import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { LIMITS } from "@keelson/contract";
import { createDiskBlobs } from "./adapters/disk-blobs.ts";
import { systemClock, type Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { createDeploymentCache } from "./core/entrypoints/deployment-cache.ts";
import { createLeasePolls } from "./core/executions/lease-polls.ts";
import { createSharedReads } from "./core/feeds/shared-reads.ts";
import { createWakeNotifier, WAKE_CHANNEL } from "./core/feeds/wake-notifier.ts";
import { createWakes } from "./core/feeds/wakes.ts";
import { ensureCredentials, type Credentials } from "./core/identity/credentials-file.ts";
import { createRunStarter } from "./core/runs/start-runs.ts";
import { createListener } from "./db/listen.ts";
import { migrate } from "./db/migrate.ts";
import { createDatabase, type Database } from "./db/pool.ts";
import { sql } from "./db/sql.ts";
import { createApp } from "./http/app.ts";
import { createAuthenticator } from "./http/authenticate/authenticator.ts";
import { createConnectionLimit } from "./http/follow.ts";
import { createMetrics } from "./http/metrics.ts";
import { openApiDocument } from "./http/openapi/document.ts";
import { createReadiness } from "./http/readiness.ts";
import { routes } from "./http/routes.ts";
import { deploymentLoops } from "./loops/deployment-loops.ts";
import { startLoop } from "./loops/loop.ts";
import { runLoops } from "./loops/run-loops.ts";
import { createLog } from "./log.ts";
import type { ServerContext } from "./server-context.ts";
import { createUuidGenerator } from "./uuid.ts";

export type RunningServer = {
  url: string;
  credentials: Credentials;
  /** Stops accepting, ends streams and polls, finishes what is under way, closes the pool. Idempotent. */
  close(): Promise<void>;
};

export type ServerOptions = {
  /** What time it is for every decision of the server. Default: the machine's clock. */
  clock?: Clock;
};

/** Wakes of other replicas travel this much later: one NOTIFY for all of them. */
const NOTIFY_INTERVAL_MS = 5;

/**
 * Starts one replica of the control plane: the order of construction here is the order of dependence, and stopping goes
 * the other way. The database must be there; the embedded one is the caller's to start and to stop after this.
 */
export async function startServer(config: Config & { databaseUrl: string }, options: ServerOptions = {}): Promise<RunningServer> {
  const log = createLog(config.logLevel);
  const directUrl = config.databaseDirectUrl ?? config.databaseUrl;
  const db = createDatabase({
    url: config.databaseUrl,
    directUrl,
    poolSize: config.databasePoolSize,
    statementNames: config.databaseStatementNames,
    onConnectionLost: (error) => log.warn({ err: error }, "database connection lost"),
  });
  try {
    await migrate(directUrl);
    return await serve(config, db, log, options.clock ?? systemClock);
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function serve(config: Config, db: Database, log: ReturnType<typeof createLog>, clock: Clock): Promise<RunningServer> {
  const newUuid = createUuidGenerator(clock);
  const random = Math.random;
  const notifier = createWakeNotifier({
    replicaId: randomUUID(),
    intervalMs: NOTIFY_INTERVAL_MS,
    notify: async (channel, payload) => void (await db.query(sql`SELECT pg_notify(${channel}, ${payload})`)),
    onError: (error) => log.debug({ err: error }, "wake not sent"),
  });
  const wakes = createWakes(notifier.add);
  const leasePolls = createLeasePolls();
  const leaseDurationMs = config.leaseDurationMs;
  const metrics = createMetrics();
  const readiness = await createReadiness(db);
  let openApiJson: string | undefined;
  const context: ServerContext = {
    db,
    clock,
    newUuid,
    random,
    wakes,
    leasePolls,
    leaseDurationMs,
    runStarter: createRunStarter({ db, clock, newUuid, wakes, leasePolls, leaseDurationMs }),
    deployments: createDeploymentCache({ db, clock }),
    blobs: createDiskBlobs(join(config.dataDir, "blobs")),
    shareFeedRead: createSharedReads(),
    readiness,
    metrics,
    openApiJson: () => (openApiJson ??= JSON.stringify(openApiDocument(routes))),
  };
  metrics.gauge("keelson_db_connections", "Open connections to the database.", () => db.poolCounts().total);
  metrics.gauge("keelson_db_waiting", "Callers that wait for a connection.", () => db.poolCounts().waiting);
  metrics.gauge("keelson_starts_pending", "Starts that wait for the database.", () => context.runStarter.pending());
  const app = createApp({
    context,
    routes,
    authenticator: createAuthenticator(db, clock),
    connectionLimit: createConnectionLimit(LIMITS.sseConnectionsPerEnvironment),
    newUuid,
    log,
    isSecure: config.publicUrl?.startsWith("https:") ?? false,
  });
  const listener = createListener({
    url: db.directUrl,
    channels: [WAKE_CHANNEL],
    onNotification: (_channel, payload) => {
      const keys = notifier.read(payload);
      if (keys === null) wakes.wakeAll();
      else for (const key of keys) wakes.wakeLocal(key);
    },
    onGap: wakes.wakeAll,
    onConnectionLost: (error) => log.warn({ err: error }, "listening connection lost"),
  });
  const loops = [...runLoops(context), ...deploymentLoops(context)].map((work) => startLoop(work, log, random));
  const stopParts = async (): Promise<void> => {
    await Promise.all(loops.map((loop) => loop.stop()));
    await listener.close();
    await notifier.stop();
  };
  try {
    await app.listen({ host: config.host, port: config.port });
    const { port } = app.server.address() as AddressInfo;
    const url = config.publicUrl ?? `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
    const credentials = await ensureCredentials(db, join(config.dataDir, "credentials.json"), url, newUuid, clock());
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      readiness.drain();
      await app.close();
      await stopParts();
      await db.close();
    };
    return { url, credentials, close: () => (closing ??= close()) };
  } catch (error) {
    await app.close();
    await stopParts();
    throw error;
  }
}
