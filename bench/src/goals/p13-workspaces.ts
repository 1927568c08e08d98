import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Exec, OutputPage, Workspace } from "@keelson/contract";
import { median, percentile } from "../harness/statistics.ts";
import { waitFor } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

export type WorkspaceFigures = {
  /** From the end of the program that wrote all files until its exec has ended, with all of them committed. */
  firstCommitMs: number;
  /** The same for a program that changes nothing. */
  unchangedCommitMs: number;
  /** From the call until the program runs, p50. */
  execStartMs: number;
  /** The same program as a child of this process, p50. */
  bareSpawnMs: number;
  /** One page of one folder of the large workspace, p99. */
  listP99Ms: number;
};

const FOLDERS = 100;
const FILE_BYTES = 50_000;
const TELL_TIME = ["date", "+%s%N"];
const WRITE_TIMEOUT_MS = 120_000;

/** P13: a workspace of so many files of 50 kB that do not compress. Expects an agent. */
export async function measureWorkspaces(
  keelson: Keelson,
  files: number,
  samples: number,
): Promise<WorkspaceFigures> {
  const small = await createWorkspace(keelson);
  await tellTime(keelson, small);
  const starts: number[] = [];
  const bare: number[] = [];
  for (let i = 0; i < samples; i += 1) {
    starts.push((await tellTime(keelson, small)).startMs);
    bare.push(await spawnBare());
    await sleep(20);
  }

  const large = await createWorkspace(keelson);
  const perFolder = Math.ceil(files / FOLDERS);
  const script = `for d in $(seq ${FOLDERS}); do mkdir $d
    head -c ${perFolder * FILE_BYTES} /dev/urandom | split -b ${FILE_BYTES} -a 4 -d - $d/f; done; sync -f .; exec date +%s%N`;
  const written = await run(keelson, large, ["sh", "-c", script]);
  if (written.exec.version_id === null) throw new Error("the files were not committed");
  const unchanged: number[] = [];
  // The first one reads again what was written right before it was looked at.
  for (let i = 0; i < 6; i += 1) {
    const { exec, commitMs } = await tellTime(keelson, large);
    if (exec.version_id !== null) throw new Error("a commit of nothing made a version");
    if (i > 0) unchanged.push(commitMs);
  }
  return {
    firstCommitMs: written.commitMs,
    unchangedCommitMs: median(unchanged),
    execStartMs: median(starts),
    bareSpawnMs: median(bare),
    listP99Ms: await measureLists(keelson, large, samples * 5),
  };
}

const createWorkspace = async ({ api }: Keelson): Promise<string> =>
  (await api.call<Workspace>("POST", "/api/workspaces", {})).id;

const tellTime = (keelson: Keelson, workspace: string) => run(keelson, workspace, TELL_TIME);

/** Runs a program whose only output is the machine's time in nanoseconds, at its end. */
async function run(
  { api }: Keelson,
  workspace: string,
  command: string[],
): Promise<{ exec: Exec; startMs: number; commitMs: number }> {
  const path = `/api/workspaces/${workspace}/execs`;
  const calledAtMs = wallClockMs();
  let exec = await api.call<Exec>("POST", path, { command });
  await waitFor("an exec to end", WRITE_TIMEOUT_MS, async () => {
    exec = await api.call<Exec>("GET", `${path}/${exec.id}`);
    return exec.finished_at !== null;
  });
  if (exec.exit_code !== 0) throw new Error(`an exec ended as ${exec.status}: ${JSON.stringify(exec)}`);
  const { chunks } = await api.call<OutputPage>("GET", `${path}/${exec.id}/stdout`);
  const printed = chunks.map(({ data }) => Buffer.from(data, "base64").toString()).join("");
  const printedAtMs = Number(BigInt(printed.trim())) / 1e6;
  return {
    exec,
    startMs: printedAtMs - calledAtMs,
    commitMs: Date.parse(exec.finished_at as string) - printedAtMs,
  };
}

async function spawnBare(): Promise<number> {
  const [program, ...args] = TELL_TIME as [string, ...string[]];
  const calledAtMs = wallClockMs();
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  return Number(BigInt((await text(child.stdout)).trim())) / 1e6 - calledAtMs;
}

/** The clock that `date` reads, with fractions. */
const wallClockMs = (): number => performance.timeOrigin + performance.now();

async function measureLists({ api }: Keelson, workspace: string, requests: number): Promise<number> {
  const latencies: number[] = [];
  for (let i = 0; i < requests + 10; i += 1) {
    const calledAtMs = performance.now();
    await api.call("GET", `/api/workspaces/${workspace}/files?path=${(i % FOLDERS) + 1}`);
    if (i >= 10) latencies.push(performance.now() - calledAtMs);
  }
  return percentile(latencies, 0.99);
}
