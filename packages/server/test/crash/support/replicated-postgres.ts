// Two PostgreSQLs: one that is written to, and one that follows it, for which each commit waits. In front of them is an address
// that can move from one to the other, as a service or a virtual IP does.

import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chown, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { prepareBinaries, type EmbeddedBinaries } from "../../../src/embedded-postgres/binaries.ts";
import { EMBEDDED_USER } from "../../../src/embedded-postgres/cluster.ts";
import { startEmbeddedServer } from "../../../src/embedded-postgres/embedded-server.ts";
import { openClusterDir, openSocketDir } from "../../../src/embedded-postgres/folders.ts";
import { findRunAs, type RunAs } from "../../../src/embedded-postgres/run-as.ts";
import { mergeSettings, serverArguments } from "../../../src/embedded-postgres/settings.ts";
import { layCluster } from "../../support/lay-cluster.ts";
import { makeTestFolder, removeTestFolder } from "../../support/test-folder.ts";
import { until } from "../../support/until.ts";
import { placeOf } from "./postgres-messages.ts";
import { startSocketRelay } from "./socket-relay.ts";

/**
 * How the one that is written to goes: killed; silent, with its connections open; made one that only reads, while the address still
 * points to it; stopped in order.
 */
export const ENDINGS = ["killed", "silent", "demoted", "planned"] as const;
export type Ending = (typeof ENDINGS)[number];

export interface ReplicatedPostgres {
  /** Of the address. */
  readonly url: string;
  /** Of the one that is written to, past the address. */
  readonly primaryUrl: string;
  /**
   * Ends the one that is written to, and lets the other one take over.
   *
   * @param whileReadOnly what happens while the address points to one that only reads, when it is demoted.
   * @returns when the address had moved, by `performance.now()`.
   */
  failOver(ending: Ending, whileReadOnly: () => Promise<void>): Promise<number>;
  /** Makes the other one anew, and waits until commits wait for it. */
  replace(): Promise<void>;
  stop(): Promise<void>;
}

const SETTINGS = mergeSettings({
  wal_level: "replica",
  max_wal_senders: "4",
  hot_standby: "on",
  wal_keep_size: "512MB",
  // How soon the death of the one in front is taken for that.
  wal_retrieve_retry_interval: "200ms",
});
const START_MS = 60_000;

type Place = { binaries: EmbeddedBinaries; runAs: RunAs };

class Node {
  readonly #place: Place;
  readonly clusterDir: string;
  readonly socketDir: string;
  readonly url: string;
  #child: ChildProcess | null = null;

  constructor(place: Place, clusterDir: string, socketDir: string) {
    this.#place = place;
    this.clusterDir = clusterDir;
    this.socketDir = socketDir;
    this.url = `postgresql://${EMBEDDED_USER}@/keelson?host=${encodeURIComponent(socketDir)}&port=5432`;
  }

  async start(): Promise<void> {
    const { binaries, runAs } = this.#place;
    const log = await open(`${this.clusterDir}.log`, "a", 0o600);
    this.#child = spawn(
      binaries.postgres,
      serverArguments(this.clusterDir, this.socketDir, "replicated", SETTINGS),
      {
        ...{ cwd: "/", env: {}, stdio: ["ignore", log.fd, log.fd] },
        ...(runAs.switched ? { uid: runAs.uid, gid: runAs.gid } : {}),
      },
    );
    await log.close();
    await until("PostgreSQL answers", START_MS, () =>
      this.query("SELECT 1").then(
        () => true,
        () => false,
      ),
    );
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  async query(text: string): Promise<any[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** SIGINT: cuts sessions, and sends all there is to the one that follows. */
  async end(signal: "SIGINT" | "SIGKILL"): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    // Those that are frozen would outlive it.
    const pids = signal === "SIGKILL" ? await processesOf(child.pid as number) : [child.pid as number];
    for (const pid of pids) signalIfThere(pid, signal);
    await exited;
    if (signal === "SIGKILL")
      await until("its processes have ended", START_MS, async () => (await livingOf(pids)).length === 0);
  }

  async freeze(): Promise<void> {
    for (const pid of await processesOf(this.#child?.pid as number)) signalIfThere(pid, "SIGSTOP");
  }

  /** Makes it one that follows another, from its next start on. */
  async follow(other: Node): Promise<void> {
    const { runAs } = this.#place;
    const files = {
      "standby.signal": "",
      "postgresql.auto.conf": `primary_conninfo = 'host=${other.socketDir} port=5432 user=${EMBEDDED_USER} application_name=other'\n`,
    };
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(this.clusterDir, name);
      await writeFile(file, text, { mode: 0o600 });
      if (runAs.switched) await chown(file, runAs.uid, runAs.gid);
    }
  }

  /** Copies another one's files while that one is at work. */
  async copy(other: Node): Promise<void> {
    const client = new pg.Client({ connectionString: other.url });
    await client.connect();
    try {
      await client.query("SELECT pg_backup_start('copy', true)");
      await rm(this.clusterDir, { recursive: true, force: true });
      await promisify(execFile)("cp", ["-a", other.clusterDir, this.clusterDir]);
      const { rows } = await client.query<{ labelfile: string }>(
        "SELECT labelfile FROM pg_backup_stop(false)",
      );
      for (const name of ["postmaster.pid", "postmaster.opts", "standby.signal"])
        await rm(path.join(this.clusterDir, name), { force: true });
      const label = path.join(this.clusterDir, "backup_label");
      await writeFile(label, rows[0]?.labelfile ?? "", { mode: 0o600 });
      const { runAs } = this.#place;
      if (runAs.switched) await chown(label, runAs.uid, runAs.gid);
    } finally {
      await client.end();
    }
  }
}

const signalIfThere = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
};

async function parentOf(pid: string): Promise<{ parent: number; state: string } | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => null);
  if (stat === null) return null;
  const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(parent), state };
}

/** A PostgreSQL server's process and those that it has started. */
async function processesOf(postmaster: number): Promise<number[]> {
  const pids: number[] = [postmaster];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    if ((await parentOf(name))?.parent === postmaster) pids.push(Number(name));
  }
  return pids;
}

async function livingOf(pids: readonly number[]): Promise<number[]> {
  const living: number[] = [];
  for (const pid of pids) {
    const found = await parentOf(String(pid));
    if (found !== null && found.state !== "Z") living.push(pid);
  }
  return living;
}

export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const dir = await makeTestFolder();
  const runAs = await findRunAs();
  const folders = ["a", "b"].map((name) => path.join(dir, name));
  await layCluster(folders[0] as string);
  const made = await startEmbeddedServer({ dataDir: folders[0] as string });
  await made.stop();
  const place = { binaries: await prepareBinaries(runAs, undefined), runAs };
  const nodes: Node[] = [];
  for (const folder of folders) {
    const clusterDir = await openClusterDir(runAs, folder);
    nodes.push(new Node(place, clusterDir, await openSocketDir(runAs, clusterDir)));
  }
  let [primary, other] = nodes as [Node, Node];
  await primary.start();
  let pointed = primary;
  // Connections go to where it points when they are made, and stay there.
  const address = await startSocketRelay(() => placeOf(pointed.url).socketPath);

  const replace = async (): Promise<void> => {
    await other.end("SIGKILL");
    await other.copy(primary);
    await other.follow(primary);
    await other.start();
    await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'other'");
    await primary.query("SELECT pg_reload_conf()");
    await until("commits wait for the other one", START_MS, async () => {
      const [row] = await primary.query(
        "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'",
      );
      return row?.sync_state === "sync";
    });
  };
  await replace();
  return {
    url: placeOf(primary.url).urlAt(address.port),
    get primaryUrl() {
      return primary.url;
    },
    failOver: async (ending, whileReadOnly) => {
      const old = primary;
      if (ending === "silent") await old.freeze();
      else await old.end(ending === "killed" ? "SIGKILL" : "SIGINT");
      if (ending === "demoted") {
        await old.follow(other);
        await old.start();
        await whileReadOnly();
      }
      const [row] = await other.query("SELECT pg_promote(true, 60) AS done");
      assert.equal(row?.done, true);
      [primary, other] = [other, old];
      pointed = primary;
      return performance.now();
    },
    replace,
    stop: async () => {
      await address.close();
      await Promise.all(nodes.map((node) => node.end("SIGKILL")));
      for (const node of nodes) await rm(node.socketDir, { recursive: true, force: true });
      await removeTestFolder(dir);
    },
  };
}
