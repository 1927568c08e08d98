// A thousand runs while every process is killed at random: all finish, once, and their events say why.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { bundleOf } from "./support/bundle.ts";
import { countVictims, killAtRandom } from "./support/kill-at-random.ts";
import { checkStory, readStories, tell, type StoryEvent } from "./support/run-story.ts";
import { crashSeconds, isLong, newSeed, pick, seededRandom, type Random } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { letPass, until } from "../support/until.ts";

/** At each moment of the killing some begin, some are at work, and some wait for their next attempt. */
const RUNS = isLong() ? 1_000 : 200;
const ENOUGH_KILLS = 5;
const STARTERS = 8;
const SETTLE_MS = 60_000;
const OUTAGE_MS = 30_000;

let site: Site;
before(async () => (site = await startSite({ servers: 2, leaseDuration: "6s" })));
after(() => site?.stop());

/** Starts every run under a key of its own, repeating each until it is answered. */
async function startRuns(random: Random, pauseMs: number): Promise<void> {
  let next = 0;
  const startAll = async (): Promise<void> => {
    while (next < RUNS) {
      const n = (next += 1);
      const body = {
        payload: { n, ms: Math.floor(random() * 500) },
        idempotency_key: `run-${n}`,
        retry: { max_attempts: 20, initial_delay: "100ms" },
      };
      await until("the service comes back", OUTAGE_MS, async () => {
        const answer = await site
          .call(pick(random, site.servers).url, "POST", "/v1/tasks/work/start", { body })
          .catch(() => null);
        if (answer?.status === 201) return true;
        assert.ok(answer === null || answer.status === 503, JSON.stringify(answer?.body));
        return false;
      });
      await letPass(pauseMs * 2 * random(), "starts come at random moments");
    }
  };
  await Promise.all(Array.from({ length: STARTERS }, startAll));
}

type EndedRun = {
  runId: string;
  status: string | null;
  attemptNumber: number | null;
  output: string | null;
  payload: string;
};

const readRuns = (): Promise<EndedRun[]> =>
  site.db.query<EndedRun>(sql`
    SELECT r.id AS "runId", r.payload, x.status, x.attempt_number AS "attemptNumber", x.output
    FROM runs r LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id`);

/** Beyond what holds of every run. */
function checkSuccess(run: EndedRun, events: readonly StoryEvent[]): void {
  const story = `${run.runId}: ${tell(events)}`;
  assert.equal(events.at(-1)?.k, "run.succeeded", `ended with its success · ${story}`);
  assert.deepEqual(
    events.slice(0, 2).map(({ k }) => k),
    ["run.created", "run.queued"],
    story,
  );
  checkStory(run.runId, run.attemptNumber, events);
}

async function checkCounts(runs: readonly EndedRun[]): Promise<void> {
  const counted = await site.call((site.servers[0] as ServerProcess).url, "GET", "/api/runs/counts");
  const truth = new Map<string, number>();
  for (const { status } of runs) truth.set(status as string, (truth.get(status as string) ?? 0) + 1);
  for (const [status, count] of Object.entries(counted.body.counts as Record<string, number>)) {
    assert.equal(count, truth.get(status) ?? 0, `the count of ${status} runs is the truth`);
  }
}

test("1,000 runs all succeed once while every process is killed at random", async () => {
  const seed = newSeed();
  const random = seededRandom(seed);
  const [first, second] = site.servers as [ServerProcess, ServerProcess];
  const agents = [
    site.agent({ name: "agent 1", server: first, capacity: 12 }),
    site.agent({ name: "agent 2", server: second, capacity: 12 }),
  ];
  await Promise.all(agents.map((agent) => agent.start()));
  const bundle = bundleOf({
    work: "console.log(`working on ${payload.n}`); await tick(payload.ms); return { n: payload.n };",
  });
  await promoteWhenReady(site, await createDeployment(site, bundle, [{ id: "work", execution: "shared" }]));

  const forMs = crashSeconds(8) * 1_000;
  const over = new AbortController();
  // The starts are spread over most of the killing, so that each kind of death meets each kind of work.
  const starting = startRuns(random, (forMs * 0.7 * STARTERS) / RUNS);
  let started = false;
  starting.then(
    () => (started = true),
    () => over.abort(),
  );
  const killings = await killAtRandom(site, [first, second, ...agents], {
    random,
    forMs,
    everyMs: 1_500,
    isEnough: (kills) => started && kills >= ENOUGH_KILLS,
    signal: over.signal,
  });
  await starting;
  const settledFrom = performance.now();
  await until("all runs have ended", SETTLE_MS, async () => {
    const [live] = await site.db.query<{ count: number }>(sql`SELECT count(*) FROM executions`);
    return live?.count === 0;
  });
  const settleMs = performance.now() - settledFrom;

  const runs = await readRuns();
  const stories = await readStories(site.db);
  const attempts = runs.map((run) => run.attemptNumber ?? 0);
  console.log(
    `seed ${seed} · killed ${countVictims(killings)} · ${runs.length} runs, ${runs.filter(({ status }) => status === "succeeded").length} succeeded, ` +
      `${attempts.filter((n) => n > 1).length} after more than one attempt (at most ${Math.max(...attempts)}) · settled in ${(settleMs / 1_000).toFixed(1)} s`,
  );
  assert.equal(runs.length, RUNS, "each key made one run and none was lost");
  for (const run of runs) {
    assert.equal(run.status, "succeeded", run.runId);
    assert.deepEqual(JSON.parse(run.output ?? "null"), { n: (JSON.parse(run.payload) as { n: number }).n });
    checkSuccess(run, stories.get(run.runId) ?? []);
  }
  await checkCounts(runs);
  assert.ok(killings.victims.length >= ENOUGH_KILLS, "too little was killed to tell");
});
