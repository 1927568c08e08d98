// A bulk action whose servers are killed before and after each statement by which they write what they did: each run is
// cancelled, or replayed, once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { isLong, newSeed } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { openStage, type Json, type Stage } from "./support/crash-stage.ts";
import { checkInvariants } from "./support/invariants.ts";
import type { SentStatement } from "./support/postgres-messages.ts";
import type { Breakpoint } from "./support/postgres-proxy.ts";
import type { ServerProcess } from "./support/site.ts";

/** More batches than there are points. */
const RUNS = isLong() ? 450 : 250;
const WAIT_MS = 120_000;

let stage: Stage;
before(async () => {
  stage = await openStage({ poolSize: 4, proxied: true });
});
after(() => stage?.stop());

const isLedger = (text: string): boolean => /INSERT INTO bulk_action_items/.test(text);
const isPlace = (text: string): boolean => /UPDATE bulk_actions SET\s+status = CASE/.test(text);
const isCommit = ({ text, earlier }: SentStatement): boolean => text === "COMMIT" && earlier.some(isLedger);

const pointsOn = (side: Breakpoint["side"]): Breakpoint[] => [
  { side, matches: ({ text }) => isLedger(text) },
  { side, matches: ({ text }) => isPlace(text) },
  { side, matches: isCommit },
];
const SIDES = newSeed() % 2 === 0 ? (["before", "after"] as const) : (["after", "before"] as const);
/** In the short form one action is disturbed before the statements, and the other after them. */
const pointsOf = (action: number): Breakpoint[] =>
  isLong() ? SIDES.flatMap(pointsOn) : pointsOn(SIDES[action % SIDES.length] as Breakpoint["side"]);

/** Kills the server that comes to each of the points in turn; the other one goes on meanwhile. */
async function killAtPoints(points: readonly Breakpoint[]): Promise<number[]> {
  const { proxies, site } = stage;
  const kills: number[] = [0, 0];
  const reached = new Map<number, Promise<number>>();
  const arm = (at: number, point: Breakpoint): void => {
    const proxy = proxies[at];
    if (proxy !== undefined)
      reached.set(
        at,
        proxy.arm(point).then(() => at),
      );
  };
  for (const [n, point] of points.entries()) {
    for (const at of proxies.keys()) if (!reached.has(at)) arm(at, point);
    const at = await Promise.race(reached.values());
    reached.clear();
    const next = points[n + 1];
    if (next === undefined) void proxies[1 - at]?.arm(null);
    else arm(1 - at, next);
    await (site.servers[at] as ServerProcess).kill();
    proxies[at]?.cut();
    kills[at] = (kills[at] ?? 0) + 1;
    await (site.servers[at] as ServerProcess).start();
  }
  return kills;
}

async function disturbed(request: object, points: readonly Breakpoint[]): Promise<Json> {
  const killing = killAtPoints(points);
  const made = await stage.insist("POST", "/v1/runs/bulk-actions", { body: request });
  assert.equal(made.status, 202, JSON.stringify(made.body));
  const kills = await killing;
  const path = `/v1/runs/bulk-actions/${made.body.id}`;
  await until("the bulk action has ended", WAIT_MS, async () => (await stage.get(path)).status !== "running");
  console.log(`server killed ×${kills.join(" and ×")}`);
  return stage.get(path);
}

test("cancels each run once", async () => {
  const starts = Array.from({ length: RUNS }, () => ({ task: "work", tags: ["mass"] }));
  await stage.make("/v1/tasks/start-batch", { starts });
  const request = { action: "cancel", filter: { tag: ["mass"] }, idempotency_key: "cancel" };
  const action = await disturbed(request, pointsOf(0));
  assert.deepEqual([action.status, action.matched, action.done, action.failed], ["completed", RUNS, RUNS, 0]);
  const [found] = await stage.site.db.query<{ items: number; cancelled: number }>(sql`
    SELECT (SELECT count(*) FROM bulk_action_items WHERE outcome = 'cancelled') AS items,
      (SELECT count(*) FROM run_results WHERE status = 'cancelled') AS cancelled`);
  assert.deepEqual({ ...found }, { items: RUNS, cancelled: RUNS });
  await checkInvariants(stage.site.db, "after the cancellation");
});

test("replays each run once", async () => {
  const request = { action: "replay", filter: { tag: ["mass"] }, idempotency_key: "replay" };
  const action = await disturbed(request, pointsOf(1));
  assert.deepEqual([action.status, action.matched, action.done, action.failed], ["completed", RUNS, RUNS, 0]);
  const [found] = await stage.site.db.query<{ replayed: number; started: number; queued: number }>(sql`
    SELECT (SELECT count(DISTINCT new_run_id) FROM bulk_action_items i JOIN runs r ON r.id = i.new_run_id) AS replayed,
      (SELECT count(*) FROM runs WHERE tags = '{mass}') AS started,
      (SELECT count(*) FROM executions WHERE status = 'queued') AS queued`);
  assert.deepEqual({ ...found }, { replayed: RUNS, started: 2 * RUNS, queued: RUNS });
  await checkInvariants(stage.site.db, "after the replay");
});
