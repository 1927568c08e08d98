// The built-in PostgreSQL server: what `npm start` stores everything in when DATABASE_URL is not set.
//
// The life of a server: the binaries are made runnable, a cluster is made when there is none, then the server left by a
// killed Keelson is taken over, or a new one is spawned. While we live it is watched, and started again if it dies or is
// told to stop by others; when we die without a word, a guard ends it. `stop()` ends it with a fast shutdown. It runs in a session of its own, so that Ctrl-C in a terminal does not reach it
// before the rest has stopped. Its only entrance is a unix socket in a folder that its account alone may enter; whoever
// is let in needs no password. Do not run foreign code as that account.

import { rmdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import path from "node:path";
import { prepareBinaries } from "./binaries.ts";
import { EMBEDDED_USER, finishCluster, prepareCluster } from "./cluster.ts";
import { digestOf, openClusterDir, openSocketDir } from "./folders.ts";
import { startPostmasterGuard } from "./guard.ts";
import { type ClusterPlace, endPostmaster, obtainPostmaster, type RunningPostmaster } from "./postmaster.ts";
import { mergeSettings, type ServerSettings } from "./settings.ts";
import { untilGone } from "./stop-request.ts";
import { isPostmasterOf, readPostmasterPid } from "./postmaster-pid.ts";
import { findRunAs } from "./run-as.ts";

const DATABASE = "keelson";
const RESTART_BACKOFF_MS = [0, 100, 500, 1_000, 2_000, 5_000];

export interface EmbeddedServerOptions {
  /** Folder for the database alone, e.g. `.keelson/postgres`; made when missing. */
  readonly dataDir: string;
  /** Folder for the programs' copies, shared by all checkouts of the machine. Default: the account's cache folder. */
  readonly cacheDir?: string;
  /** Gets one line for what is worth telling: take-over, recovery, restart. */
  readonly log?: (message: string) => void;
  /**
   * Called once when somebody else tells the server to stop, such as a supervisor that signals every process. It is started
   * again, because what uses it needs it to end in order: `stop()` it then.
   */
  readonly onStopRequest?: () => void;
  /** Settings of postgresql.conf that replace the defaults of `embedded-settings.ts`. */
  readonly settings?: ServerSettings;
}

export interface EmbeddedServer {
  /** Connection URL of the database `keelson` over the unix socket; the same after every restart. */
  readonly url: string;
  /** True when the server was found running and taken over. */
  readonly adopted: boolean;
  /** Process id of the server; another after it died and was started again. */
  readonly pid: number;
  /** The server's log file. */
  readonly logFile: string;
  /** Ends the server with a fast shutdown and waits until it has gone. */
  stop(): Promise<void>;
}

/**
 * Starts the built-in PostgreSQL, or takes over the one that was left running, and resolves when it accepts connections.
 * Throws an error of one line when the platform has no binaries, a folder cannot be used, the folder's version is
 * another, or a living Keelson uses the folder.
 */
export async function startEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const log = options.log ?? ((): void => {});
  const runAs = await findRunAs();
  const clusterDir = await openClusterDir(runAs, options.dataDir);
  const [binaries, socketDir] = await Promise.all([
    prepareBinaries(runAs, options.cacheDir),
    openSocketDir(runAs, clusterDir),
  ]);
  const settings = mergeSettings(options.settings);
  const label = `keelson-${binaries.version}-${digestOf(JSON.stringify([binaries.postgres, settings]))}`;
  const place: ClusterPlace = {
    binaries,
    runAs,
    clusterDir,
    socketDir,
    logFile: path.join(path.dirname(clusterDir), "postgres.log"),
    label,
    settings,
    log,
  };

  const guard = startPostmasterGuard(place);
  let current = await startFirst(place).catch((error: unknown) => {
    guard.close();
    throw error;
  });
  await guard.watch(current.pid);
  let stopping: Promise<void> | undefined;
  let isAsked = false;
  const watched = (async (): Promise<void> => {
    for (;;) {
      const end = await untilGone(place, current);
      if (stopping !== undefined) return;
      if (end === "told to stop" && !isAsked) {
        isAsked = true;
        log(
          `PostgreSQL (process ${current.pid}) was told to stop; it is started again until the rest has ended`,
        );
        options.onStopRequest?.();
      }
      const restarted = await restart(place, () => stopping !== undefined);
      if (restarted === null) return;
      current = restarted;
      await guard.watch(restarted.pid);
      log(`PostgreSQL had gone and is back (process ${restarted.pid})`);
    }
  })();

  return {
    url: urlOf(socketDir, String(settings["port"])),
    adopted: current.adopted,
    get pid() {
      return current.pid;
    },
    logFile: place.logFile,
    stop() {
      stopping ??= (async (): Promise<void> => {
        await endPostmaster(place, current.pid, current.child);
        await watched;
        guard.close();
        await removeSocketDir(place);
      })();
      return stopping;
    },
  };
}

/**
 * The server of the folder that a living Keelson uses, or that one has left running, to connect to beside it; null when
 * none runs. It is not taken over, and may stop at any moment.
 */
export async function findEmbeddedServer(dataDir: string): Promise<{ url: string } | null> {
  const clusterDir = await openClusterDir(await findRunAs(), dataDir);
  const claim = await readPostmasterPid(clusterDir);
  if (claim?.status !== "ready" || !(await isPostmasterOf(claim.pid, clusterDir))) return null;
  return { url: urlOf(claim.socketDir, claim.port) };
}

const urlOf = (socketDir: string, port: string | number): string =>
  `postgresql://${EMBEDDED_USER}@/${DATABASE}?host=${encodeURIComponent(socketDir)}&port=${port}`;

async function startFirst(place: ClusterPlace): Promise<RunningPostmaster> {
  try {
    const isNew = await prepareCluster(place.binaries, place.runAs, place.clusterDir);
    const running = await obtainPostmaster(place);
    try {
      await Promise.all([isNew ? finishCluster(place.clusterDir) : undefined, ensureDatabase(running)]);
      return running;
    } catch (error) {
      await endPostmaster(place, running.pid, running.child);
      throw error;
    }
  } catch (error) {
    await removeSocketDir(place);
    throw error;
  }
}

async function removeSocketDir({ socketDir }: ClusterPlace): Promise<void> {
  // Not empty when another process uses the server, or has begun to start it again.
  await rmdir(socketDir).catch(() => undefined);
}

async function ensureDatabase({ owner }: RunningPostmaster): Promise<void> {
  const { rowCount } = await owner.query("SELECT FROM pg_database WHERE datname = $1", [DATABASE]);
  if (rowCount === 0) await owner.query(`CREATE DATABASE ${DATABASE}`);
}

/** Brings the server back after it died, or after its backends were restarted; tries for ever, until asked to stop. */
async function restart(place: ClusterPlace, isStopping: () => boolean): Promise<RunningPostmaster | null> {
  for (let attempt = 0; !isStopping(); attempt++) {
    await sleep(RESTART_BACKOFF_MS[attempt] ?? RESTART_BACKOFF_MS.at(-1));
    if (isStopping()) return null;
    try {
      const running = await obtainPostmaster(place);
      if (isStopping()) {
        await endPostmaster(place, running.pid, running.child);
        return null;
      }
      return running;
    } catch (error) {
      place.log(`PostgreSQL cannot be started again: ${(error as Error).message}`);
    }
  }
  return null;
}
