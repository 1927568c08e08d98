// Runs that wait while everything around them is killed.

import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { deployCode } from "./support/deploy-code.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

const CODE = `
import { appendFileSync } from "node:fs";
import { step, task, tokens, wait } from "@keelson/sdk";

export const approval = task({
  id: "approval",
  async run({ log }: { log: string }) {
    const note = (line: string) => appendFileSync(log, line + "\\n");
    const before = await step("before", () => { note("before " + process.pid); return 41; });
    const token = await tokens.create({ timeout: "10m" });
    await step("tell", () => note("callback " + token.callbackUrl));
    const answer = await token.wait();
    await step("after", () => note("after " + process.pid));
    return { before, answer };
  },
});

export const sleeper = task({
  id: "sleeper",
  async run() { await wait.for("20m"); },
});

export const quick = task({ id: "quick", async run() { return "done"; } });
`;

let site: Site;
let server: ServerProcess;
let agent: SpawnedProcess;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: "6s", parkAfter: "200ms" });
  server = site.servers[0] as ServerProcess;
  agent = site.agent({ name: "first", server, capacity: 4 });
  await agent.start();
  await deployCode(site, server, CODE);
});
after(() => site?.stop());

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

async function start(task: string, payload?: object): Promise<string> {
  const answer = await site.call(server.url, "POST", `/v1/tasks/${task}/start`, {
    body: payload === undefined ? {} : { payload },
  });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id as string;
}

const get = async (runId: string): Promise<Json> =>
  (await site.call(server.url, "GET", `/v1/runs/${runId}`)).body;
const kindsOf = async (runId: string): Promise<string[]> =>
  (await site.call(server.url, "GET", `/v1/runs/${runId}/events?limit=200`)).body.events.map(
    ({ kind }: Json) => kind as string,
  );

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const pidOf = (lines: readonly string[], word: string): number =>
  Number(lines.find((line) => line.startsWith(`${word} `))?.split(" ")[1]);

test("a run that waits for a callback outlives its process, the server and its agent", async () => {
  const log = path.join(site.open, "approval.log");
  // Written by tasks of two agents, which have two users.
  await writeFile(log, "");
  await chmod(log, 0o666);
  const runId = await start("approval", { log });
  await until("it is suspended", 20_000, async () => (await kindsOf(runId)).includes("run.suspended"));
  const lines = (await readFile(log, "utf8")).trim().split("\n");
  const firstPid = pidOf(lines, "before");
  const callback = lines.find((line) => line.startsWith("callback "))?.split(" ")[1] as string;
  // Else it stays for another run, until it has been idle for a minute.
  if (isAlive(firstPid)) process.kill(firstPid, "SIGKILL");
  await until("its process is gone", 5_000, async () => !isAlive(firstPid));
  const waiting = await get(runId);
  assert.deepEqual([waiting.status, waiting.pending_wait.kind], ["waiting", "token"]);

  await Promise.all([agent.kill(), server.kill()]);
  await server.start();
  agent = site.agent({ name: "second", server, capacity: 4 });
  await agent.start();
  const answered = await fetch(callback, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ approved: true }),
  });
  assert.equal(answered.status, 200);
  const completion: Json = await answered.json();
  assert.equal(completion.status, "completed");

  await until("it has succeeded", 20_000, async () => (await get(runId)).status === "succeeded");
  const { output, attempt_number: attempts } = await get(runId);
  assert.deepEqual([output, attempts], [{ before: 41, answer: { approved: true } }, 1]);
  const after = (await readFile(log, "utf8")).trim().split("\n");
  assert.deepEqual(
    after.map((line) => line.split(" ")[0]),
    ["before", "callback", "after"],
  );
  assert.notEqual(pidOf(after, "after"), firstPid);
});

test("sleeping runs hold no process and no slot", async () => {
  const sleepers = await Promise.all(Array.from({ length: isLong() ? 40 : 10 }, () => start("sleeper")));
  await until("all sleep", 60_000, async () => {
    const { body } = await site.call(server.url, "GET", "/api/runs/counts");
    return body.counts.waiting === sleepers.length;
  });
  await until("all are suspended", 20_000, async () => {
    const kinds = await Promise.all(sleepers.map(kindsOf));
    return kinds.every((of) => of.at(-1) === "run.suspended");
  });
  const quick = await start("quick");
  await until("a run beside them ends", 5_000, async () => (await get(quick)).status === "succeeded");
  const [held] = await site.db.query<{ count: number }>({
    name: "held",
    text: "SELECT count(*) AS count FROM executions WHERE worker_id IS NOT NULL",
    values: [],
  });
  assert.equal(held?.count, 0);
});
