// Agents come and go with the load, by /capacity/v1 alone: nothing is lost, no drain costs an attempt, and a killed agent's
// runs come back when their leases end.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { bundleOf } from "./support/bundle.ts";
import { startScaler, type Scaler } from "./support/scaler.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { letPass, until } from "../support/until.ts";
import { watchDelay } from "./support/watch-delay.ts";

/** Longer than the shortest, so that a busy machine alone makes no agent lose one. */
const LEASE_MS = 10_000;
const MAX_AFTER_KILL_MS = LEASE_MS + 1_500;
const CAPACITY = 4;
const MAXIMUM = 3;
/** Runs that are started in each step of 250 ms: up, down to nothing, and up again. */
const WAVE = [2, 6, 10, 10, 6, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 8, 8, 3, 1, 0];
const STEP_MS = 250;
const SETTLE_MS = 60_000;

let site: Site;
let server: ServerProcess;
let scaler: Scaler;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: `${LEASE_MS}ms` });
  server = site.servers[0] as ServerProcess;
  const groups = await site.call(server.url, "GET", "/capacity/v1/worker-groups", {
    as: site.credentials.capacity_key,
  });
  const group = groups.body.worker_groups[0].id as string;
  scaler = startScaler(site, server, { group, capacity: CAPACITY, maximum: MAXIMUM });
});
after(async () => {
  await scaler?.stop().catch(() => undefined);
  await site?.stop();
});

type Event = { kind: string; attempt_number: number | null; at: string };
const eventsOf = async (runId: string): Promise<Event[]> =>
  (await site.call(server.url, "GET", `/api/runs/${runId}/events?limit=200`)).body.events as Event[];

async function startRuns(task: string, count: number): Promise<string[]> {
  const answer = await site.call(server.url, "POST", "/v1/tasks/start-batch", {
    body: { starts: Array.from({ length: count }, () => ({ task })) },
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return (answer.body.results as { run: { id: string } }[]).map(({ run }) => run.id);
}

const run = async (runId: string) => (await site.call(server.url, "GET", `/api/runs/${runId}`)).body;

const untilSucceeded = (runIds: readonly string[]): Promise<void> =>
  until("all runs have succeeded", SETTLE_MS, async () => {
    const runs = await Promise.all(runIds.map(run));
    const ended = runs.filter(
      ({ status }) => !["queued", "running", "waiting", "retry_delayed"].includes(status),
    );
    assert.deepEqual(
      ended.filter(({ status }) => status !== "succeeded"),
      [],
    );
    return ended.length === runIds.length;
  });

/** Runs that have begun, by the name of their agent. */
async function heldBy(): Promise<Map<string, number>> {
  const rows = await site.db.query<{ name: string; runs: number }>(sql`
    SELECT replace(w.name, '-', ' ') AS name, count(*) AS runs
    FROM executions e JOIN workers w ON w.id = e.worker_id WHERE e.status = 'running' GROUP BY w.name`);
  return new Map(rows.map(({ name, runs }) => [name, runs]));
}

/** Nobody is left to get work, and every process that was drained has ended by itself. */
const untilNobody = (): Promise<void> =>
  until("the group is scaled down to nothing", SETTLE_MS, async () => {
    const { workers } = await scaler.load();
    return workers.active + workers.registered + workers.draining === 0 && scaler.living().length === 0;
  });

test("a deployment that nobody could check brings the first agent", async () => {
  assert.equal((await scaler.load()).workers.active, 0);
  const gate = JSON.stringify(path.join(site.dir, "go"));
  const bundle = bundleOf(
    {
      work: "await tick(400); return input.run.attempt_number;",
      hold: `while (!existsSync(${gate})) await tick(50); return input.run.attempt_number;`,
    },
    `import { existsSync } from "node:fs";`,
  );
  const tasks = ["work", "hold"].map((id) => ({ id, execution: "shared" as const }));
  await promoteWhenReady(site, await createDeployment(site, bundle, tasks));
  assert.ok(scaler.started >= 1);
  await untilNobody();
});

test("agents follow a load that rises and falls; every run succeeds at its first attempt", async () => {
  const runIds: string[] = [];
  for (const count of WAVE) {
    if (count > 0) runIds.push(...(await startRuns("work", count)));
    await letPass(STEP_MS, "the load rises and falls in steps");
  }
  await untilSucceeded(runIds);
  for (const { output, attempt_number: attempt } of await Promise.all(runIds.map(run)))
    assert.deepEqual([output, attempt], [1, 1]);
  await untilNobody();
  console.log(
    `${runIds.length} runs · ${scaler.started} agents started, at most ${scaler.most} at once, ${scaler.drained} drained`,
  );
  assert.ok(scaler.most >= 2, `at most ${scaler.most} agents at once`);
  // As many as were started have gone again, and none by itself.
  assert.equal(scaler.drained, scaler.started);
});

test("a killed agent's runs are taken back when their leases end, and another one is started for them", async () => {
  const runIds = await startRuns("hold", CAPACITY * 2);
  const begun = async (): Promise<boolean> =>
    (await Promise.all(runIds.map(eventsOf))).every((events) =>
      events.some(({ kind }) => kind === "run.started"),
    );
  await until("all runs have begun", SETTLE_MS, begun);
  const held = await heldBy();
  const [victim] = scaler.living().toSorted((a, b) => (held.get(b.name) ?? 0) - (held.get(a.name) ?? 0));
  assert.ok(victim !== undefined);
  const expected = held.get(victim.name) ?? 0;
  assert.ok(expected > 0 && expected < runIds.length, `${expected} runs are of one agent`);
  const delay = watchDelay();
  const killedAt = Date.now();
  await victim.kill();
  const lost = async (): Promise<[string, Event][]> => {
    const all = await Promise.all(runIds.map(async (id) => [id, await eventsOf(id)] as const));
    return all.flatMap(([id, events]) => {
      const event = events.find(({ kind }) => kind === "lease.lost");
      return event === undefined ? [] : [[id, event] as [string, Event]];
    });
  };
  await until(
    "its runs are taken back",
    LEASE_MS * 2 + 10_000,
    async () => (await lost()).length >= expected,
  );
  const allowedMs = delay();
  const times = (await lost()).map(([, { at }]) => Date.parse(at) - killedAt);
  console.log(
    `${times.length} runs taken back after at most ${Math.max(...times)} ms (bound ${MAX_AFTER_KILL_MS} + ${allowedMs} ms)`,
  );
  assert.ok(Math.max(...times) <= MAX_AFTER_KILL_MS + allowedMs);
  await writeFile(path.join(site.dir, "go"), "");
  await untilSucceeded(runIds);
  const again = new Set((await lost()).map(([id]) => id));
  for (const id of runIds) assert.equal((await run(id)).attempt_number, again.has(id) ? 2 : 1);
  await untilNobody();
});
