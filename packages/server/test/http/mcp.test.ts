// The Model Context Protocol, spoken by its official client.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, describe, test, type TestContext } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { CREDENTIAL_KINDS, formatCredential, type Permission } from "@keelson/contract";
import { credentialDigest } from "../../src/core/credentials/digest.ts";
import { sql } from "../../src/db/sql.ts";
import type { ApiServer } from "../support/api-server.ts";
import { logChunk, type HeldLease } from "../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

// What a tool answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const ADDS = {
  type: "object",
  properties: { a: { type: "integer" }, b: { type: "integer" } },
  required: ["a", "b"],
  additionalProperties: false,
};
const MANIFEST = {
  tasks: [
    {
      id: "add",
      description: "For people.",
      mcp: { description: "Adds two numbers." },
      payload_schema: ADDS,
    },
    { id: "echo", mcp: { description: "Says it again." } },
    { id: "hidden" },
  ],
};

let scene: RunScene;
/** Another server of the same installation. */
let other: Awaited<ReturnType<ApiServer["startReplica"]>>;
before(async () => {
  scene = await startRunScene(MANIFEST);
  other = await scene.server.startReplica();
});
after(async () => {
  await other.stop();
  await scene.stop();
});
afterEach(() => scene.cancelAll());

type ConnectOptions = { server?: Pick<ApiServer, "url">; key?: string; query?: string };

async function connect(t: TestContext, options: ConnectOptions = {}): Promise<Client> {
  const { server = scene.server, key = scene.server.credentials.api_key, query = "" } = options;
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp${query}`), { requestInit });
  await client.connect(transport);
  t.after(() => client.close());
  return client;
}

const call = async (client: Client, name: string, args: object = {}): Promise<Json> =>
  client.callTool({ name, arguments: args as Record<string, unknown> });

const textIn = ({ content }: Json): string => content.map(({ text }: Json) => text).join("");

/** Calls a tool that is a task, whose run a worker takes and then ends. */
async function callAndEnd(
  client: Client,
  name: string,
  args: object,
  end: (lease: HeldLease) => Promise<void>,
): Promise<Json> {
  const answer = call(client, name, args);
  await end(await scene.worker.takeOne());
  return answer;
}

async function makeKey(environment: string, ...permissions: Permission[]): Promise<string> {
  const key = formatCredential(CREDENTIAL_KINDS.apiKey, randomBytes(96));
  await scene.server.db.query(sql`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions)
    SELECT ${credentialDigest(key)}, gen_random_uuid(), id, 'mcp', ${permissions}::text[] FROM environments WHERE slug = ${environment}`);
  return key;
}

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

describe("tools that are tasks", () => {
  test("are those that say so, with their payload as input", async (t) => {
    const client = await connect(t);
    assert.equal(client.getServerVersion()?.name, "keelson");
    const { tools } = await client.listTools();
    const own = tools.filter(({ name }) => !name.startsWith("keelson_"));
    assert.deepEqual(
      own.map(({ name, description, inputSchema }) => [name, description, inputSchema]),
      [
        ["add", "Adds two numbers.", ADDS],
        [
          "echo",
          "Says it again.",
          { type: "object", properties: { payload: {} }, additionalProperties: false },
        ],
      ],
    );
  });

  test("answer with the output of their run", async (t) => {
    const client = await connect(t);
    const sum = await callAndEnd(client, "add", { a: 1, b: 2 }, async (lease) => {
      assert.deepEqual(lease.execution.run.payload, { a: 1, b: 2 });
      await scene.worker.finish(lease, "succeeded", { output: { sum: 3 } });
    });
    assert.deepEqual(
      [textIn(sum), sum.structuredContent.output, sum.isError],
      ['{"sum":3}', { sum: 3 }, undefined],
    );
    const said = await callAndEnd(client, "echo", { payload: "hi" }, async (lease) => {
      assert.equal(lease.execution.run.payload, "hi");
      await scene.worker.finish(lease, "succeeded", { output: "hi" });
    });
    assert.equal(textIn(said), "hi");
  });

  test("tell why a payload is refused, and why a run failed", async (t) => {
    const client = await connect(t);
    const refused = await call(client, "add", { a: "one" });
    assert.equal(refused.isError, true);
    assert.match(textIn(refused), /^invalid_payload: .*"path":"payload\.b"/);
    const failure = { kind: "application_error", message: "no numbers today", stack: null, retryable: false };
    const failed = await callAndEnd(client, "add", { a: 1, b: 2 }, (lease) =>
      scene.worker.finish(lease, "failed", { failure }),
    );
    assert.equal(failed.isError, true);
    assert.match(textIn(failed), /^Run run_\w+ failed: no numbers today$/);
  });

  test("are called as tasks, which any server answers for", async (t) => {
    const client = await connect(t);
    const params = { name: "add", arguments: { a: 1, b: 2 }, task: { ttl: 60_000 } };
    const { task } = await client.request({ method: "tools/call", params }, CreateTaskResultSchema);
    assert.deepEqual([task.status, task.ttl], ["working", null]);
    const lease = await scene.worker.takeOne();
    assert.equal(lease.runId, task.taskId);
    const elsewhere = await connect(t, { server: other });
    assert.equal((await elsewhere.experimental.tasks.getTask(task.taskId)).status, "working");
    const result = elsewhere.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
    await scene.worker.finish(lease, "succeeded", { output: { sum: 3 } });
    assert.deepEqual((await result).structuredContent?.["output"], { sum: 3 });
    assert.equal((await client.experimental.tasks.getTask(task.taskId)).status, "completed");
  });

  test("are cancelled as tasks", async (t) => {
    const client = await connect(t);
    const params = { name: "echo", arguments: {}, task: {} };
    const { task } = await client.request({ method: "tools/call", params }, CreateTaskResultSchema);
    await client.experimental.tasks.cancelTask(task.taskId);
    assert.equal((await client.experimental.tasks.getTask(task.taskId)).status, "cancelled");
    await assert.rejects(client.experimental.tasks.cancelTask("run_none"), /not_found/);
  });

  test("are none in another environment, which knows none of their runs", async (t) => {
    const { id } = await scene.start("hidden");
    assert.equal((await (await connect(t)).experimental.tasks.getTask(id)).status, "working");
    const key = await makeKey("production", "tasks.read", "tasks.start", "runs.read", "runs.cancel");
    const client = await connect(t, { key });
    assert.deepEqual(
      (await namesOf(client)).filter((name) => !name.startsWith("keelson_")),
      [],
    );
    await assert.rejects(call(client, "add", { a: 1, b: 2 }), /There is no tool add/);
    await assert.rejects(client.experimental.tasks.getTask(id), /not_found/);
    await assert.rejects(client.experimental.tasks.cancelTask(id), /not_found/);
  });
});

describe("tools that operate the installation", () => {
  test("say why a run does not run, what it did and what it wrote", async (t) => {
    const client = await connect(t);
    const started = await call(client, "keelson_start_task", {
      declaredID: "hidden",
      payload: 1,
      tags: ["by-tool"],
    });
    const { id } = started.structuredContent;
    const listed = await call(client, "keelson_list_runs", {
      status: ["queued", "running"],
      tag: ["by-tool"],
      limit: 5,
    });
    assert.deepEqual(
      listed.structuredContent.runs.map((run: Json) => run.id),
      [id],
    );
    const shown = await call(client, "keelson_get_run", { id });
    assert.equal(shown.structuredContent.status_reason.kind, "worker_busy");
    const lease = await scene.worker.takeOne();
    const chunks = [logChunk("one\n"), logChunk("two\n", "stderr")];
    await scene.worker.report(lease.operation("start"), lease.operation("logs", { chunks }));
    assert.equal(textIn(await call(client, "keelson_read_run_logs", { id })), "one\ntwo\n");
    const events = await call(client, "keelson_list_run_events", { id });
    assert.deepEqual(
      events.structuredContent.events.map(({ kind }: Json) => kind),
      ["run.created", "run.queued", "run.leased", "run.started"],
    );
    const cancelled = await call(client, "keelson_cancel_run", { id });
    assert.equal(cancelled.structuredContent.status, "cancel_requested");
    await scene.worker.report(lease.operation("release", { outcome: "cancelled" }));
  });

  test("answer a token", async (t) => {
    const client = await connect(t);
    const { body: token } = await scene.call("POST", "/v1/tokens", { body: {} });
    const answered = await call(client, "keelson_complete_token", { id: token.id, data: { approved: true } });
    assert.equal(answered.isError, undefined, textIn(answered));
    const shown = await call(client, "keelson_get_token", { id: token.id });
    assert.deepEqual(shown.structuredContent.data, { approved: true });
    const again = await call(client, "keelson_complete_token", { id: token.id, data: { approved: false } });
    assert.match(textIn(again), /^token_completion_conflict: /);
  });

  test("refuse bad input with words that help", async (t) => {
    const client = await connect(t);
    for (const [name, given, said] of [
      ["keelson_get_run", { id: "../../tokens" }, /^not_found: /],
      ["keelson_get_run", {}, /^not_found: /],
      ["keelson_list_runs", { limit: 0 }, /^invalid_request: .*limit/],
      ["keelson_list_runs", { sort: "x" }, /^invalid_request: sort: unknown field/],
      ["keelson_start_task", { declaredID: "none" }, /^(task_)?not_found: /],
    ] as const) {
      const refused = await call(client, name, given);
      assert.equal(refused.isError, true, name);
      assert.match(textIn(refused), said);
    }
  });
});

describe("a caller", () => {
  test("has only the tools that their key permits", async (t) => {
    const client = await connect(t, { key: await makeKey("development", "tasks.read", "runs.read") });
    assert.deepEqual(await namesOf(client), [
      "keelson_list_tasks",
      "keelson_list_runs",
      "keelson_get_run",
      "keelson_list_run_events",
      "keelson_read_run_logs",
    ]);
    await assert.rejects(call(client, "add", { a: 1, b: 2 }), /There is no tool add/);
    const refused = await call(client, "keelson_cancel_run", { id: (await scene.start("hidden")).id });
    assert.match(textIn(refused), /^forbidden: /);
  });

  test("who only looks has no tool that changes anything", async (t) => {
    const client = await connect(t, { query: "?readonly=1" });
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.filter(({ annotations }) => annotations?.readOnlyHint !== true),
      [],
    );
    assert.ok(tools.length >= 10, `${tools.length} tools`);
    await assert.rejects(call(client, "keelson_start_task", { declaredID: "hidden" }), /There is no tool/);
    await assert.rejects(call(client, "echo"), /There is no tool echo/);
  });

  test("holds no connection by the calls that the server makes for them", async (t) => {
    const client = await connect(t);
    // More than an address may hold without a credential.
    for (let n = 0; n < 300; n += 1) await call(client, "keelson_list_tokens", { limit: 1 });
    const { text } = await scene.call("GET", "/metrics", { as: null });
    const open = Number(/^keelson_connections (\d+)$/m.exec(text)?.[1]);
    assert.ok(open < 100, `${open} connections`);
  });

  test("is told what the endpoint does not take", async () => {
    const post = (body: object, headers: Record<string, string> = {}) =>
      scene.call("POST", "/mcp", { body: { jsonrpc: "2.0", ...body }, headers });
    assert.equal((await post({ method: "notifications/initialized" })).status, 202);
    const unknown = await post({ id: 1, method: "resources/list" });
    assert.deepEqual([unknown.status, unknown.body.error.code], [200, -32601]);
    const odd = await post({ id: "a", method: "tools/call", params: { name: 7 } });
    assert.deepEqual([odd.body.id, odd.body.error.code], ["a", -32602]);
    assert.equal(
      (await post({ id: 1, method: "ping" }, { "mcp-protocol-version": "1999-01-01" })).status,
      400,
    );
    assert.equal((await scene.call("GET", "/mcp")).status, 405);
    assert.equal((await scene.call("POST", "/mcp", { as: "kl_none", body: {} })).status, 401);
  });
});
