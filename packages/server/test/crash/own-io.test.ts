// Replays of code with real I/O of its own, by a real agent: other processes go on with what the first one began.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { deployCode } from "./support/deploy-code.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";
import { until } from "../support/until.ts";

const CODE = `
import { step, task, wait } from "@keelson/sdk";

const io = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const begun = { at: process.pid };

export const racing = task({
  id: "racing",
  async run() {
    const fast = io(1_500).then(() => step("fast", () => "fast"));
    const winner = await Promise.race([fast, step("slow", () => io(3_000).then(() => "slow"))]);
    await step("after " + winner, () => null);
    await wait.for("4s");
    return { winner, pid: await step("pid", () => begun.at) };
  },
});

export const together = task({
  id: "together",
  async run() {
    const first = await step("first pid", () => begun.at);
    const [a, c] = await Promise.all([
      io(1_500).then(() => step("a", () => "a")),
      step("b", () => io(3_000)).then(() => step("c", () => "c")),
    ]);
    await wait.for("4s");
    return { a, c, first, pid: await step("pid", () => begun.at) };
  },
});
`;

let site: Site;
let server: ServerProcess;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: "6s", parkAfter: "200ms" });
  server = site.servers[0] as ServerProcess;
  const agent = site.agent({ name: "first", server, capacity: 4 });
  await agent.start();
  await deployCode(site, server, CODE);
});
after(() => site?.stop());

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

async function finish(task: string): Promise<Json> {
  const started = await site.call(server.url, "POST", `/v1/tasks/${task}/start`, { body: {} });
  assert.equal(started.status, 201, JSON.stringify(started.body));
  const path = `/v1/runs/${started.body.id}`;
  let run: Json;
  await until(`${task} ends`, 60_000, async () => {
    run = (await site.call(server.url, "GET", path)).body;
    return ["succeeded", "failed"].includes(run.status);
  });
  const { events } = (await site.call(server.url, "GET", `${path}/events?limit=200`)).body;
  const kinds = events.map(({ kind }: Json) => kind);
  assert.equal(run.status, "succeeded", JSON.stringify(run.failure));
  assert.ok(kinds.includes("run.suspended") || kinds.includes("checkpoint.ready"), kinds.join(" "));
  return run.output;
}

test("a suspended race of 1.5 s of I/O has the same winner, and branches beside such I/O go on", async () => {
  const [raced, together] = await Promise.all([finish("racing"), finish("together")]);
  assert.equal(raced.winner, "fast");
  assert.deepEqual([together.a, together.c], ["a", "c"]);
});
