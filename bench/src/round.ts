import { measureBareHttp } from "./floors/f4-bare-http.ts";
import { measureBatchInserts } from "./floors/f2-batch-insert.ts";
import { measureClaimComplete } from "./floors/f3-claim-complete.ts";
import { measureInsertLatency, measureSingleInserts } from "./floors/f1-single-insert.ts";
import { measureDrain, type DrainFigures } from "./goals/p5-drain.ts";
import { measureEndToEnd } from "./goals/p4-end-to-end.ts";
import { measureIdleStart } from "./goals/p6-idle-start.ts";
import { measureBareFanOut, measureFanOut } from "./goals/p10-fan-out.ts";
import { measureFairShare } from "./goals/p16-fair-share.ts";
import { measureRunOutput } from "./goals/p7-run-output.ts";
import { measureStreamFollow } from "./goals/p7-stream-follow.ts";
import { MEASURED_TASKS, measureDeployedTask, type MeasuredTask } from "./goals/p4-deployed-task.ts";
import { measureStreamAppends } from "./goals/p8-stream-appends.ts";
import { measureLogFollower, measureLogLines } from "./goals/p9-run-logs.ts";
import type { Isolation } from "@keelson/contract";
import { measureFirstBytes } from "./goals/p13-first-bytes.ts";
import { measureWorkspaces } from "./goals/p13-workspaces.ts";
import { measureBatchStarts, measureSingleStarts } from "./goals/p1-single-starts.ts";
import { HISTORY_TEMPLATE } from "./goals/p12-history.ts";
import { measureGraphileDrain, measureGraphileLatency } from "./peers/graphile-worker.ts";
import { measurePgBossDrain, measurePgBossEndToEnd } from "./peers/pg-boss.ts";
import { waitForIdle } from "./ours/api.ts";
import type { Keelson } from "./ours/keelson.ts";
import { readKey, withKeelson } from "./ours/deployed.ts";
import type { BenchPostgres } from "./harness/postgres.ts";
import type { Round } from "./goal-row.ts";
import { listScaleSteps, type ScaleSizes } from "./scale-steps.ts";

/** How long and how much; `--quick` makes all of it small. */
export type Sizes = {
  loadMs: number;
  tasks: number;
  samples: number;
  lines: number;
  files: number;
  scale: ScaleSizes;
};

/** Concurrent callers of P4 and of its peer. */
const CALLERS = 100;

export type Step = {
  name: string;
  part: "floors" | "peers" | "ours" | "workspaces" | "scale" | "history";
  /** Writes its figures into the round as it has them, so that those before a failure are kept. */
  measure(round: Round): Promise<void>;
};

/**
 * The measurements of one round. What is held against each other stands side by side, because a shared machine is
 * another machine a minute later.
 */
export function listSteps(postgres: BenchPostgres, sizes: Sizes): Step[] {
  const { loadMs, tasks, samples } = sizes;
  const floors = postgres.url("floors");
  const floor = (name: string, measure: () => Promise<number>): Step => ({
    name,
    part: "floors",
    measure: async (round) => {
      round[name] = await measure();
    },
  });
  return [
    floor("F1", () => measureSingleInserts(floors, loadMs)),
    { name: "P1 P2 P3", part: "ours", measure: (round) => measureStarts(postgres, sizes, round) },
    { name: "P16", part: "ours", measure: (round) => measureSharing(postgres, sizes, round) },
    floor("F4", async () => (await measureBareHttp(loadMs)).perSecond),
    {
      name: "P12: P1",
      part: "history",
      measure: (round) => measureStartsWithHistory(postgres, sizes, round),
    },
    floor("F2", () => measureBatchInserts(floors, loadMs)),
    floor("F3", () => measureClaimComplete(floors, tasks)),
    {
      name: "P5 P6 P4 P9, P1 with a worker",
      part: "ours",
      measure: (round) => measureExecution(postgres, sizes, round),
    },
    ...MEASURED_TASKS.map((measured): Step => ({
      name: `P5 P4 of a deployed task, ${measured.mode}, capacity ${measured.capacity}`,
      part: "ours",
      measure: (round) => measureDeployed(postgres, sizes, measured, round),
    })),
    floor("F5", () => measureInsertLatency(floors, samples * 2)),
    { name: "P13", part: "workspaces", measure: (round) => measureFiles(postgres, sizes, round) },
    ...(["namespace", "process"] as const).map((tier): Step => ({
      name: `P13 in the ${tier} tier`,
      part: "workspaces",
      measure: (round) => measureTier(postgres, sizes, tier, round),
    })),
    { name: "P7 of a run", part: "ours", measure: (round) => measureAnswers(postgres, sizes, round) },
    { name: "P7 P8 P10", part: "ours", measure: (round) => measureStreams(postgres, sizes, round) },
    {
      name: "P12: P5 P6",
      part: "history",
      measure: (round) => measureExecutionWithHistory(postgres, sizes, round),
    },
    ...listScaleSteps(postgres, sizes.scale),
    { name: "graphile-worker", part: "peers", measure: (round) => measureGraphile(postgres, sizes, round) },
    { name: "pg-boss", part: "peers", measure: (round) => measurePgBoss(postgres, sizes, round) },
  ];
}

/** Without a worker, so that nothing but starting is measured. */
function measureStarts(postgres: BenchPostgres, { loadMs }: Sizes, round: Round): Promise<void> {
  return withKeelson(postgres, async (keelson, url) => {
    const full = await measureSingleStarts(keelson, url, loadMs);
    Object.assign(round, { P1: full.perSecond, "P2.p50": full.p50Ms, "P2.p99": full.p99Ms });
    const half = await measureSingleStarts(keelson, url, loadMs, full.perSecond / 2);
    Object.assign(round, { "P2.half.p50": half.p50Ms, "P2.half.p99": half.p99Ms });
    round["P3"] = await measureBatchStarts(keelson, url, loadMs);
  });
}

function measureSharing(postgres: BenchPostgres, { loadMs }: Sizes, round: Round): Promise<void> {
  return withKeelson(postgres, async (keelson) => {
    const figures = await measureFairShare(keelson, await readKey(postgres, "other"), loadMs);
    for (const [name, figure] of Object.entries(figures)) round[`P16.${name}`] = figure;
  });
}

function measureAnswers(postgres: BenchPostgres, { samples }: Sizes, round: Round): Promise<void> {
  return withKeelson(postgres, async (keelson) => {
    const project = keelson.as(await readKey(postgres, "project"));
    await project.startAgent(16);
    const one = await measureRunOutput(project, 1, samples, 50);
    const hundred = await measureRunOutput(project, 100, samples, 50);
    Object.assign(round, { "P7.run": one.p50Ms, "P7.run.100": hundred.p99Ms });
  });
}

/** Streams need no worker. The floor of P10 is measured beside it. */
function measureStreams(postgres: BenchPostgres, { loadMs, samples }: Sizes, round: Round): Promise<void> {
  return withKeelson(postgres, async (keelson) => {
    const one = await measureStreamFollow(keelson, 1, samples, 100);
    const hundred = await measureStreamFollow(keelson, 100, samples, 100);
    Object.assign(round, { P7: one.p50Ms, "P7.100": hundred.p99Ms });
    round["P8"] = await measureStreamAppends(keelson, loadMs, "single");
    round["P8.batched"] = await measureStreamAppends(keelson, loadMs, "batched");
    const events = Math.ceil(samples / 4);
    const bare = await measureBareFanOut(events);
    const ours = await measureFanOut(keelson, events);
    Object.assign(round, { "P10.bare.cpu": bare.cpuPercent, "P10.bare.p99": bare.p99Ms });
    Object.assign(round, { "P10.cpu": ours.cpuPercent, "P10.p99": ours.p99Ms });
  });
}

function measureFiles(postgres: BenchPostgres, { files, samples }: Sizes, round: Round): Promise<void> {
  return withKeelson(postgres, async (keelson) => {
    await keelson.startAgent(1);
    const figures = await measureWorkspaces(keelson, files, Math.ceil(samples / 5));
    Object.assign(round, {
      "P13.first": figures.firstCommitMs,
      "P13.unchanged": figures.unchangedCommitMs,
      "P13.start": figures.execStartMs,
      "P13.bare": figures.bareSpawnMs,
      "P13.list": figures.listP99Ms,
    });
  });
}

function measureTier(
  postgres: BenchPostgres,
  { samples }: Sizes,
  tier: Isolation,
  round: Round,
): Promise<void> {
  return withKeelson(postgres, async (keelson) => {
    await keelson.startAgent(1, tier);
    const { stages, ...figures } = await measureFirstBytes(keelson, Math.ceil(samples / 20), tier);
    for (const [name, ms] of Object.entries(figures)) round[`P13.${tier}.${name}`] = ms;
    for (const [name, ms] of Object.entries(stages)) round[`P13.${tier}.stage.${name}`] = ms;
  });
}

/** The agent comes with the drain and stays for the rest. */
function measureExecution(postgres: BenchPostgres, sizes: Sizes, round: Round): Promise<void> {
  return withKeelson(postgres, async (keelson, url) => {
    noteDrain(round, "P5", await measureDrain(keelson, postgres.pid, sizes.tasks));
    round["P6"] = await measureIdleStart(keelson, sizes.samples);
    round["P4"] = await measureEndToEnd(keelson, sizes.tasks, CALLERS);
    round["P1.worker"] = (await measureSingleStarts(keelson, url, sizes.loadMs)).perSecond;
    await waitForIdle(keelson.api, 60_000);
    round["P9.follower"] = await measureLogFollower(keelson, sizes.samples);
    round["P9"] = await measureLogLines(keelson, sizes.lines);
  });
}

function noteDrain(round: Round, name: string, { perSecond, cpu }: DrainFigures): void {
  round[name] = perSecond;
  for (const [part, us] of Object.entries(cpu)) round[`${name}.cpu.${part}`] = us;
  round[`${name}.cpu`] = Object.values(cpu).reduce((sum, us) => sum + us, 0);
}

/** A project deployed by the command, and agents with that many slots. */
function measureDeployed(
  postgres: BenchPostgres,
  { tasks }: Sizes,
  { mode, task, capacity }: MeasuredTask,
  round: Round,
): Promise<void> {
  return withKeelson(postgres, async (keelson) => {
    const project = keelson.as(await readKey(postgres, "project"));
    const sizes = { task, tasks, callers: CALLERS, capacity };
    const { drain, ...figures } = await measureDeployedTask(project, postgres.pid, sizes);
    for (const [name, figure] of Object.entries(figures)) round[`${mode}.${capacity}.${name}`] = figure;
    noteDrain(round, `${mode}.${capacity}.drain`, drain);
  });
}

function measureStartsWithHistory(postgres: BenchPostgres, { loadMs }: Sizes, round: Round): Promise<void> {
  const measure = async (keelson: Keelson, url: string): Promise<void> => {
    round["P12.P1"] = (await measureSingleStarts(keelson, url, loadMs)).perSecond;
  };
  return withKeelson(postgres, measure, HISTORY_TEMPLATE);
}

function measureExecutionWithHistory(
  postgres: BenchPostgres,
  { tasks, samples }: Sizes,
  round: Round,
): Promise<void> {
  const measure = async (keelson: Keelson): Promise<void> => {
    noteDrain(round, "P12.P5", await measureDrain(keelson, postgres.pid, tasks));
    round["P12.P6"] = await measureIdleStart(keelson, samples);
  };
  return withKeelson(postgres, measure, HISTORY_TEMPLATE);
}

async function measureGraphile(
  postgres: BenchPostgres,
  { tasks, samples }: Sizes,
  round: Round,
): Promise<void> {
  const url = await postgres.createDatabase("graphile");
  round["graphileDrain"] = await measureGraphileDrain(url, tasks);
  round["graphileLatency"] = await measureGraphileLatency(url, samples);
}

async function measurePgBoss(postgres: BenchPostgres, { tasks }: Sizes, round: Round): Promise<void> {
  const endToEnd = await postgres.createDatabase("pgboss");
  round["pgBossEndToEnd"] = await measurePgBossEndToEnd(endToEnd, tasks, CALLERS);
  const drain = await postgres.createDatabase("pgboss");
  round["pgBossDrain"] = await measurePgBossDrain(drain, tasks);
}
