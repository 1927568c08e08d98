import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Isolation } from "@keelson/contract";
import type { Surroundings } from "../supervisor/calls.ts";
import { launchExec } from "../supervisor/launch.ts";
import { prepareSandbox } from "./prepare-sandbox.ts";
import { buildCommand } from "./sandbox-command.ts";
import {
  DEFAULT_LIMITS,
  identityArguments,
  SYSTEM_PATH,
  type BubblewrapMeans,
  type SandboxMeans,
  type UidRange,
} from "./sandbox.ts";

/** What this machine can give, found out by running a program in each. */
export type IsolationProbe = {
  /** The strongest that works. */
  isolation: Isolation;
  means: SandboxMeans;
  /** What does not work and why, for the log and for whoever is refused. */
  problems: string[];
};

/** Far from the uids that systems and people use; and, where a container maps only 65,536, below its end. */
const UID_RANGES: readonly UidRange[] = [
  { first: 0x70000000, count: 0x01000000 },
  { first: 20_000, count: 40_000 },
];

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

async function runProbe(dataDir: string): Promise<IsolationProbe> {
  const tools = await findTools();
  const isRoot = process.getuid?.() === 0;
  const uids = isRoot ? await findUids(tools.setpriv) : null;
  const problems: string[] = [];
  const means: SandboxMeans = { tools, uids, ownUid: false, bubblewrap: null };
  if (uids !== null) {
    const reason = await tryTier(dataDir, "process", { ...means, ownUid: true });
    means.ownUid = reason === null;
    if (reason !== null) problems.push(`The data folder cannot be entered by a uid of its own: ${reason}`);
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
  for (const range of UID_RANGES) {
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
  if (process.platform !== "linux") return null;
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

/** Writes a file in a workspace, as every process there is started; gives why that failed. */
async function tryTier(dataDir: string, isolation: Isolation, means: SandboxMeans): Promise<string | null> {
  const folder = join(dataDir, "probes", randomUUID());
  const root = join(folder, "root");
  await mkdir(root, { recursive: true });
  // As a workspace's own folders are: what is above the data folder decides.
  for (const path of [join(dataDir, "probes"), folder, root]) await chmod(path, 0o711);
  try {
    const materializationId = `probe-${randomUUID()}`;
    const surroundings: Surroundings = {
      ...{ isolation, root, env: {}, resources: { cpu: null, memory: 1024 } },
      network: isolation === "namespace" ? "off" : "on",
    };
    const sandbox = await prepareSandbox({
      ...{ materializationId, folder, surroundings, means, limits: DEFAULT_LIMITS },
    });
    const spec = {
      ...{
        id: "probe",
        kind: "exec" as const,
        command: ["/bin/sh", "-c", SCRIPTS[isolation]],
        cwd: "",
        env: {},
      },
      ...{ timeoutMs: null, cols: null, rows: null },
    };
    const launched = await launchExec(buildCommand(sandbox, spec, { absolute: root, inside: "" }));
    launched.gate?.open();
    const words: Buffer[] = [];
    for (const { readable } of launched.outputs) readable.on("data", (data: Buffer) => words.push(data));
    const { exitCode } = await launched.exited;
    const written = await stat(join(root, "written")).catch(() => null);
    if (exitCode === 0 && written !== null) return null;
    return Buffer.concat(words).toString().trim().slice(-500) || `the probe ended with ${exitCode}`;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const WRITE = ': > "$HOME/written"';
/** In the namespace tier the filter must be on, and the process among its own. */
const SCRIPTS: Record<Isolation, string> = {
  process: WRITE,
  namespace: `${WRITE} && grep -q '^Seccomp:.2$' /proc/self/status && grep -q '^NoNewPrivs:.1$' /proc/self/status && [ "$$" -lt 20 ]`,
};

function succeeds(file: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: "ignore", env: { PATH: SYSTEM_PATH } });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}
