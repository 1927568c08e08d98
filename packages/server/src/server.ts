import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { MailOptions } from "./adapters/mail.ts";
import { keepMails } from "./adapters/mail-folder.ts";
import type { Config } from "./config.ts";
import { createCredentialUse, type CredentialUse } from "./core/credentials/credential-use.ts";
import { recordUse } from "./core/credentials/record-use.ts";
import { WAKE_CHANNEL, type WakeNotifier } from "./core/feeds/wake-notifier.ts";
import { DEFAULT_PROJECT } from "./core/identity/bootstrap-tenancy.ts";
import {
  ensureCredentials,
  ensureGivenCredentials,
  type Credentials,
} from "./core/identity/credentials-file.ts";
import { slugOf } from "./core/identity/identity.ts";
import { USER_SESSION_MS } from "./core/logins/login.ts";
import { createListener, type Listener } from "./db/listen.ts";
import { migrate } from "./db/migrate.ts";
import type { Database } from "./db/pool.ts";
import { checkSessions } from "./db/check-sessions.ts";
import { waitForDatabase } from "./db/wait-for-database.ts";
import { createApp } from "./http/edge/app.ts";
import { addConsole } from "./http/system/console.ts";
import { createAuthenticator } from "./http/edge/authenticate/authenticator.ts";
import { maxConnections } from "./http/edge/connections/open-file-limit.ts";
import { createRateLimits, type RateLimits } from "./http/edge/rate-limits.ts";
import { replayBody } from "./http/resources/bulk-actions/replay-body.ts";
import { routes } from "./http/routes.ts";
import { activityLoops } from "./loops/activity-loops.ts";
import { bulkActionLoops } from "./loops/bulk-action-loops.ts";
import { clockLoops } from "./loops/clock-loops.ts";
import { deploymentLoops } from "./loops/deployment-loops.ts";
import { createContext } from "./create-context.ts";
import type { Logger } from "pino";
import { failureLoops } from "./loops/failure-loops.ts";
import { indexBuildLoops } from "./loops/index-build-loops.ts";
import { idempotencyLoops } from "./loops/idempotency-loops.ts";
import { loginLoops } from "./loops/login-loops.ts";
import { startLoops, type LoopWork } from "./loops/loop.ts";
import { errorLoops } from "./loops/error-loops.ts";
import { searchLoops } from "./loops/search-loops.ts";
import { retentionLoops } from "./loops/retention-loops.ts";
import { rollupLoops } from "./loops/rollup-loops.ts";
import { runLoops } from "./loops/run-loops.ts";
import { waitLoops } from "./loops/wait-loops.ts";
import { tokenLoops } from "./loops/token-loops.ts";
import { sessionLoops } from "./loops/session-loops.ts";
import { scheduleLoops } from "./loops/schedule-loops.ts";
import { secretLoops } from "./loops/secret-loops.ts";
import { quotaLoops } from "./loops/quota-loops.ts";
import { rateLoops } from "./loops/rate-loops.ts";
import { workerLoops } from "./loops/worker-loops.ts";
import { workspaceLoops } from "./loops/workspace-loops.ts";
import { createLog } from "./log.ts";
import { openDatabase, type OpenDatabase } from "./open-database.ts";
import { createKnownRuns, type KnownRuns } from "./core/executions/known-runs.ts";
import type { NotedFact } from "./noted-fact.ts";
import { openMetrics, type OpenMetrics } from "./open-metrics.ts";
import { refuseUnfinishedRestore } from "./refuse-unfinished-restore.ts";
import type { ServerContext } from "./server-context.ts";
import type { Clock } from "./clock.ts";
import { keepTime } from "./time/keep-time.ts";
import { TICK_EVERY_MS, trustClock, type Timekeeper } from "./time/timekeeper.ts";

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
  /** What time it is for every decision of the server, which then never takes itself for absent. Default: PostgreSQL's. */
  clock?: Clock;
  /** Where messages to people go without SMTP. Default: the terminal; without one, files in the data folder. */
  print?: (text: string) => void;
  /** Whether a transaction that asks for a second connection fails: for tests. */
  refuseSecondConnection?: boolean;
  /** Ends the waiting for a database that is not there yet. */
  signal?: AbortSignal;
  /** Slug or name of the project that the first start on an empty database makes. Default: `default`. */
  firstProject?: string;
};

/**
 * Starts one replica of the control plane: the order of construction here is the order of dependence, and stopping goes
 * the other way. A database that is not there yet is waited for; the embedded one is the caller's to start and to stop after this.
 */
export async function startServer(
  config: Config & { databaseUrl: string },
  options: ServerOptions = {},
): Promise<RunningServer> {
  await refuseUnfinishedRestore(config.dataDir);
  const log = createLog(config.logLevel);
  const { refuseSecondConnection = false } = options;
  const counted = openMetrics(log);
  const { noteWaited } = counted;
  const knownRuns = createKnownRuns();
  const note = (fact: NotedFact): void => {
    counted.note(fact);
    if (fact.kind === "runs") knownRuns.note(fact.runs);
    if (fact.kind === "starts") knownRuns.noteStarts(fact.runs);
  };
  const store = openDatabase(config, log, { refuseSecondConnection, note, noteWaited });
  const { db } = store;
  try {
    for (const url of new Set([db.directUrl, config.databaseUrl]))
      await waitForDatabase(url, {
        forMs: config.databaseWaitMs,
        onWaiting: (wait) => log.warn(wait, "waiting for the database"),
        ...(options.signal !== undefined && { signal: options.signal }),
      });
    await checkSessions(
      {
        ...{ url: config.databaseUrl, directUrl: db.directUrl, poolSize: config.databasePoolSize },
        statementNames: config.databaseStatementNames,
      },
      (text) => log.warn(text),
    );
    await migrate(db.directUrl);
    const timekeeper = options.clock === undefined ? await keepTime(db, log) : trustClock(options.clock);
    return await serve(config, { ...store, counted, knownRuns }, log, options, timekeeper);
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Mails have links that are credentials: standard error has them only when it is a terminal. */
const printer = (dataDir: string, clock: Clock, log: Logger): MailOptions["print"] =>
  process.stderr.isTTY
    ? (text) => void process.stderr.write(text)
    : keepMails(join(dataDir, "mail"), clock, log);

/** What a server does by itself. */
export const loopWorks = (
  context: ServerContext,
  credentialUse: CredentialUse,
  rateLimits: RateLimits,
): LoopWork[] => [
  ...runLoops(context),
  ...waitLoops(context),
  ...errorLoops(context),
  ...searchLoops(context),
  ...tokenLoops(context),
  ...sessionLoops(context),
  ...deploymentLoops(context),
  ...idempotencyLoops(context),
  ...scheduleLoops(context),
  ...bulkActionLoops({ ...context, replayBody }),
  ...secretLoops(context),
  ...workerLoops(context),
  ...workspaceLoops(context),
  ...retentionLoops(context),
  ...loginLoops(context, credentialUse),
  ...rateLoops(context, rateLimits.counters),
  ...quotaLoops(context),
  ...activityLoops(context),
  ...rollupLoops(context),
  ...failureLoops(context),
  ...clockLoops(context),
  ...indexBuildLoops(context),
];

/** Hears what other servers have done: wakes of readers, and credentials that are revoked. */
function listenForOthers(
  db: Database,
  log: Logger,
  { credentialCache, writtenExecutions, wakes, timekeeper }: ServerContext,
  notifier: WakeNotifier,
): Listener {
  const hearEverything = (): void => {
    credentialCache.forgetAll();
    wakes.wakeAll();
  };
  const listener = createListener({
    url: db.directUrl,
    channels: [WAKE_CHANNEL],
    onNotification: (_channel, payload) => {
      const keys = notifier.read(payload);
      if (keys === null) hearEverything();
      else for (const key of keys) if (!credentialCache.hear(key)) wakes.wakeLocal(key);
    },
    onGap: () => {
      db.isHeardAgain();
      writtenExecutions.forgetAll();
      hearEverything();
      notifier.greet();
    },
    onListeners: notifier.listening,
    onTime: timekeeper.hear,
    onConnectionLost: (error, wasHearing) => {
      // Another PostgreSQL may take the place of the one that wrote them, and gives the same numbers to other transactions.
      writtenExecutions.forgetAll();
      if (wasHearing) db.connectionsAreSuspect();
      log.warn({ err: error }, "listening connection lost");
    },
  });
  void listener.ready.then(notifier.greet);
  return listener;
}

async function serve(
  config: Config,
  { db, wakes, notifier, counted, knownRuns }: OpenDatabase & { counted: OpenMetrics; knownRuns: KnownRuns },
  log: Logger,
  options: ServerOptions,
  timekeeper: Timekeeper,
): Promise<RunningServer> {
  const clock = timekeeper.now;
  const { print = printer(config.dataDir, clock, log) } = options;
  const { context, listensAt } = await createContext(config, db, log, {
    ...{ timekeeper, print, wakes, counted, knownRuns },
  });
  const credentialUse = createCredentialUse();
  const rateLimits = createRateLimits(config.rateLimits, context);
  const app = createApp({
    addPages: addConsole,
    context,
    routes,
    authenticator: createAuthenticator(context, credentialUse),
    rateLimits,
    trustedProxies: config.trustedProxies,
    connectionLimits: { perAddress: config.addressConnections, max: maxConnections(config.databasePoolSize) },
    newUuid: context.newUuid,
    log,
    isSecure: context.isSecure,
    publicUrl: config.publicUrl,
  });
  const ticking = setInterval(timekeeper.tick, TICK_EVERY_MS).unref();
  const listener = listenForOthers(db, log, context, notifier);
  const loops = startLoops(loopWorks(context, credentialUse, rateLimits), { ...context, log });
  const stopParts = async (): Promise<void> => {
    await Promise.all(loops.map((loop) => loop.stop()));
    await listener.close();
    await notifier.stop();
    await context.mail.close();
    clearInterval(ticking);
    await recordUse(db, credentialUse, USER_SESSION_MS, clock()).catch((error: unknown) =>
      log.warn({ err: error }, "last uses of credentials not written"),
    );
  };
  try {
    await app.listen({ host: config.host, port: config.port });
    const { port } = app.server.address() as AddressInfo;
    const url = `http://${reachableHost(config.host)}:${port}`;
    listensAt(url);
    if (config.publicUrl === null && !LOOPBACK.test(config.host)) log.warn(NO_PUBLIC_URL);
    const publicUrl = context.publicUrl();
    const credentials = await firstCredentials(config, context, log, publicUrl, options.firstProject);
    context.readiness.open();
    let closing: Promise<void> | undefined;
    const close = async (): Promise<void> => {
      context.readiness.drain();
      if (config.drainDelayMs > 0) await sleep(config.drainDelayMs);
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

const LOOPBACK = /^(127\.[\d.]+|::1|localhost)$/;

const NO_PUBLIC_URL =
  "The server listens beyond this machine and PUBLIC_URL is not set: links point to this machine, and the console " +
  "can change things only under a loopback host. Set PUBLIC_URL to the address that people open.";

/** How to reach a host on this machine: one that stands for all addresses is reached by loopback. */
function reachableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/** Those of the configuration, or those made at the first start, which are in the data folder. */
function firstCredentials(
  { credentials, dataDir }: Config,
  { db, newUuid, makeCredential, clock }: ServerContext,
  log: Logger,
  publicUrl: string,
  name: string | undefined,
): ReturnType<typeof ensureCredentials> {
  const project = name === undefined ? DEFAULT_PROJECT : { name, slug: slugOf(name) ?? DEFAULT_PROJECT.slug };
  if (credentials !== null)
    return ensureGivenCredentials(db, credentials, publicUrl, project, newUuid, clock());
  const warn = (news: string): void => log.warn(news);
  const context = { newUuid, makeCredential, warn, now: clock() };
  return ensureCredentials(db, join(dataDir, "credentials.json"), publicUrl, project, context);
}
