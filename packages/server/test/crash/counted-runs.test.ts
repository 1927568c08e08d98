// Runs succeed and fail in a few ways while servers, PostgreSQL and agents are killed: each is counted once, in the sums of
// its minute and hour, and in its group when it failed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql, type Sql } from "../../src/db/sql.ts";
import { checkRollups, isCounted } from "../support/count-runs.ts";
import { crashSeconds, isLong, newSeed, seededRandom } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import { checkInvariants } from "./support/invariants.ts";
import { countVictims, killAtRandom } from "./support/kill-at-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

/** What is started at once. With this many some run, some end and some wait at each kill; with more both cores are full. */
const BATCH = isLong() ? 50 : 10;
const ENOUGH_KILLS = 4;
const SETTLE_MS = 120_000;
/** A failure of one of three ways, and one that is a run's own. */
const FAIL = `
  if (payload % 5 === 4) return payload;
  if (payload === 7) throw new Error("the only one");
  throw new Error(["no user ", "no order ", "no price of "][payload % 3] + payload);`;

let site: Site;
let agents: SpawnedProcess[];
before(async () => {
  site = await startSite({ servers: 2, leaseDuration: "8s" });
  agents = site.servers.map((server, at) => site.agent({ name: `agent ${at + 1}`, server, capacity: 8 }));
  await Promise.all(agents.map((agent) => agent.start()));
  const bundle = bundleOf({ fail: FAIL });
  await promoteWhenReady(site, await createDeployment(site, bundle, [{ id: "fail", execution: "shared" }]));
  await killWhileRunsEnd();
});
after(() => site?.stop());

/** Starts batches at one server after the other until it is over; a batch without an answer may have started all the same. */
async function keepStarting(isOver: () => boolean): Promise<void> {
  for (let batch = 0; !isOver(); batch += 1) {
    const server = site.servers[batch % site.servers.length] as ServerProcess;
    const starts = Array.from({ length: BATCH }, (_, n) => ({
      ...{ task: "fail", payload: batch * BATCH + n },
      retry: { max_attempts: 1 },
    }));
    const started = site.call(server.url, "POST", "/v1/tasks/start-batch", { body: { starts } });
    const answer = await started.catch(() => null);
    assert.ok(answer === null || answer.status === 200 || answer.status >= 500, JSON.stringify(answer));
    await until("some of the runs have ended", SETTLE_MS, async () => {
      if (isOver()) return true;
      // PostgreSQL may be away.
      const rows = await site.db
        .query<{ count: number }>(sql`SELECT count(*) FROM executions`)
        .catch(() => [{ count: BATCH * 4 }]);
      return (rows[0]?.count ?? 0) < BATCH * 4;
    });
  }
}

async function killWhileRunsEnd(): Promise<void> {
  const seed = newSeed();
  let isOver = false;
  const starting = keepStarting(() => isOver);
  const killings = await killAtRandom(site, [...site.servers, ...agents], {
    random: seededRandom(seed),
    forMs: crashSeconds(6) * 1_000,
    everyMs: 1_500,
    isEnough: (kills) => kills >= ENOUGH_KILLS,
    signal: new AbortController().signal,
    maxDown: 1,
  });
  isOver = true;
  await starting;
  console.log(`seed ${seed}, ${killings.victims.length} kills: ${countVictims(killings)}`);
}

const countFirst = async (text: Sql): Promise<number> =>
  (await site.db.query<{ count: number }>(text))[0]?.count ?? 0;

test("each run that failed is counted once, in its group", async (t) => {
  await until("all runs have ended and are in a group", SETTLE_MS, async () => {
    const left = await countFirst(sql`
      SELECT (SELECT count(*) FROM executions) + (SELECT count(*) FROM error_group_runs WHERE NOT counted) AS count`);
    return left === 0;
  });
  const failed = await site.db.query<{ id: string; count: number }>(sql`
    SELECT error_group_id AS id, count(*) FROM run_results WHERE status IN ('failed', 'system_failed') GROUP BY 1 ORDER BY 1`);
  const groups = await site.db.query<{ id: string; count: number }>(
    sql`SELECT id, count FROM error_groups ORDER BY id`,
  );
  t.diagnostic(`groups: ${groups.map(({ count }) => count).join(", ")}`);
  assert.ok(groups.length >= 3);
  assert.deepEqual(groups, failed);
});

test("each run that ended is counted once, in its minute and its hour", async (t) => {
  await until("all runs have ended and are counted", SETTLE_MS, async () => {
    const left = await countFirst(sql`SELECT count(*) FROM executions`);
    return left === 0 && isCounted(site.db);
  });
  t.diagnostic(`${await countFirst(sql`SELECT count(*) FROM run_results`)} runs ended`);
  assert.ok((await checkRollups(site.db)) > 0);
});

test("what is stored of them agrees", () => checkInvariants(site.db, "after the kills"));
