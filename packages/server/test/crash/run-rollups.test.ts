// Servers are killed, or lose their database, while they count ended runs: the sums are those of a count over all rows.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { checkRollups, isCounted } from "../support/count-runs.ts";
import { crashSeconds, newSeed, seededRandom } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import { openStage, type Stage } from "./support/crash-stage.ts";
import { countVictims, killAtRandom } from "./support/kill-at-random.ts";
import type { SentStatement } from "./support/postgres-messages.ts";
import type { Breakpoint } from "./support/postgres-proxy.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

const SETTLE_MS = 120_000;
const RUNS = 3;

const sends = (text: RegExp) => (statement: SentStatement) => text.test(statement.text);

/** Where a server fails: before or after a statement of the transaction that counts. */
const POINTS: { name: string; side: Breakpoint["side"]; matches: (statement: SentStatement) => boolean }[] = [
  { name: "before the progress is written", side: "before", matches: sends(/UPDATE run_rollup_progress/) },
  { name: "after the progress is written", side: "after", matches: sends(/UPDATE run_rollup_progress/) },
  { name: "before the sums are written", side: "before", matches: sends(/INSERT INTO run_rollups/) },
  { name: "after the sums are written", side: "after", matches: sends(/INSERT INTO run_rollups/) },
  ...(["before", "after"] as const).map((side) => ({
    name: `${side} the commit`,
    side,
    matches: ({ text, earlier }: SentStatement) =>
      text === "COMMIT" && earlier.some((each) => /INSERT INTO run_rollups/.test(each)),
  })),
];

describe("a server that fails while it counts", () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({ poolSize: 4, proxied: true });
  });
  after(() => stage?.stop());

  for (const [index, { name, side, matches }] of POINTS.entries())
    test(`${name} counts no run twice, and forgets none`, async () => {
      const { site, proxies } = stage;
      await until("nothing is left from before", SETTLE_MS, () => isCounted(site.db));
      const hits = proxies.map(async (proxy, at) => {
        await proxy.arm({ side, matches });
        return at;
      });
      for (let run = 0; run < RUNS; run += 1) {
        const { id } = await stage.make("/v1/tasks/work/start");
        const lease = await stage.begin(id);
        const [result] = await stage.report(lease.operation("release", { outcome: "succeeded" }));
        assert.equal(result.status, 200, JSON.stringify(result));
      }
      const at = await Promise.race(hits);
      for (const proxy of proxies) void proxy.arm(null);
      const server = site.servers[at] as ServerProcess;
      if (index % 2 === 0) await server.kill();
      proxies[at]?.cut();
      if (index % 2 === 0) await server.start();
      await until("all are counted", SETTLE_MS, () => isCounted(site.db));
      assert.ok((await checkRollups(site.db)) > 0);
    });
});

describe("runs that end while everything is killed", () => {
  const BATCH = 50;
  const ENOUGH_KILLS = 4;
  let site: Site;
  let agents: SpawnedProcess[];
  before(async () => {
    site = await startSite({ servers: 2, leaseDuration: "8s" });
    agents = site.servers.map((server, at) => site.agent({ name: `agent ${at + 1}`, server, capacity: 8 }));
    await Promise.all(agents.map((agent) => agent.start()));
    const bundle = bundleOf({
      fail: `if (payload % 3 === 0) throw new Error("no"); return payload;`,
      fine: "return payload;",
    });
    const tasks = ["fail", "fine"].map((id) => ({ id, execution: "shared" as const }));
    await promoteWhenReady(site, await createDeployment(site, bundle, tasks));
  });
  after(() => site?.stop());

  /** Starts batches at one server after the other until it is over; a batch without an answer may have started all the same. */
  async function keepStarting(isOver: () => boolean): Promise<void> {
    for (let batch = 0; !isOver(); batch += 1) {
      const server = site.servers[batch % site.servers.length] as ServerProcess;
      const starts = Array.from({ length: BATCH }, (_, n) => ({
        ...{ task: n % 2 === 0 ? "fail" : "fine", payload: n },
        retry: { max_attempts: 1 },
      }));
      await site.call(server.url, "POST", "/v1/tasks/start-batch", { body: { starts } }).catch(() => null);
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

  test("have the sums of a count over all rows", async (t) => {
    const seed = newSeed();
    let isOver = false;
    const starting = keepStarting(() => isOver);
    const killings = await killAtRandom(site, [...site.servers, ...agents], {
      random: seededRandom(seed),
      forMs: crashSeconds(8) * 1_000,
      everyMs: 1_500,
      isEnough: (kills) => kills >= ENOUGH_KILLS,
      signal: new AbortController().signal,
      maxDown: 1,
    });
    isOver = true;
    await starting;
    t.diagnostic(`seed ${seed}, ${killings.victims.length} kills: ${countVictims(killings)}`);
    await until("all runs have ended and are counted", SETTLE_MS, async () => {
      const [left] = await site.db.query<{ count: number }>(sql`SELECT count(*) FROM executions`);
      return left?.count === 0 && isCounted(site.db);
    });
    const [ended] = await site.db.query<{ count: number }>(sql`SELECT count(*) FROM run_results`);
    t.diagnostic(`${ended?.count} runs ended`);
    assert.ok((await checkRollups(site.db)) > 0);
  });
});
