import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { readMetrics, type ReadMetrics } from "../../server/test/support/read-metrics.ts";
import { until } from "../../server/test/support/until.ts";
import { bundleOf } from "./support/bundles.ts";
import { cleanUp } from "./support/clean-up.ts";
import { spawnAgent } from "./support/spawn-agent.ts";
import { startAgentServer } from "./support/start-agent-server.ts";
import { startTestAgent } from "./support/start-test-agent.ts";

const tasks = {
  good: `return "finished";`,
  bad: `throw new Error("boom");`,
  idle: `console.log("begun"); await new Promise(() => {});`,
};

/** Where the agent says that it serves its metrics. */
async function metricsUrl(agent: { stderr(): string }, host: string): Promise<string> {
  const line = new RegExp(`"host":"${host.replaceAll(".", "\\.")}","port":(\\d+),"msg":"metrics are served"`);
  await until("the agent serves its metrics", 60_000, async () => line.test(agent.stderr()));
  return `http://${host}:${line.exec(agent.stderr())?.[1]}/metrics`;
}

async function scrape(url: string): Promise<ReadMetrics | null> {
  const answer = await fetch(url);
  if (answer.status === 503) return null;
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  return readMetrics(await answer.text());
}

test("an agent with a port for its metrics says what it holds, and how attempts ended", async (t) => {
  const server = await startAgentServer(t);
  const agent = await spawnAgent(t, {
    ...server.settings,
    KEELSON_AGENT_METRICS_PORT: "0",
    KEELSON_AGENT_CAPACITY: "3",
  });
  const url = await metricsUrl(agent, "127.0.0.1");
  const digest = server.putBundle(bundleOf(tasks));
  const ended = (["good", "bad"] as const).map((task) => server.enqueue({ digest, task }));
  await Promise.all(ended.map((run) => run.released));
  const idle = server.enqueue({ digest, task: "idle" });
  await idle.outputHas("stdout", "begun");
  let metrics: ReadMetrics | null = null;
  const valueOf = (name: string, labels?: Record<string, string>) => metrics?.valueOf(name, labels);
  await until("the ends are confirmed", 60_000, async () => {
    metrics = await scrape(url);
    return valueOf("keelson_agent_attempts_ended_total") === 2;
  });
  assert.equal(valueOf("keelson_agent_attempts_ended_total", { outcome: "succeeded" }), 1);
  assert.equal(valueOf("keelson_agent_attempts_ended_total", { outcome: "failed" }), 1);
  assert.equal(valueOf("keelson_agent_runs"), 1);
  assert.equal(valueOf("keelson_agent_capacity"), 3);
  assert.equal(valueOf("keelson_agent_task_hosts", { state: "busy" }), 1);
  assert.equal(valueOf("keelson_agent_draining"), 0);
  assert.ok((valueOf("keelson_agent_lease_polls_total", { outcome: "answered" }) ?? 0) > 0);
  assert.ok((valueOf("process_resident_memory_bytes") ?? 0) > 0);
  const post = await fetch(url, { method: "POST" });
  assert.equal(post.status, 405);
  assert.equal((await fetch(new URL("/", url))).status, 404);
});

test(
  "an agent counts the workspaces that it holds, and the commits that failed",
  { timeout: 60_000 },
  async (t) => {
    const { server, logged } = await startTestAgent(t, {
      workspaces: 1,
      metrics: { host: "127.0.0.1", port: 0 },
    });
    const served = logged.find(({ message }) => message === "metrics are served");
    const url = `http://127.0.0.1:${served?.fields["port"] as number}/metrics`;
    const refusal = { code: "invalid_request", message: "refused", details: null, request_id: "test" };
    server.failAlways("workspaces/commit", {
      status: 400,
      headers: { "content-type": "application/json" },
      body: Buffer.from(JSON.stringify({ error: refusal })),
    });
    const place = await server.place();
    const workspace = await place.call("POST", "/api/workspaces", {});
    await place.call("POST", `/api/workspaces/${workspace.id}/execs`, {
      command: ["sh", "-c", "echo kept > kept"],
    });
    await until("a commit has failed", 60_000, async () => {
      const metrics = await scrape(url);
      return (metrics?.valueOf("keelson_agent_commits_failed_total") ?? 0) > 0;
    });
    assert.equal((await scrape(url))?.valueOf("keelson_agent_workspaces"), 1);
  },
);

test("an agent without such a port listens nowhere", async (t) => {
  const server = await startAgentServer(t);
  const agent = await spawnAgent(t, server.settings);
  await until("the agent has started", 60_000, async () => agent.stderr().includes("agent started"));
  assert.doesNotMatch(agent.stderr(), /metrics are served/);
});

test("an agent whose port is taken does not start, and says why", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  cleanUp(t, async () => void other.close());
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  const server = await startAgentServer(t);
  const agent = await spawnAgent(t, { ...server.settings, KEELSON_AGENT_METRICS_PORT: String(port) });
  assert.equal((await agent.exited).code, 1);
  assert.match(agent.stderr(), /EADDRINUSE/);
});
