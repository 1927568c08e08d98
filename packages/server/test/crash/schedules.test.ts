// A schedule every second, fired by two servers of which one is killed again and again.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { bundleOf } from "./support/bundle.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import { crashSeconds } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { letPass } from "../support/until.ts";

const SECONDS = crashSeconds(8);

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let site: Site;
let killed: ServerProcess;
let other: ServerProcess;
before(async () => {
  site = await startSite({ servers: 2, leaseDuration: "15s" });
  [killed, other] = site.servers as [ServerProcess, ServerProcess];
  const worker = await enrollRawWorker(site, other, "checker");
  const deployment = await createDeployment(site, bundleOf({ tick: "return payload;" }), [{ id: "tick" }]);
  await worker.passCheck(["tick"]);
  await promoteWhenReady(site, deployment);
});
after(() => site?.stop());

async function occurrences(id: string): Promise<Json[]> {
  const rows: Json[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const after = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await site.call(
      other.url,
      "GET",
      `/api/schedules/${id}/occurrences?limit=200${after}`,
    );
    assert.equal(status, 200, JSON.stringify(body));
    rows.push(...body.occurrences);
    cursor = body.next_cursor as string | null;
  }
  return rows.reverse();
}

test("every second is settled once: fired with one run, or skipped with a reason", async () => {
  const made = await site.call(other.url, "POST", "/api/schedules", {
    body: { deduplication_key: "second", task: "tick", cron: "* * * * * *" },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { id, next_run_at } = made.body as { id: string; next_run_at: string };
  const startedAt = performance.now();
  let kills = 0;
  while (performance.now() - startedAt < SECONDS * 1000) {
    await letPass(700 + Math.random() * 600, "the server is killed at random moments of a second");
    await killed.kill();
    kills += 1;
    await killed.start();
  }
  const ended = await site.call(other.url, "POST", `/api/schedules/${id}/deactivate`);
  assert.equal(ended.status, 200, JSON.stringify(ended.body));

  const rows = await occurrences(id);
  const from = Date.parse(next_run_at);
  assert.deepEqual(
    rows.map(({ scheduled_at }) => Date.parse(scheduled_at)),
    Array.from({ length: rows.length }, (_, n) => from + n * 1000),
  );
  const fired = rows.filter(({ status }) => status === "fired");
  assert.ok(
    rows.every(({ status, run_id, reason }) => (status === "fired" ? run_id : reason?.message) !== null),
  );
  const [runs] = await site.db.query<{ runs: number; slots: number }>(sql`
    SELECT count(*) AS runs, count(DISTINCT payload::json ->> 'scheduled_at') AS slots FROM runs WHERE schedule_id IS NOT NULL`);
  assert.deepEqual({ ...runs }, { runs: fired.length, slots: fired.length });
  const late = fired.map(({ scheduled_at, created_at }) => Date.parse(created_at) - Date.parse(scheduled_at));
  console.log(
    `${rows.length} slots, ${fired.length} fired, ${rows.length - fired.length} skipped with a reason, ${kills} kills; ` +
      `fired ${Math.min(...late)} to ${Math.max(...late)} ms after they were due`,
  );
  assert.ok(rows.length >= SECONDS - 1 && fired.length >= rows.length / 2);
});
