import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { systemClock, type Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import { createCredentialUse, type CredentialUse } from "./core/credentials/credential-use.ts";
import { recordUse } from "./core/credentials/record-use.ts";
import { WAKE_CHANNEL } from "./core/feeds/wake-notifier.ts";
import {
  ensureCredentials,
  ensureGivenCredentials,
  type Credentials,
} from "./core/identity/credentials-file.ts";
import { USER_SESSION_MS } from "./core/logins/login.ts";
import { createListener } from "./db/listen.ts";
import { migrate } from "./db/migrate.ts";
import { createDatabase, type Database } from "./db/pool.ts";
import { createApp } from "./http/app.ts";
import { createAuthenticator } from "./http/authenticate/authenticator.ts";
import { createRateLimits, type RateLimits } from "./http/rate-limits.ts";
import { routes } from "./http/routes.ts";
import { activityLoops } from "./loops/activity-loops.ts";
import { deploymentLoops } from "./loops/deployment-loops.ts";
import { createContext } from "./create-context.ts";
import type { Logger } from "pino";
import { idempotencyLoops } from "./loops/idempotency-loops.ts";
import { loginLoops } from "./loops/login-loops.ts";
import { startLoops, type LoopWork } from "./loops/loop.ts";
import { retentionLoops } from "./loops/retention-loops.ts";
import { runLoops } from "./loops/run-loops.ts";
import { waitLoops } from "./loops/wait-loops.ts";
import { tokenLoops } from "./loops/token-loops.ts";
import { sessionLoops } from "./loops/session-loops.ts";
import { scheduleLoops } from "./loops/schedule-loops.ts";
import { secretLoops } from "./loops/secret-loops.ts";
import { quotaLoops } from "./loops/quota-loops.ts";
import { rateLoops } from "./loops/rate-loops.ts";
import { workspaceLoops } from "./loops/workspace-loops.ts";
import { createLog } from "./log.ts";
import { refuseUnfinishedRestore } from "./refuse-unfinished-restore.ts";
import type { ServerContext } from "./server-context.ts";

export type RunningServer = {
  /** Where it listens. */
  url: string;
  /** Where callers reach it: `PUBLIC_URL`, or where it listens. */
  publicUrl: string;
  credentials: Credentials;
  /** Stops accepting, ends streams and polls, finishes what is under way, closes the pool. Idempotent. */
  close(): Promise<void>;
};

export type ServerOptions = {
  /** What time it is for every decision of the server. Default: the machine's clock. */
  clock?: Clock;
  /** Where messages to people go without SMTP. Default: standard error. */
  print?: (text: string) => void;
};

/**
 * Starts one replica of the control plane: the order of construction here is the order of dependence, and stopping goes
 * the other way. The database must be there; the embedded one is the caller's to start and to stop after this.
 */
export async function startServer(
  config: Config & { databaseUrl: string },
  options: ServerOptions = {},
): Promise<RunningServer> {
  await refuseUnfinishedRestore(config.dataDir);
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
    return await serve(config, db, log, options);
  } catch (error) {
    await db.close();
    throw error;
  }
}

const loopWorks = (
  context: ServerContext,
  credentialUse: CredentialUse,
  rateLimits: RateLimits,
): LoopWork[] => [
  ...runLoops(context),
  ...waitLoops(context),
  ...tokenLoops(context),
  ...sessionLoops(context),
  ...deploymentLoops(context),
  ...idempotencyLoops(context),
  ...scheduleLoops(context),
  ...secretLoops(context),
  ...workspaceLoops(context),
  ...retentionLoops(context),
  ...loginLoops(context, credentialUse),
  ...rateLoops(context, rateLimits.counters),
  ...quotaLoops(context),
  ...activityLoops(context),
];

async function serve(
  config: Config,
  db: Database,
  log: Logger,
  options: ServerOptions,
): Promise<RunningServer> {
  const { clock = systemClock, print = (text) => void process.stderr.write(text) } = options;
  const { context, notifier, listensAt } = await createContext(config, db, log, { clock, print });
  const credentialUse = createCredentialUse();
  const rateLimits = createRateLimits(config.rateLimits, context);
  const app = createApp({
    context,
    routes,
    authenticator: createAuthenticator(db, context.clock, credentialUse),
    rateLimits,
    trustedProxies: config.trustedProxies,
    newUuid: context.newUuid,
    log,
    isSecure: context.isSecure,
    publicUrl: config.publicUrl,
  });
  const listener = createListener({
    url: db.directUrl,
    channels: [WAKE_CHANNEL],
    onNotification: (_channel, payload) => {
      const keys = notifier.read(payload);
      if (keys === null) context.wakes.wakeAll();
      else for (const key of keys) context.wakes.wakeLocal(key);
    },
    onGap: context.wakes.wakeAll,
    onConnectionLost: (error) => log.warn({ err: error }, "listening connection lost"),
  });
  const loops = startLoops(loopWorks(context, credentialUse, rateLimits), { ...context, log });
  const stopParts = async (): Promise<void> => {
    await Promise.all(loops.map((loop) => loop.stop()));
    await listener.close();
    await notifier.stop();
    await context.mail.close();
    await recordUse(db, credentialUse, USER_SESSION_MS, clock()).catch((error: unknown) =>
      log.warn({ err: error }, "last uses of credentials not written"),
    );
  };
  try {
    await app.listen({ host: config.host, port: config.port });
    const { port } = app.server.address() as AddressInfo;
    const url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
    listensAt(url);
    const publicUrl = context.publicUrl();
    const credentials = await firstCredentials(config, context, publicUrl);
    context.readiness.open();
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      context.readiness.drain();
      await app.close();
      await stopParts();
      await db.close();
    };
    return { url, publicUrl, credentials, close: () => (closing ??= close()) };
  } catch (error) {
    await app.close();
    await stopParts();
    throw error;
  }
}

/** Those of the configuration, or those made at the first start, which are in the data folder. */
function firstCredentials(
  { credentials, dataDir }: Config,
  { db, newUuid, clock }: ServerContext,
  publicUrl: string,
): ReturnType<typeof ensureCredentials> {
  return credentials === null
    ? ensureCredentials(db, join(dataDir, "credentials.json"), publicUrl, newUuid, clock())
    : ensureGivenCredentials(db, credentials, publicUrl, newUuid, clock());
}
