// An agent and a program that calls Keelson, whose wall clocks are wrong and are set while they work: nobody's verdict changes.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { decodeId } from "@keelson/contract";
import { bareEnvironment } from "../support/bare-environment.ts";
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
/** What passes between two looks at the clock of this machine, at most. */
const APART_MS = 30_000;

const TALK = `
  const { existsSync } = await import("node:fs");
  console.log("before");
  while (!existsSync(payload.go)) await tick(20);
  console.log("after");
  return "done";`;

/** Starts a run, waits for it, and lets a token expire. */
const CALLER = `
  import { writeFile } from "node:fs/promises";
  import { Client } from "@keelson/sdk/client";
  const { URL_OF_SERVER: url, API_KEY: apiKey, GO: go } = process.env;
  const client = new Client({ url, apiKey });
  const run = await client.tasks.start("talk", { go }, { idempotencyKey: go, retry: { maxAttempts: 1 } });
  const token = await client.tokens.create({ timeout: "1s" });
  const again = await client.tasks.start("talk", { go }, { idempotencyKey: go, retry: { maxAttempts: 1 } });
  await writeFile(go, "");
  const ended = await client.runs.wait(run.id);
  let last = token;
  while (last.status === "pending") last = await client.tokens.get(token.id);
  console.log(JSON.stringify({ id: run.id, again: again.id, ended: ended.status, token: last.status }));`;

let site: Site;
let server: ServerProcess;
let folder: string;
const setClock = (ms: number): Promise<void> => writeFile(path.join(folder, "clock"), String(ms));
const withClock = (): Record<string, string> => ({
  NODE_OPTIONS: `--import=${import.meta.resolve("./support/shift-clock.mjs")}`,
  TEST_CLOCK_FILE: path.join(folder, "clock"),
});

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "keelson-clock-"));
  await setClock(0);
  site = await startSite({ servers: 1, leaseDuration: "6s" });
  [server] = site.servers as [ServerProcess];
  await site.agent({ name: "agent 1", server, capacity: 4, env: withClock() }).start();
  await promoteWhenReady(site, await createDeployment(site, bundleOf({ talk: TALK }), [{ id: "talk" }]));
});
after(async () => {
  await site?.stop();
  await rm(folder, { recursive: true, force: true });
});

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any;

async function call(method: string, at: string, body?: object): Promise<Body> {
  const answer = await site.call(server.url, method, at, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, `${method} ${at}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const logsOf = async (run: string): Promise<Body[]> => (await call("GET", `/v1/runs/${run}/logs`)).logs;

/** Waits until the run's lease was renewed that often. */
async function renewed(run: string, times: number): Promise<void> {
  const endsAt = async (): Promise<number> => {
    const [row] = await site.db.query<{ at: number }>(
      sql`SELECT lease_expires_at AS at FROM executions WHERE run_id = ${decodeId("run", run)}`,
    );
    assert.ok(row, "the run has ended");
    return row.at;
  };
  for (let time = 0; time < times; time += 1) {
    const before = await endsAt();
    await until("the lease is renewed", 20_000, async () => (await endsAt()) > before);
  }
}

/** All of it happened now, in this order. */
async function checkTimes(run: string): Promise<void> {
  const { created_at, started_at, finished_at } = await call("GET", `/api/runs/${run}`);
  const { events } = await call("GET", `/api/runs/${run}/events?limit=200`);
  assert.deepEqual(
    events.map(({ kind }: Body) => kind),
    ["run.created", "run.queued", "run.leased", "run.started", "run.succeeded"],
  );
  const logs = await logsOf(run);
  const written = logs.map(({ data }) => Buffer.from(data as string, "base64").toString()).join("");
  assert.equal(written, "before\nafter\n");
  const times = [created_at, started_at, ...logs.map(({ at }) => at), finished_at].map(Date.parse);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  assert.ok(times.every((at) => Math.abs(at - Date.now()) < APART_MS));
}

for (const shiftMs of SHIFTS_MS) {
  test(`the clock of an agent is set by ${shiftMs / SECOND} s while it runs a task, and back`, async () => {
    await setClock(0);
    const go = path.join(site.open, `agent ${shiftMs}`);
    const { id } = await call("POST", "/v1/tasks/talk/start", {
      payload: { go },
      retry: { max_attempts: 1 },
    });
    await until("the run has begun", 20_000, async () => (await logsOf(id)).length === 1);
    await setClock(shiftMs);
    await renewed(id, 2);
    await writeFile(go, "");
    await until("the run has ended", 20_000, async () => {
      const { finished_at: finishedAt } = await call("GET", `/api/runs/${id}`);
      return finishedAt !== null;
    });
    await checkTimes(id);
    await setClock(0);
  });

  test(`a program whose clock is ${shiftMs / SECOND} s off starts a run, waits for it, and lets a token expire`, async () => {
    await setClock(shiftMs);
    const go = path.join(site.open, `caller ${shiftMs}`);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--conditions=@keelson/source", "--input-type=module", "--eval", CALLER],
      {
        cwd: import.meta.dirname,
        env: {
          ...bareEnvironment(),
          ...withClock(),
          ...{ URL_OF_SERVER: server.url, API_KEY: site.credentials.api_key, GO: go },
        },
      },
    );
    const { id, ...said } = JSON.parse(stdout);
    assert.deepEqual(said, { again: id, ended: "succeeded", token: "expired" });
    await checkTimes(id);
    await setClock(0);
  });
}
