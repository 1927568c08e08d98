// Somebody holds a snapshot of the database for minutes, as a dump or an analyst does, and runs begin as quickly as before.
// The short form counts what a claim looks at: `core/held-snapshot`.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, test } from "node:test";
import pg from "pg";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { deployCode } from "./support/deploy-code.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";

const RUNS_A_SECOND = 116;
const FREE_MS = 30_000;
const HELD_MS = 300_000;
const WINDOW_MS = 30_000;

const CODE = `
import { task } from "@keelson/sdk";

export const look = task({ id: "look", execution: "shared", run: () => Date.now() });
`;

let site: Site;
let server: ServerProcess;
before(async () => {
  if (!isLong()) return;
  site = await startSite({ servers: 1, leaseDuration: "15s" });
  server = site.servers[0] as ServerProcess;
  await site.agent({ name: "agent", server, capacity: 16 }).start();
  await deployCode(site, server, CODE);
});
after(() => site?.stop());

const TICKS_A_SECOND = 100;

/** Milliseconds of processor of PostgreSQL, with those of its processes that have ended. */
function postgresMs(): number {
  const postmaster = site.postgres.pid;
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    } catch {
      continue;
    }
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    if (fields[1] === postmaster) ticks += (fields[11] as number) + (fields[12] as number);
    if (Number(pid) === postmaster) ticks += fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
  }
  return (ticks * 1_000) / TICKS_A_SECOND;
}

type Seen = { p50: number; p99: number; cpuMs: number; runs: number };

/** Starts runs at an even pace. @returns how long it took until their code ran, and PostgreSQL's work for each of them. */
async function watch(ms: number): Promise<Seen> {
  const started: { id: string; at: number }[] = [];
  const cpuBefore = postgresMs();
  const begun = performance.now();
  const calls: Promise<void>[] = [];
  while (performance.now() - begun < ms) {
    const due = ((performance.now() - begun) / 1_000) * RUNS_A_SECOND;
    for (; calls.length < due;) {
      const at = Date.now();
      calls.push(
        site.call(server.url, "POST", "/v1/tasks/look/start", { body: {} }).then(({ status, body }) => {
          assert.equal(status, 201);
          started.push({ id: body.id, at });
        }),
      );
    }
    await sleep(2);
  }
  await Promise.all(calls);
  const cpuMs = (postgresMs() - cpuBefore) / started.length;
  const waits: number[] = [];
  for (const { id, at } of started.filter((_, index) => index % 5 === 0)) {
    let output: unknown;
    await until("the run has ended", 60_000, async () => {
      ({ output } = (await site.call(server.url, "GET", `/v1/runs/${id}`)).body);
      return typeof output === "number";
    });
    waits.push((output as number) - at);
  }
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.floor(waits.length * share)] as number;
  return { p50: at(0.5), p99: at(0.99), cpuMs, runs: started.length };
}

const shown = ({ p50, p99, cpuMs, runs }: Seen): string =>
  `p50 ${p50} ms, p99 ${p99} ms, PostgreSQL ${cpuMs.toFixed(2)} ms a run, ${runs} runs`;

test("a snapshot that is held for five minutes slows nothing down", { skip: !isLong() }, async (t) => {
  await watch(5_000);
  const free = await watch(FREE_MS);
  t.diagnostic(`free: ${shown(free)}`);
  const holder = new pg.Client({ connectionString: site.postgres.url });
  await holder.connect();
  const held: Seen[] = [];
  try {
    await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await holder.query("SELECT FROM executions LIMIT 1");
    const begun = performance.now();
    while (performance.now() - begun < HELD_MS) {
      held.push(await watch(WINDOW_MS));
      t.diagnostic(
        `held for ${Math.round((performance.now() - begun) / 1_000)} s: ${shown(held.at(-1) as Seen)}`,
      );
    }
    await holder.query("COMMIT");
  } finally {
    await holder.end();
  }
  t.diagnostic(`after it: ${shown(await watch(FREE_MS))}`);
  const last = held.at(-1) as Seen;
  assert.ok(last.p50 <= 1.5 * free.p50 + 1, `p50 ${free.p50} → ${last.p50} ms`);
  assert.ok(last.cpuMs <= 1.5 * free.cpuMs, `PostgreSQL ${free.cpuMs} → ${last.cpuMs} ms a run`);
});
