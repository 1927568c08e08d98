// One life of the embedded server's process: spawn it, or take over the one a killed Keelson left, and end it.

import { type ChildProcess, spawn } from "node:child_process";
import { chown, open, readFile, rename, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { EmbeddedBinaries } from "./binaries.ts";
import { EMBEDDED_USER } from "./cluster.ts";
import { openSocketDir } from "./folders.ts";
import { serverArguments, type ServerSettings } from "./settings.ts";
import { disownStalePids, isPostmasterOf, readPostmasterPid } from "./postmaster-pid.ts";
import type { RunAs } from "./run-as.ts";

const PROBE_INTERVAL_MS = 5;
const SLOW_START_NOTICE_MS = 5_000;
const FAST_STOP_MS = 20_000;
const IMMEDIATE_STOP_MS = 5_000;
const MAX_LOG_BYTES = 10 * 1024 * 1024;
// Held by the process that uses the server, for as long as it lives: the kernel closes its connection at its death.
const OWNER_LOCK = 7_233_101_877;

/** What is fixed for one cluster. */
export interface ClusterPlace {
  readonly binaries: EmbeddedBinaries;
  readonly runAs: RunAs;
  readonly clusterDir: string;
  readonly socketDir: string;
  readonly logFile: string;
  readonly label: string;
  readonly settings: ServerSettings;
  readonly log: (message: string) => void;
}

/** A server that accepts connections and is ours. */
export interface RunningPostmaster {
  readonly pid: number;
  readonly adopted: boolean;
  /** The connection that proves ownership. */
  readonly owner: pg.Client;
  /** Resolves when that connection has ended, which means that the server went away. */
  readonly gone: Promise<void>;
  /** Set when this process spawned the server. */
  readonly child: ChildProcess | null;
}

/** Takes over the living server of this folder, or starts one. Refuses when a living Keelson uses it. */
export async function obtainPostmaster(place: ClusterPlace): Promise<RunningPostmaster> {
  for (;;) {
    const left = await findLeftServer(place);
    if (left === null) {
      const started = await spawnPostmaster(place);
      if (started !== null) return started;
      continue; // Another process claimed the folder between our look and our start: look again.
    }
    const connected = await connectWhenReady(place, left, () => isPostmasterOf(left, place.clusterDir));
    if (connected !== null) {
      const { owner } = connected;
      if (!(await takeOwnership(owner))) {
        await owner.end();
        throw new Error(
          `The database in ${place.clusterDir} is in use by another Keelson that is running (PostgreSQL has process id ${left}). Stop it first, or choose another KEELSON_DATA_DIR.`,
        );
      }
      const { rows } = await owner.query<{ cluster_name: string; dirs: string }>(
        `SELECT current_setting('cluster_name') AS cluster_name, current_setting('unix_socket_directories') AS dirs`,
      );
      if (rows[0]?.cluster_name === place.label && rows[0].dirs === place.socketDir) {
        place.log(`took over the PostgreSQL server that was left running (process ${left})`);
        return { ...connected, pid: left, adopted: true, child: null };
      }
      await owner.end();
    } else if (!(await isPostmasterOf(left, place.clusterDir))) {
      continue; // It was stopping, or its start failed.
    }
    place.log(
      `stopping the PostgreSQL server that was left running with other settings or does not answer (process ${left})`,
    );
    await endPostmaster(place, left, null);
  }
}

/** Fast shutdown: sessions are cut, all is written. Returns when the server has gone. */
export async function endPostmaster(
  place: ClusterPlace,
  pid: number,
  child: ChildProcess | null,
): Promise<void> {
  const gone = async (): Promise<boolean> =>
    child
      ? child.exitCode !== null || child.signalCode !== null
      : !(await isPostmasterOf(pid, place.clusterDir));
  const steps = [
    { signal: "SIGINT", waitMs: FAST_STOP_MS },
    { signal: "SIGQUIT", waitMs: IMMEDIATE_STOP_MS },
    { signal: "SIGKILL", waitMs: IMMEDIATE_STOP_MS },
  ] as const;
  for (const { signal, waitMs } of steps) {
    if (await gone()) return;
    if (signal !== "SIGINT") place.log(`PostgreSQL (process ${pid}) has not stopped, sending ${signal}`);
    try {
      process.kill(pid, signal);
    } catch (error) {
      // It has ended since it was looked at.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      if (await gone()) return;
      await sleep(PROBE_INTERVAL_MS);
    }
  }
  throw new Error(`PostgreSQL (process ${pid}) cannot be stopped.`);
}

/** The process id of the living server of this folder, or null. */
async function findLeftServer(place: ClusterPlace): Promise<number | null> {
  const claim = await readPostmasterPid(place.clusterDir);
  return claim !== null && (await isPostmasterOf(claim.pid, place.clusterDir)) ? claim.pid : null;
}

/** Returns null when another server holds the folder. */
async function spawnPostmaster(place: ClusterPlace): Promise<RunningPostmaster | null> {
  const { binaries, runAs, clusterDir, socketDir, label, settings } = place;
  // Made again: the one that was stopped before us has removed it, or a cleaner of temporary folders has.
  await openSocketDir(runAs, clusterDir);
  await disownStalePids(clusterDir, socketDir, String(settings["port"]));
  await rotateLog(place.logFile);
  const logHandle = await open(place.logFile, "a", 0o600);
  const logStart = (await logHandle.stat()).size;
  let child: ChildProcess;
  try {
    if (runAs.switched) await chown(place.logFile, runAs.uid, runAs.gid);
    child = spawn(binaries.postgres, serverArguments(clusterDir, socketDir, label, settings), {
      // Its own session: Ctrl-C in the terminal reaches us, and we stop the server when all else has stopped.
      detached: true,
      cwd: "/",
      env: {},
      stdio: ["ignore", logHandle.fd, logHandle.fd],
      ...(runAs.switched ? { uid: runAs.uid, gid: runAs.gid } : {}),
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
  } finally {
    await logHandle.close();
  }
  // The server alone must not keep this process alive: whoever uses the database does.
  child.unref();
  const pid = child.pid;
  if (pid === undefined) throw new Error("PostgreSQL was started without a process id.");

  const connected = await connectWhenReady(
    place,
    pid,
    async () => child.exitCode === null && child.signalCode === null,
  );
  if (connected !== null) {
    if (await takeOwnership(connected.owner)) return { ...connected, pid, adopted: false, child };
    await connected.owner.end();
    return null; // Another process took it over first.
  }
  await endPostmaster(place, pid, child); // It may live without answering.
  const said = (await readFile(place.logFile, "utf8")).slice(logStart);
  if (/lock file "postmaster\.pid" already exists|pre-existing shared memory block/.test(said)) {
    // The last backends of a killed server end within milliseconds of it.
    await sleep(50);
    return null;
  }
  const fatal =
    said.split("\n").findLast((line) => /FATAL|PANIC|error while loading/.test(line)) ??
    said.trim().split("\n").at(-1);
  throw new Error(
    `PostgreSQL did not start: ${fatal?.replace(/^.*?(FATAL|PANIC): +/, "") || "it said nothing"} (log: ${place.logFile})`,
  );
}

/** Connects as soon as the server is ready; null when it is not running (any more), or is ready and does not answer. */
async function connectWhenReady(
  place: ClusterPlace,
  pid: number,
  isRunning: () => Promise<boolean>,
): Promise<Pick<RunningPostmaster, "owner" | "gone"> | null> {
  const startedAt = performance.now();
  let noticed = false;
  for (;;) {
    if (!(await isRunning())) return null;
    const claim = await readPostmasterPid(place.clusterDir);
    // The file is read rather than the socket tried: every refused connection is a line in the server's log.
    if (claim?.pid === pid && claim.status === "ready") {
      const owner = new pg.Client({
        host: claim.socketDir,
        port: claim.port,
        user: EMBEDDED_USER,
        database: "postgres",
        application_name: "keelson owner",
        connectionTimeoutMillis: 5_000,
      });
      owner.on("error", () => {}); // The end of the connection follows, and is what counts.
      const gone = new Promise<void>((resolve) => {
        owner.once("end", () => resolve());
      });
      try {
        await owner.connect();
        return { owner, gone };
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        // 57P03: it has begun to stop or recover since the file was read.
        if (code !== "57P03") {
          place.log(`PostgreSQL does not answer: ${message}`);
          return null;
        }
      }
    }
    if (!noticed && performance.now() - startedAt > SLOW_START_NOTICE_MS) {
      noticed = true;
      place.log("PostgreSQL is recovering after an unclean stop; this can take a minute");
    }
    await sleep(PROBE_INTERVAL_MS);
  }
}

async function takeOwnership(owner: pg.Client): Promise<boolean> {
  // A killed owner's session ends when the server next reads from its socket, which is at once; a second is generous.
  const deadline = performance.now() + 1_000;
  do {
    const { rows } = await owner.query<{ taken: boolean }>("SELECT pg_try_advisory_lock($1) AS taken", [
      OWNER_LOCK,
    ]);
    if (rows[0]?.taken === true) return true;
    await sleep(20);
  } while (performance.now() < deadline);
  return false;
}

async function rotateLog(logFile: string): Promise<void> {
  const size = await stat(logFile).then(
    (found) => found.size,
    () => 0,
  );
  if (size > MAX_LOG_BYTES) await rename(logFile, path.join(path.dirname(logFile), "postgres.old.log"));
}
