import { writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { closeInheritedDescriptors } from "@keelson/agent";
import type { Round } from "./goal-row.ts";
import { FLOOR_ROWS, GOAL_ROWS } from "./goal-rows.ts";
import { formatTable, judgeRow } from "./goal-table.ts";
import { measureFootprint } from "./goals/p11-footprint.ts";
import { prepareHistory } from "./goals/p12-history.ts";
import { stopAllChildren } from "./harness/child.ts";
import { buildPrograms } from "./harness/build-programs.ts";
import { describeMachine } from "./harness/machine.ts";
import { startBenchPostgres, type BenchPostgres } from "./harness/postgres.ts";
import { prepareDeployment } from "./ours/deployed.ts";
import { listSteps, type Sizes, type Step } from "./round.ts";
import { FULL_SCALE, QUICK_SCALE } from "./scale-steps.ts";

// Agents with workspaces run in this process; what a shell left open would reach them.
closeInheritedDescriptors();

const HELP = `npm run bench -- [options]

  --runs <n>       rounds of floors, peers and ours, interleaved (default 5)
  --quick          one short round, to see that everything works; its figures mean little
  --history <n>    finished runs in the tables for P12 (default 200000; 0 leaves P12 out; the goal says 1000000)
  --only <parts>   of floors,peers,ours,workspaces,scale,history,footprint (default: all)
  --minutes <n>    no round begins after so many minutes (default 12)
  --dir <folder>   a folder on a real disk for the databases (default: the temporary folder)
`;

const PARTS = ["floors", "peers", "ours", "workspaces", "scale", "history", "footprint"];

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "5" },
    quick: { type: "boolean", default: false },
    history: { type: "string" },
    only: { type: "string", default: PARTS.join(",") },
    minutes: { type: "string", default: "12" },
    dir: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
if (options.help) {
  process.stdout.write(HELP);
  process.exit(0);
}

const rounds = options.quick ? 1 : readCount("runs", options.runs);
const minutes = readCount("minutes", options.minutes);
const history = readCount("history", options.history ?? (options.quick ? "20000" : "200000"));
const parts = options.only.split(",");
const unknown = parts.filter((part) => !PARTS.includes(part));
if (unknown.length > 0) stopWithUsage(`--only does not know ${unknown.join(", ")}`);
if (history === 0) parts.splice(0, parts.length, ...parts.filter((part) => part !== "history"));
const sizes: Sizes = options.quick
  ? { loadMs: 1_500, tasks: 2_000, samples: 60, lines: 20_000, files: 1_000, scale: QUICK_SCALE }
  : { loadMs: 4_000, tasks: 10_000, samples: 300, lines: 200_000, files: 10_000, scale: FULL_SCALE };

const startedAt = performance.now();
const failures: string[] = [];
const figures: Round[] = [];
let postgres: BenchPostgres | undefined;
const stopping = new AbortController();

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    failures.push(`stopped by ${signal}`);
    say("stopping …");
    void stopAllChildren();
  });
}

try {
  say("building …");
  await buildPrograms();
  postgres = await startBenchPostgres(options.dir);
  await measureAll(postgres);
} finally {
  await stopAllChildren();
  await postgres?.stop();
}
await report(postgres);

async function measureAll(postgres: BenchPostgres): Promise<void> {
  await postgres.createDatabase("floors");
  const needsOurs = ["ours", "workspaces", "scale", "history"].some((part) => parts.includes(part));
  const isDeployed = needsOurs && (await attempt("the deployment", () => prepareDeployment(postgres)));
  const hasHistory =
    isDeployed &&
    parts.includes("history") &&
    (await attempt(`a history of ${history} runs`, () => prepareHistory(postgres, history)));
  const runnable = (step: Step): boolean =>
    parts.includes(step.part) &&
    (step.part === "ours" || step.part === "workspaces" || step.part === "scale"
      ? isDeployed
      : step.part === "history"
        ? hasHistory
        : true);

  for (let index = 0; index < rounds && !stopping.signal.aborted; index += 1) {
    if (performance.now() - startedAt > minutes * 60_000) {
      failures.push(`${minutes} minutes were over after ${index} of ${rounds} rounds`);
      break;
    }
    const round: Round = {};
    figures.push(round);
    for (const step of listSteps(postgres, sizes).filter(runnable)) {
      await attempt(`round ${index + 1} of ${rounds}: ${step.name}`, () => step.measure(round));
    }
    if (index === 0 && parts.includes("footprint")) {
      await attempt("P11", async () => {
        const { firstStartMs, restartMs, idleMib, idleCpuPercent, idleAgentCpuPercent } =
          await measureFootprint(
            postgres.dir,
            options.quick ? { settleMs: 3_000, watchMs: 3_000 } : { settleMs: 60_000, watchMs: 120_000 },
          );
        Object.assign(round, {
          "P11.firstStart": firstStartMs,
          "P11.restart": restartMs,
          "P11.memory": idleMib,
          "P11.cpu.server": idleCpuPercent,
          "P11.cpu.agent": idleAgentCpuPercent,
          "P11.cpu": idleCpuPercent + idleAgentCpuPercent,
        });
      });
    }
  }
}

/** A measurement that fails is told at the end and in the exit code; the others go on. */
async function attempt(name: string, work: () => Promise<void>): Promise<boolean> {
  if (stopping.signal.aborted) return false;
  say(name);
  try {
    await work();
    return true;
  } catch (error) {
    const message = `${name} failed: ${error instanceof Error ? error.message : String(error)}`;
    failures.push(message);
    say(message);
    return false;
  }
}

async function report(postgres: BenchPostgres): Promise<void> {
  const isAsked = parts.some((part) => part !== "floors" && part !== "peers");
  const floors = FLOOR_ROWS.map((row) => judgeRow(row, figures));
  const goals = GOAL_ROWS.map((row) => judgeRow(row, figures));
  const machine = describeMachine(postgres.settings);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(
    `\n${machine.processor}, ${machine.cores} cores, Node ${machine.node}, PostgreSQL ${machine.postgres["server_version"]}, fsync=${machine.postgres["fsync"]}, synchronous_commit=${machine.postgres["synchronous_commit"]}`,
  );
  console.log(
    `${figures.length} rounds in ${seconds} s: median (least–greatest), ratios taken round by round; P12 with ${history} finished runs${options.quick ? "; --quick: the figures mean little" : ""}\n`,
  );
  console.log(`${formatTable([...floors, ...goals].filter((row) => row.figure !== null || isAsked))}\n`);
  for (const failure of failures) console.log(`! ${failure}`);
  const file = path.join(import.meta.dirname, "..", "results.json");
  await writeFile(
    file,
    `${JSON.stringify({ measuredAt: new Date().toISOString(), seconds, quick: options.quick, sizes, history, machine, floors, goals, rounds: figures, failures }, null, 2)}\n`,
  );
  console.log(`written to ${path.relative(process.cwd(), file)}`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function readCount(name: string, text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) stopWithUsage(`--${name} takes a whole number, not ${text}`);
  return Number(text);
}

function stopWithUsage(message: string): never {
  process.stderr.write(`${message}\n\n${HELP}`);
  process.exit(2);
}

function say(message: string): void {
  process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${message}\n`);
}
