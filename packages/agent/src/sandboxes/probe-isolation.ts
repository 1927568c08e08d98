import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { LIMITS, type Isolation, type RegisterWorker } from "@keelson/contract";
import type { Surroundings } from "../supervisor/calls.ts";
import {
  identityArguments,
  SYSTEM_PATH,
  type BubblewrapMeans,
  type SandboxMeans,
  type UidRange,
} from "./sandbox.ts";
import { tryTier } from "./try-tier.ts";
import { WORKSPACE_UIDS } from "./uid-ranges.ts";

/** What this machine can give, found out by running a program in each tier that attacks it. */
export type IsolationProbe = {
  /** The strongest that works. */
  isolation: Isolation;
  means: SandboxMeans;
  /** What does not work and why, for the log and for whoever is refused. */
  problems: string[];
};

const probes = new Map<string, Promise<IsolationProbe>>();

/** Tries every tier in the data folder, once for the life of this process. */
export function probeIsolation({ dataDir }: { dataDir: string }): Promise<IsolationProbe> {
  const place = resolve(dataDir);
  const known = probes.get(place);
  if (known !== undefined) return known;
  const probe = runProbe(place);
  probes.set(place, probe);
  // What could not even be tried is tried again.
  probe.catch(() => probes.delete(place));
  return probe;
}

/** Why these surroundings cannot be given; null when they can. Less than what is asked for is never given. */
export function meetsIsolation(
  { isolation, problems }: IsolationProbe,
  { isolation: wanted, network }: Pick<Surroundings, "isolation" | "network">,
): string | null {
  const reasons = problems.length === 0 ? "" : ` ${problems.join(" ")}`;
  if (wanted === "namespace" && isolation !== "namespace")
    return `This worker has no namespace isolation.${reasons}`;
  if (wanted === "process" && network === "off")
    return "A workspace without network needs namespace isolation; a process is never run with network instead.";
  return null;
}

/** What the server is told; programs of the machine wrote a part of the reason. */
export function describeIsolation({
  isolation,
  problems,
}: IsolationProbe): Pick<RegisterWorker, "isolation" | "isolation_problem"> {
  if (isolation === "namespace") return { isolation };
  return { isolation, isolation_problem: cleanProblem(problems.join(" ")) };
}

/** Text that the server takes. */
export const cleanProblem = (problem: string): string =>
  problem
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, LIMITS.isolationProblemCharacters)
    .toWellFormed();

/** @param tools what a sandbox is made with; default: what of the system's works. */
export async function runProbe(dataDir: string, given?: SandboxMeans["tools"]): Promise<IsolationProbe> {
  const tools = given ?? (await findTools());
  const isRoot = process.getuid?.() === 0;
  const uids = isRoot ? await findUids(tools.setpriv) : null;
  const problems: string[] = [];
  const means: SandboxMeans = { tools, uids, ownUid: false, bubblewrap: null };
  if (uids !== null) {
    const reason = await tryTier(dataDir, "process", { ...means, ownUid: true });
    means.ownUid = reason === null;
    if (reason !== null) problems.push(`A workspace's own uid cannot enter the data folder: ${reason}`);
  }
  means.bubblewrap = await findBubblewrap(dataDir, means, isRoot, problems);
  return { isolation: means.bubblewrap === null ? "process" : "namespace", means, problems };
}

async function findTools(): Promise<SandboxMeans["tools"]> {
  const [setpriv, prlimit, taskset, env, envReset, bwrap] = await Promise.all([
    findTool("setpriv", ["--no-new-privs", "--pdeathsig=KILL", "--", "true"]),
    findTool("prlimit", ["--core=0", "--fsize=1048576", "--nproc=64", "--data=1073741824", "--", "true"]),
    findTool("taskset", ["--cpu-list", "0-1023", "true"]),
    findTool("env", ["-i", "A=B", "true"]),
    findTool("env", ["--default-signal=INT,QUIT", "true"]),
    findTool("bwrap", ["--version"]),
  ]);
  return { setpriv, prlimit, taskset, env, envResetsSignals: envReset !== null, bwrap };
}

async function findTool(name: string, args: string[]): Promise<string | null> {
  const path = SYSTEM_PATH.split(":")
    .map((folder) => join(folder, name))
    .find((candidate) => existsSync(candidate));
  return path !== undefined && (await succeeds(path, args)) ? path : null;
}

async function findUids(setpriv: string | null): Promise<UidRange | null> {
  if (setpriv === null) return null;
  for (const range of WORKSPACE_UIDS) {
    if (await succeeds(setpriv, [...identityArguments(range.first), "--", "true"])) return range;
  }
  return null;
}

async function findBubblewrap(
  dataDir: string,
  means: SandboxMeans,
  isRoot: boolean,
  problems: string[],
): Promise<BubblewrapMeans | null> {
  if (process.platform !== "linux") {
    problems.push("The namespace tier needs Linux.");
    return null;
  }
  if (means.tools.bwrap === null) {
    problems.push("bubblewrap is not installed.");
    return null;
  }
  if (isRoot && means.uids === null) {
    problems.push("The agent runs as root and setpriv, which would take that away, does not work.");
    return null;
  }
  const users = isRoot ? (["dropped", "root"] as const) : (["own"] as const);
  const reasons = new Set<string>();
  for (const proc of ["own", "host"] as const) {
    for (const user of users) {
      const bubblewrap = { user, proc };
      const reason = await tryTier(dataDir, "namespace", { ...means, bubblewrap });
      if (reason === null) return bubblewrap;
      reasons.add(reason);
    }
  }
  problems.push(`bubblewrap does not work here: ${[...reasons].join("; ")}`);
  return null;
}

function succeeds(file: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: "ignore", env: { PATH: SYSTEM_PATH } });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
