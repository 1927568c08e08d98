import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Exec, Isolation, Workspace } from "@keelson/contract";
import { openApiSocket, type ApiSocket } from "../harness/api-socket.ts";
import { median, percentile } from "../harness/statistics.ts";
import type { Keelson } from "../ours/keelson.ts";

/** Milliseconds. Each start has a bare spawn right beside it, so that what else the machine does meets both. */
export type FirstByteFigures = {
  /** From the call that makes a workspace to the first byte that its first command wrote, as a follower gets it. */
  createP50: number;
  createP99: number;
  /** The same for a command in a live workspace, from the call that starts it. */
  startP50: number;
  startP99: number;
  /** The same program as a child of this process. */
  bareP50: number;
  bareP99: number;
  /** What a start takes more than the spawn beside it. */
  overP50: number;
  overP99: number;
  /** Medians of the parts of the first, each from the call that makes the workspace. */
  stages: Record<string, number>;
};

const COMMAND = ["echo", "x"];
/** So many first: code that has not run yet is slow. */
const WARM_UP = 3;
/** Between two measurements, for what the last one left behind. */
const PAUSE_MS = 150;
/** After each workspace: a warm agent has made ready for the next one. */
const REST_MS = 2_000;

/**
 * P13: first bytes over the API in the tier of the one agent that is there.
 *
 * @throws Error when that is another tier than the one that is to be measured.
 */
export async function measureFirstBytes(
  keelson: Keelson,
  samples: number,
  isolation: Isolation,
): Promise<FirstByteFigures> {
  const calls = openApiSocket(keelson);
  const follows = openApiSocket(keelson);
  const sockets = { calls, follows };
  const creates: Created[] = [];
  const starts: number[] = [];
  const bare: number[] = [];
  try {
    const live = await firstBytes(sockets, null);
    await sleep(REST_MS);
    for (let i = -WARM_UP; i < samples; i += 1) {
      const bareMs = await spawnBare();
      const { totalMs: startMs } = await firstBytes(sockets, live.workspaceId);
      await sleep(PAUSE_MS);
      const created = await firstBytes(sockets, null);
      await sleep(PAUSE_MS);
      await calls.send("DELETE", `/api/workspaces/${created.workspaceId}`);
      await sleep(REST_MS);
      if (i < 0) continue;
      creates.push(created);
      starts.push(startMs);
      bare.push(bareMs);
    }
    const { materialization } = await calls.send<Workspace>("GET", `/api/workspaces/${live.workspaceId}`);
    if (materialization?.isolation !== isolation)
      throw new Error(`the agent has the ${materialization?.isolation} tier and not the ${isolation} tier`);
    return summarize({ creates, starts, bare });
  } finally {
    calls.close();
    follows.close();
  }
}

type Created = { workspaceId: string; totalMs: number; stages: Record<string, number> };

/** Runs the command in a new workspace, or in one that is there, and follows its output. */
async function firstBytes(
  { calls, follows }: { calls: ApiSocket; follows: ApiSocket },
  known: string | null,
): Promise<Created> {
  const calledAt = wallClockMs();
  const stages: Record<string, number> = {};
  const mark = (name: string, at: number): void => void (stages[name] = at - calledAt);
  const workspaceId = known ?? (await calls.send<Workspace>("POST", "/api/workspaces", {})).id;
  mark("created", wallClockMs());
  const path = `/api/workspaces/${workspaceId}`;
  const exec = await calls.send<Exec>("POST", `${path}/execs`, { command: COMMAND });
  mark("asked", wallClockMs());
  const chunkAt = await follows.firstChunk(`${path}/execs/${exec.id}/stdout`);
  const totalMs = wallClockMs() - calledAt;
  const { materialization } = await calls.send<Workspace>("GET", path);
  const { started_at } = await calls.send<Exec>("GET", `${path}/execs/${exec.id}`);
  mark("live", Date.parse(materialization?.started_at ?? ""));
  mark("started", Date.parse(started_at ?? ""));
  mark("written", chunkAt);
  mark("followed", calledAt + totalMs);
  return { workspaceId, totalMs, stages };
}

function summarize({
  creates,
  starts,
  bare,
}: {
  creates: Created[];
  starts: number[];
  bare: number[];
}): FirstByteFigures {
  const over = starts.map((ms, index) => ms - (bare[index] as number));
  const totals = creates.map(({ totalMs }) => totalMs);
  const names = Object.keys(creates[0]?.stages ?? {});
  const stages = names.map((name) => [
    name,
    median(creates.map((created) => created.stages[name] as number)),
  ]);
  return {
    ...{ createP50: median(totals), createP99: percentile(totals, 0.99) },
    ...{ startP50: median(starts), startP99: percentile(starts, 0.99) },
    ...{ bareP50: median(bare), bareP99: percentile(bare, 0.99) },
    ...{ overP50: median(over), overP99: percentile(over, 0.99) },
    stages: Object.fromEntries(stages) as Record<string, number>,
  };
}

async function spawnBare(): Promise<number> {
  const [program, ...args] = COMMAND as [string, ...string[]];
  const calledAt = wallClockMs();
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  const ms = wallClockMs() - calledAt;
  await once(child, "close");
  return ms;
}

/** The clock of the server's timestamps, with fractions. */
const wallClockMs = (): number => performance.timeOrigin + performance.now();
