// A server whose wall clock is wrong, beside one whose clock is right, and alone: what time it is says PostgreSQL.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";

const SECOND = 1_000;
const SHIFTS_MS = [12 * SECOND, -12 * SECOND, 300 * SECOND, -3_600 * SECOND, 40 * 86_400 * SECOND];
/** Two clocks of one machine are read one after the other. */
const APART_MS = 30_000;

const HOLD = `
  const { existsSync } = await import("node:fs");
  while (!existsSync(payload.go)) await tick(20);
  return "done";`;

let site: Site;
let right: ServerProcess;
let wrong: ServerProcess;
let folder: string;
const setClock = (ms: number): Promise<void> => writeFile(path.join(folder, "clock"), String(ms));

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "keelson-clock-"));
  await setClock(0);
  const preload = import.meta.resolve("./support/shift-clock.mjs");
  site = await startSite({
    servers: 2,
    leaseDuration: "6s",
    serverEnvOf: (at) =>
      at === 0
        ? {}
        : {
            NODE_OPTIONS: `--import=${preload}`,
            TEST_CLOCK_FILE: path.join(folder, "clock"),
          },
  });
  [right, wrong] = site.servers as [ServerProcess, ServerProcess];
  const agents = [right, wrong].map((server, at) =>
    site.agent({ name: `agent ${at + 1}`, server, capacity: 8 }),
  );
  await Promise.all(agents.map((agent) => agent.start()));
  await promoteWhenReady(site, await createDeployment(site, bundleOf({ hold: HOLD }), [{ id: "hold" }]));
});
after(async () => {
  await site?.stop();
  await rm(folder, { recursive: true, force: true });
});

const call = async (server: ServerProcess, method: string, at: string, body?: object): Promise<Body> => {
  const answer = await site.call(server.url, method, at, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, `${method} ${at}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
};
// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

const start = (server: ServerProcess, body: object): Promise<Body> =>
  call(server, "POST", "/v1/tasks/hold/start", body);

async function leaseEnds(runs: readonly string[]): Promise<number[]> {
  const rows = await site.db.query<{ at: number }>(sql`
    SELECT lease_expires_at AS at FROM executions
    WHERE run_id = ANY (${runs.map((run) => decodeId("run", run))}::uuid[]) AND lease_expires_at IS NOT NULL
    ORDER BY run_id`);
  return rows.map(({ at }) => at);
}

/** Both servers have looked for what is due many times by then. */
async function untilRenewed(runs: readonly string[]): Promise<void> {
  let before = await leaseEnds(runs);
  for (let times = 0; times < 2; times += 1) {
    const ends = before;
    await until("all leases were renewed", 20_000, async () => {
      const now = await leaseEnds(runs);
      assert.equal(now.length, runs.length, "a lease was lost");
      return now.every((end, at) => end > (ends[at] as number));
    });
    before = await leaseEnds(runs);
  }
}

const isNow = (text: string): void =>
  assert.ok(Math.abs(Date.parse(text) - Date.now()) < APART_MS, `${text} is not the time`);

for (const shiftMs of SHIFTS_MS)
  test(`two servers, of which one is ${shiftMs / SECOND} s off, agree on what time it is`, async () => {
    await setClock(0);
    const go = path.join(site.open, `go ${shiftMs}`);
    const key = `key ${shiftMs}`;
    const token = await call(right, "POST", "/v1/tokens", { timeout: "2d" });
    const later = await start(right, { payload: { go }, delay: "1d", idempotency_key: key });
    const held = await Promise.all(
      [right, wrong, right, wrong].map((server) =>
        start(server, { payload: { go }, retry: { max_attempts: 1 } }),
      ),
    );
    const runs = held.map(({ id }) => id as string);
    await until("all runs are leased", 20_000, async () => (await leaseEnds(runs)).length === runs.length);

    await setClock(shiftMs);
    await untilRenewed(runs);
    await until("the wrong clock is noticed", 20_000, async () => {
      const { problems } = await call(wrong, "GET", "/readyz");
      return problems.some(({ code }: Body) => code === "clock_differs");
    });
    assert.deepEqual((await call(right, "GET", "/readyz")).problems, []);

    assert.equal((await call(wrong, "GET", `/v1/tokens/${token.id}`)).status, "pending");
    assert.equal((await call(wrong, "GET", `/api/runs/${later.id}`)).started_at, null);
    const again = await start(wrong, { payload: { go }, delay: "1d", idempotency_key: key });
    assert.equal(again.id, later.id, "the key is known still");
    const made = await call(wrong, "POST", "/v1/tokens", { timeout: "1s" });
    isNow(made.created_at);
    assert.equal(Date.parse(made.timeout_at) - Date.parse(made.created_at), SECOND);
    await until("a token expires in its time", 20_000, async () => {
      const { status } = await call(wrong, "GET", `/v1/tokens/${made.id}`);
      return status === "expired";
    });
    const schedule = { task: "hold", deduplication_key: `every minute ${shiftMs}`, cron: "* * * * *" };
    const { id, next_run_at: nextRunAt } = await call(wrong, "POST", "/api/schedules", schedule);
    // Within the next minute.
    const leadMs = Date.parse(nextRunAt) - Date.now();
    assert.ok(leadMs > -APART_MS && leadMs < 60 * SECOND + APART_MS, `${nextRunAt} is not the next time`);
    await call(right, "POST", `/api/schedules/${id}/deactivate`);

    await setClock(0);
    await writeFile(go, "");
    for (const run of runs) {
      await until("the run has ended", 60_000, async () => {
        const { finished_at: finishedAt } = await call(right, "GET", `/api/runs/${run}`);
        return finishedAt !== null;
      });
      const { events } = await call(right, "GET", `/api/runs/${run}/events?limit=200`);
      assert.deepEqual(
        events.map(({ kind }: Body) => kind),
        ["run.created", "run.queued", "run.leased", "run.started", "run.succeeded"],
      );
    }
  });
