// All of `keelson up` as its processes are, told from others by the data folder that their arguments or environment name.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Client } from "@keelson/sdk";
import { claimPort } from "../../server/test/support/claim-port.ts";
import { isAlive } from "../../server/src/embedded-postgres/postmaster-pid.ts";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";
import { layCluster } from "../../server/test/support/lay-cluster.ts";
import { letPass, nextLookMs, patience } from "../../server/test/support/until.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programFile } from "../../server/test/support/programs.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
export const RUN = join(ROOT, "scripts/run.mjs");
export const MAIN = programFile("cli/src/main.ts");
const READY_MS = 60_000;
/** In which everything is gone after a signal. */
export const GONE_MS = 15_000;

/** What npm does with its script: a group of their own, and what it is told is passed on. */
const WRAPPER = `
const { spawn } = require("node:child_process");
const child = spawn(process.execPath, process.argv.slice(1), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => signal === null ? process.exit(code) : process.kill(process.pid, signal));
`;

export type UpSite = {
  folder: string;
  dataDir: string;
  env: Record<string, string>;
  url: string;
  [Symbol.asyncDispose](): Promise<void>;
};

export async function makeUpSite(): Promise<UpSite> {
  const folder = await makeTestFolder();
  const dataDir = join(folder, "data");
  await layCluster(join(dataDir, "postgres"));
  const port = await claimPort();
  return {
    folder,
    dataDir,
    env: {
      ...bareEnvironment(),
      ...{ PORT: String(port), KEELSON_DATA_DIR: dataDir, npm_lifecycle_event: "start" },
    },
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const pid of processesOf(dataDir)) kill(pid, "SIGKILL");
      await until(
        () => processesOf(dataDir).length === 0,
        patience(),
        () => `Processes outlive a SIGKILL: ${processesOf(dataDir).join(", ")}.`,
      );
      await removeTestFolder(folder);
    },
  };
}

export type Running = {
  outer: ChildProcess;
  client: Client;
  said: () => string;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  pids: Pids;
};
export type Pids = Record<"outer" | "run" | "up" | "agent" | "postmaster", number>;

/** `keelson up` below a wrapper like npm, in a process group of its own. */
export async function startUp(site: UpSite): Promise<Running> {
  const outer = spawn(process.execPath, ["--eval", WRAPPER, RUN, MAIN, "up"], {
    cwd: site.folder,
    env: site.env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let said = "";
  // An error of the log is long; its message says enough.
  for (const stream of [outer.stdout, outer.stderr])
    stream?.on(
      "data",
      (bytes: Buffer) => (said += bytes.toString().replaceAll(/"err":\{.*?\},"msg"/g, '"msg"')),
    );
  const exited = once(outer, "exit").then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  const client = await readyClient(site, () => said);
  const pids = await pidsOf(site, outer.pid as number);
  return { outer, client, said: () => said, exited, pids };
}

/** As soon as everything runs. */
export async function readyClient(site: UpSite, said: () => string): Promise<Client> {
  await until(
    () => said().includes("Ready in"),
    READY_MS,
    () => `It never was ready: ${said()}`,
  );
  const text = await readFile(join(site.dataDir, "credentials.json"), "utf8");
  const { api_key: apiKey } = JSON.parse(text) as { api_key: string };
  return new Client({ url: site.url, apiKey });
}

/** @param outer the starter, or what started it. */
export async function pidsOf(site: UpSite, outer: number): Promise<Pids> {
  const run =
    argumentsOf(outer).includes(RUN) && !argumentsOf(outer).includes("--eval")
      ? outer
      : (childrenOf(outer)[0] as number);
  const up = childrenOf(run)[0] as number;
  const agent = childrenOf(up).find((pid) => argumentsOf(pid).includes("agent")) as number;
  const postmaster = await readPostmaster(site.dataDir);
  return { outer, run, up, agent, postmaster };
}

export async function readPostmaster(dataDir: string): Promise<number> {
  return Number((await readFile(clusterFile(dataDir, "postmaster.pid"), "utf8")).split("\n", 1)[0]);
}

/** Where the cluster is, also when the account of the server cannot reach the data folder. */
export const clusterFile = (dataDir: string, name: string): string =>
  join(dataDir, "postgres", "cluster", name);

/** A workspace with a program in it that has written a file and goes on. */
export async function changeWorkspace(client: Client, text: string): Promise<string> {
  const { id } = await client.workspaces.create();
  const script = 'printf %s "$1" > made; echo wrote; exec sleep 1000';
  const exec = await client.workspaces.exec(id, ["sh", "-c", script, "sh", text]);
  for await (const bytes of exec.stdout) if (Buffer.from(bytes).toString().includes("wrote")) return id;
  return assert.fail("The program ended without a word.");
}

export async function until(is: () => boolean, ms: number, why: () => string): Promise<void> {
  for (const begun = performance.now(); !is(); await letPass(nextLookMs(begun), "the next look follows"))
    if (performance.now() > begun + ms) assert.fail(why());
}

/** Waits until nothing is left of what ran, and of what ran for this data folder. */
export async function allGone(site: UpSite, known: readonly number[], said: () => string): Promise<void> {
  // All processes of the machine are read only when none of those is left.
  const left = (): number[] => {
    const alive = known.filter(isAlive);
    return alive.length > 0 ? alive : processesOf(site.dataDir);
  };
  await until(
    () => left().length === 0,
    GONE_MS,
    () =>
      `These are left: ${left()
        .map((pid) => `${pid} ${argumentsOf(pid).join(" ")}`)
        .join("; ")}\n${said()}`,
  );
}

/** It and all that descend from it. */
export function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const allPids = (): number[] =>
  readdirSync("/proc").flatMap((name) => (/^[0-9]+$/.test(name) ? [Number(name)] : []));

const readProc = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return ""; // It has ended, or is another account's.
  }
};

export const argumentsOf = (pid: number): string[] => readProc(pid, "cmdline").split("\0");

const childrenOf = (parent: number): number[] =>
  allPids().filter(
    (pid) => / [A-Za-z] ([0-9]+) /.exec(readProc(pid, "stat").replace(/^.*\)/s, ""))?.[1] === String(parent),
  );

function processesOf(dataDir: string): number[] {
  const belongs = (pid: number): boolean => {
    if (pid === process.pid || !isAlive(pid)) return false;
    if (readProc(pid, "cmdline").includes(dataDir) || readProc(pid, "environ").includes(dataDir)) return true;
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(dataDir);
    } catch {
      return false;
    }
  };
  return allPids().filter(belongs);
}
