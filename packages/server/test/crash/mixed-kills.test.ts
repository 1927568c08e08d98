// Everything that a user might deploy runs at once while everything that can be killed is: every acknowledged run ends well.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { findAgentProcesses, type AgentProcesses } from "./support/agent-processes.ts";
import { deployCode } from "./support/deploy-code.ts";
import { checkInvariants } from "./support/invariants.ts";
import { countVictims, killAtRandom, type Killings } from "./support/kill-at-random.ts";
import { markedProcesses } from "./support/marked-processes.ts";
import { MIXED_CODE } from "./support/mixed-code.ts";
import { checkExecs } from "./support/mixed-execs.ts";
import { keepLoading, type Acknowledged } from "./support/mixed-load.ts";
import {
  checkAnswers,
  checkJournals,
  checkLogs,
  checkOutput,
  checkSpent,
  checkStarts,
  readRuns,
  type EndedRun,
} from "./support/mixed-outcome.ts";
import { checkStory, readStories } from "./support/run-story.ts";
import { crashSeconds, isLong, newSeed, seededRandom } from "../support/seeded-random.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";
import { letPass, until } from "../support/until.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

const LEASE_MS = 8_000;
const EVERY_MS = 2_000;
const PAUSE_EVERY_MS = 20_000;
const ENOUGH_KILLS = isLong() ? 60 : 5;
const SETTLE_MS = 120_000;

let site: Site;
let processes: AgentProcesses;
let agents: SpawnedProcess[];
before(async () => {
  site = await startSite({ servers: 2, leaseDuration: `${LEASE_MS}ms`, parkAfter: "300ms" });
  processes = findAgentProcesses(site);
  agents = site.servers.map((server, at) =>
    site.agent({
      ...{ name: `agent ${at + 1}`, server, capacity: 8 },
      // Fewer workspaces than there are, so that some give way to others.
      env: { ...processes.env, KEELSON_AGENT_WORKSPACES: "2" },
    }),
  );
  await Promise.all(agents.map((agent) => agent.start()));
  await deployCode(site, site.servers[0] as ServerProcess, MIXED_CODE);
});
after(() => site?.stop());

/** An agent that sleeps longer than its leases wakes up as one that was superseded, with hosts that went on. */
async function pauseAgents(isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  for (;;) {
    for (let waited = 0; waited < PAUSE_EVERY_MS && !isOver(); waited += 100)
      await letPass(100, "the agents are at work between two pauses");
    if (isOver()) return times;
    const agent = agents[times.length % agents.length] as SpawnedProcess;
    agent.signal("SIGSTOP");
    times.push(Date.now());
    await letPass(LEASE_MS + 2_000, "the leases of the agent have to run out");
    agent.signal("SIGCONT");
    times.push(Date.now());
  }
}

async function killUnderLoad(acknowledged: Acknowledged, seed: number): Promise<Killings> {
  const random = seededRandom(seed);
  const over = new AbortController();
  let isOver = false;
  const load = keepLoading(site, { random: seededRandom(seed + 1), isOver: () => isOver, acknowledged });
  // A load that fails ends the killing too.
  load.catch(() => over.abort());
  const pauses = pauseAgents(() => isOver);
  const killings = await killAtRandom(site, [...site.servers, ...agents], {
    random,
    forMs: crashSeconds(6, 120) * 1_000,
    everyMs: EVERY_MS,
    isEnough: (kills) => kills >= ENOUGH_KILLS,
    signal: over.signal,
    // Kills faster than a slow machine starts processes again would leave no agent to any run, and prove nothing.
    maxDown: 1,
    others: [
      { name: "task host", find: processes.hosts },
      { name: "supervisor", find: processes.supervisors },
      // Twice: often there is none.
      { name: "exec", find: processes.execs },
      { name: "exec", find: processes.execs },
    ],
  });
  isOver = true;
  const paused = await pauses;
  await load;
  return { ...killings, times: [...killings.times, ...paused] };
}

/** Agents that are told to stop leave nothing behind, whatever was killed under them before. */
async function checkNothingLeft(): Promise<void> {
  const mats = await site.db.query<{ id: string }>(sql`SELECT id FROM materializations`);
  for (const agent of agents) agent.signal("SIGTERM");
  await Promise.all(agents.map((agent) => agent.ended()));
  await until("no process of the agents is left", SETTLE_MS, async () => {
    const own = [processes.hosts(), processes.supervisors(), processes.execs()].flat();
    return own.length === 0 && mats.every(({ id }) => markedProcesses(encodeId("mat", id)).length === 0);
  });
}

const count = (items: readonly string[]): string =>
  [...Map.groupBy(items, (item) => item)].map(([item, all]) => `${item} ×${all.length}`).join(", ");

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

async function report(
  t: { diagnostic(text: string): void },
  runs: readonly EndedRun[],
  figures: object,
): Promise<void> {
  const attempts = runs.map(({ attemptNumber }) => attemptNumber ?? 0);
  const extra = runs.map(({ attemptNumber, maxAttempts }) => Math.max(0, (attemptNumber ?? 0) - maxAttempts));
  t.diagnostic(`runs: ${count(runs.map(({ status }) => status ?? "live"))}`);
  t.diagnostic(`by kind: ${count(runs.map(({ entrypoint }) => entrypoint))}`);
  t.diagnostic(
    `attempts: ${sum(attempts)}, at most ${Math.max(...attempts)}; ` +
      `extra ones: ${sum(extra)} of ${extra.filter((n) => n > 0).length} runs`,
  );
  t.diagnostic(JSON.stringify(figures));
}

test("every acknowledged run of a mixed load succeeds while everything is killed at random", async (t) => {
  const seed = newSeed();
  t.diagnostic(`seed ${seed}`);
  const acknowledged: Acknowledged = { runs: new Map(), inputs: new Map() };
  const killings = await killUnderLoad(acknowledged, seed);
  t.diagnostic(`${killings.victims.length} kills: ${countVictims(killings)}`);
  await until("all runs have ended", SETTLE_MS, async () => {
    const [live] = await site.db.query<{ count: number }>(sql`SELECT count(*) FROM executions`);
    return live?.count === 0;
  });

  const runs = await readRuns(site.db);
  const stories = await readStories(site.db);
  const execs = await checkExecs(site);
  await report(t, runs, { acknowledged: acknowledged.runs.size, execs });
  checkStarts(runs, acknowledged);
  for (const run of runs) {
    const events = stories.get(run.runId) ?? [];
    checkStory(run.runId, run.attemptNumber, events);
    if (run.status !== "succeeded") checkSpent(run, events, killings.times);
    else if (run.entrypoint !== "answering") checkOutput(run);
  }
  const steps = await checkJournals(site.db, runs);
  await checkLogs(site.db);
  const answers = await checkAnswers(site.db, acknowledged);
  t.diagnostic(`${steps} steps, ${answers} answers`);
  await checkInvariants(site.db, `seed ${seed}`);
  await checkNothingLeft();
  assert.ok(killings.victims.length >= ENOUGH_KILLS, "too little was killed to tell");
});
