// What ten thousand sleeping runs cost: what an empty installation costs. It takes minutes, so it is part of the long form.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { deployCode } from "./support/deploy-code.ts";
import { isLong } from "../support/seeded-random.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";
import { letPass, until } from "../support/until.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

const RUNS = 10_000;
const BATCH = 500;
const MEASURE_MS = 10_000;
/** Vacuum and checkpoints have their own times. */
const SETTLE_MS = 15_000;
const START_MS = 900_000;
/** Of one core. The server's safety looks and the agent's polls are about one percent. */
const MAX_ADDED_SHARE = 0.02;

const CODE = `
import { task, wait } from "@keelson/sdk";
export const sleeper = task({ id: "sleeper", execution: "shared", async run() { await wait.for("30m"); } });
`;

let site: Site;
let server: ServerProcess;
let agent: SpawnedProcess;
before(async () => {
  if (!isLong()) return;
  site = await startSite({ servers: 1, leaseDuration: "30s", parkAfter: "200ms" });
  server = site.servers[0] as ServerProcess;
  agent = site.agent({ name: "agent", server, capacity: 500 });
  await agent.start();
  await deployCode(site, server, CODE);
});
after(() => site?.stop());

const TICKS_PER_SECOND = 100;

/** Processor time of a process since it began, in seconds. */
async function cpuSeconds(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  // With those of its children that have ended: autovacuum's workers come and go.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}

async function postgresPids(): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
      return { pid, parent: Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]) };
    }),
  );
  const own = site.postgres.pid;
  return [own, ...parents.filter(({ parent }) => parent === own).map(({ pid }) => pid)];
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  const seconds = await Promise.all(pids.map((pid) => cpuSeconds(pid).catch(() => 0)));
  return seconds.reduce((sum, each) => sum + each, 0);
}

type Shares = { server: number; postgres: number; agent: number };

/** Shares of one core over the time of the measurement. */
async function measure(): Promise<Shares> {
  const pids = { server: [server.pid], postgres: await postgresPids(), agent: [agent.pid] };
  const read = async (): Promise<Shares> => ({
    server: await cpuOf(pids.server),
    postgres: await cpuOf(pids.postgres),
    agent: await cpuOf(pids.agent),
  });
  const [start, startedAt] = [await read(), performance.now()];
  await letPass(MEASURE_MS, "the use of processors is measured over this time");
  const end = await read();
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    server: (end.server - start.server) / seconds,
    postgres: (end.postgres - start.postgres) / seconds,
    agent: (end.agent - start.agent) / seconds,
  };
}

const shown = (shares: Shares): string =>
  Object.entries(shares)
    .map(([name, share]) => `${name} ${(share * 100).toFixed(1)} %`)
    .join(", ");

test("ten thousand sleeping runs cost nothing", { skip: !isLong() }, async () => {
  await letPass(SETTLE_MS, "vacuum and checkpoints of the start have to be over");
  const empty = await measure();
  const startedAt = performance.now();
  for (let started = 0; started < RUNS; started += BATCH) {
    const starts = Array.from({ length: BATCH }, () => ({ task: "sleeper" }));
    const answer = await site.call(server.url, "POST", "/v1/tasks/start-batch", {
      body: { starts },
      timeoutMs: 60_000,
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  }
  await until("all are suspended", START_MS, async () => {
    await letPass(500, "asking for all is work for PostgreSQL too");
    const [row] = await site.db.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM executions WHERE status = 'waiting' AND worker_id IS NULL`,
    );
    return Number(row?.count) === RUNS;
  });
  const suspendedMs = performance.now() - startedAt;
  await letPass(SETTLE_MS, "vacuum and checkpoints of the load have to be over");
  const asleep = await measure();
  console.log(
    `empty: ${shown(empty)} · with ${RUNS} sleeping runs: ${shown(asleep)} of a core · ` +
      `all were started and suspended in ${(suspendedMs / 1_000).toFixed(1)} s`,
  );
  const added = asleep.server + asleep.postgres - empty.server - empty.postgres;
  assert.ok(added < MAX_ADDED_SHARE, `${(added * 100).toFixed(1)} % of a core more`);
});
