// A server is killed, or loses its database, at a statement by which it counts ended runs: the sums are those of a count over
// all rows.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { checkRollups, isCounted } from "../support/count-runs.ts";
import { until } from "../support/until.ts";
import { openStage, type Stage } from "./support/crash-stage.ts";
import type { SentStatement } from "./support/postgres-messages.ts";
import type { Breakpoint } from "./support/postgres-proxy.ts";
import type { ServerProcess } from "./support/site.ts";

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

async function endRuns(stage: Stage): Promise<void> {
  for (let run = 0; run < RUNS; run += 1) {
    const { id } = await stage.make("/v1/tasks/work/start");
    const lease = await stage.begin(id);
    const [result] = await stage.report(lease.operation("release", { outcome: "succeeded" }));
    assert.equal(result.status, 200, JSON.stringify(result));
  }
}

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
      // It may count before all runs have ended, and the other server would be next.
      const failing = Promise.race(hits).then(async (at) => {
        for (const proxy of proxies) void proxy.arm(null);
        const server = site.servers[at] as ServerProcess;
        if (index % 2 === 0) await server.kill();
        proxies[at]?.cut();
        if (index % 2 === 0) await server.start();
      });
      await Promise.all([failing, endRuns(stage)]);
      await until("all are counted", SETTLE_MS, () => isCounted(site.db));
      assert.ok((await checkRollups(site.db)) > 0);
    });
});
