// A run that waits for a token asks the user of the client that called its tool. The client is the official one.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test, type TestContext } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  type ElicitRequest,
  type ElicitResult,
} from "@modelcontextprotocol/sdk/types.js";
import type { Permission } from "@keelson/contract";
import type { ApiServer } from "../support/api-server.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { productionOf, startRunScene, type RunScene } from "../support/run-scene.ts";
import { connectClient } from "../support/oauth.ts";
import { addApiKey } from "../support/tenancy.ts";
import { until } from "../support/until.ts";

// What a server answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const MANIFEST = { tasks: [{ id: "ask", mcp: { description: "Asks a person." } }] };
const CITY = {
  type: "object",
  properties: { city: { type: "string", title: "City", pattern: "^[A-Z]" }, days: { type: "integer" } },
  required: ["city"],
  additionalProperties: false,
};
const APPROVAL = { metadata: { title: "Refund 20 EUR?" }, tags: ["approval"] };

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

type ConnectOptions = {
  server?: Pick<ApiServer, "url">;
  key?: string;
  query?: string;
  answer?: (params: ElicitRequest["params"], id: unknown) => ElicitResult | Promise<ElicitResult>;
};

async function connect(t: TestContext, options: ConnectOptions = {}): Promise<Client> {
  const { server = scene.server, key = scene.server.credentials.api_key, query = "", answer } = options;
  const capabilities = answer === undefined ? {} : { elicitation: {} };
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  if (answer !== undefined)
    client.setRequestHandler(ElicitRequestSchema, ({ params }, { requestId }) => answer(params, requestId));
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp${query}`), { requestInit }),
  );
  t.after(() => client.close());
  return client;
}

/** Calls the tool as a task, whose run then waits for a token of these fields. */
async function asking(
  client: Client,
  body: object,
): Promise<{ taskId: string; token: Json; lease: HeldLease }> {
  const params = { name: "ask", arguments: {}, task: {} };
  const { task } = await client.request({ method: "tools/call", params }, CreateTaskResultSchema);
  const lease = await scene.worker.takeOne();
  const { body: token } = await scene.call("POST", "/v1/tokens", { body });
  const wait = { position: 1, name: "answer", kind: "token", token_id: token.id };
  assert.deepEqual(
    await scene.worker.report(
      lease.operation("start"),
      lease.operation("waits", { waits: [wait], parked: true }),
    ),
    [200, 200],
  );
  return { taskId: task.taskId, token, lease };
}

const resultAt = (client: Client, taskId: string): Promise<Json> =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

const tokenOf = async (id: string): Promise<Json> => (await scene.call("GET", `/v1/tokens/${id}`)).body;

/** Waits for the answer, which it gives, and ends the run. */
async function finish(lease: HeldLease, tokenId: string): Promise<Json> {
  await until("the token is completed", 10_000, async () => (await tokenOf(tokenId)).status === "completed");
  const token = await tokenOf(tokenId);
  await scene.worker.finish(lease, "succeeded", { output: "done" });
  return token.data;
}

/** A response of JSON-RPC, as a client sends it. */
const respond = (id: unknown, result: object, as?: string, at = scene.server) =>
  at.call("POST", "/mcp", {
    as: as ?? scene.server.credentials.api_key,
    body: { jsonrpc: "2.0", id, result },
  });

describe("a run that waits for a token", () => {
  test("asks the user on the stream of its result, and goes on with the answer", async (t) => {
    const asked: Json[] = [];
    const client = await connect(t, {
      answer: (params, id) => {
        asked.push({ ...params, id });
        return { action: "accept", content: { city: "Rome", days: 3 } };
      },
    });
    const { taskId, token, lease } = await asking(client, { metadata: { title: "Where to?", schema: CITY } });
    const task = await client.experimental.tasks.getTask(taskId);
    assert.deepEqual([task.status, task.statusMessage], ["input_required", "Where to?"]);
    const result = resultAt(client, taskId);
    assert.deepEqual(await finish(lease, token.id), { city: "Rome", days: 3 });
    assert.equal((await result).structuredContent.output, "done");
    assert.deepEqual(asked, [
      {
        id: token.id,
        message: "Where to?",
        requestedSchema: {
          type: "object",
          properties: { city: { type: "string", title: "City" }, days: { type: "integer" } },
          required: ["city"],
        },
        _meta: { "io.modelcontextprotocol/related-task": { taskId } },
      },
    ]);
    assert.deepEqual((await tokenOf(token.id)).completed_by.kind, "api_key");
    assert.equal((await client.experimental.tasks.getTask(taskId)).status, "completed");
  });

  test("takes a refusal of an approval as no", async (t) => {
    const client = await connect(t, { answer: () => ({ action: "decline" }) });
    const { taskId, token, lease } = await asking(client, APPROVAL);
    const result = resultAt(client, taskId);
    assert.deepEqual(await finish(lease, token.id), { approved: false });
    assert.equal((await result).isError, undefined);
  });

  test("waits on when the user closes the question or declines what has no refusal", async (t) => {
    let asked = 0;
    const client = await connect(t, {
      answer: () => {
        asked += 1;
        return { action: "cancel" };
      },
    });
    const { taskId, token, lease } = await asking(client, { metadata: { schema: CITY } });
    const result = resultAt(client, taskId);
    await until("the user was asked", 10_000, async () => asked === 1);
    assert.equal((await respond(token.id, { action: "decline" })).status, 202);
    assert.equal((await respond(token.id, { action: "cancel" })).status, 202);
    assert.equal((await tokenOf(token.id)).status, "pending");
    // Somebody answers elsewhere in the meantime, and the stream goes on.
    await scene.call("POST", `/v1/tokens/${token.id}/complete`, { body: { data: { city: "Oslo" } } });
    assert.equal((await respond(token.id, { action: "accept", content: { city: "Rome" } })).status, 202);
    assert.deepEqual(await finish(lease, token.id), { city: "Oslo" });
    assert.equal((await result).structuredContent.output, "done");
    assert.equal(asked, 1);
  });

  test("asks again, when an answer does not fit, wherever it arrives", async (t) => {
    const asked: Json[] = [];
    let first: (() => void) | undefined;
    const answered = new Promise<void>((resolve) => (first = resolve));
    const client = await connect(t, {
      answer: async (params, id) => {
        asked.push({ ...params, id });
        if (asked.length === 1) {
          const bad = await respond(id, { action: "accept", content: { city: "rome" } }, undefined, {
            ...scene.server,
            ...other,
          });
          assert.equal(bad.status, 400, bad.text);
          assert.match(bad.text, /content\.city/);
          first?.();
          return { action: "cancel" };
        }
        return { action: "accept", content: { city: "Rome" } };
      },
    });
    const { taskId, token, lease } = await asking(client, { metadata: { schema: CITY } });
    const result = resultAt(client, taskId);
    await answered;
    assert.deepEqual(await finish(lease, token.id), { city: "Rome" });
    await result;
    assert.deepEqual(
      asked.map(({ id }) => id),
      [token.id, `${token.id}.2`],
    );
    assert.match(asked[1].message, /did not fit/);
  });

  test("is asked for by any server, which takes the answer too", async (t) => {
    const client = await connect(t);
    const { taskId, token, lease } = await asking(client, APPROVAL);
    const ids: unknown[] = [];
    const elsewhere = await connect(t, {
      server: other,
      answer: async (_params, id) => {
        ids.push(id);
        // The answer goes to the server that did not ask.
        assert.equal((await respond(id, { action: "accept", content: { approved: true } })).status, 202);
        return { action: "cancel" };
      },
    });
    const result = resultAt(elsewhere, taskId);
    assert.deepEqual(await finish(lease, token.id), { approved: true });
    await result;
    assert.deepEqual(ids, [token.id]);
  });

  test("is only working for who may not answer", async (t) => {
    const client = await connect(t);
    const { taskId, token } = await asking(client, APPROVAL);
    const permissions: Permission[] = ["tasks.read", "runs.read", "tokens.read"];
    const key = await addApiKey(scene.server, permissions);
    const weak = await connect(t, { key });
    assert.equal((await weak.experimental.tasks.getTask(taskId)).status, "working");
    const readonly = await connect(t, { query: "?readonly=1" });
    assert.equal((await readonly.experimental.tasks.getTask(taskId)).status, "working");
    const answer = { action: "accept", content: { approved: true } };
    assert.equal((await respond(token.id, answer, key)).status, 403);
    const production = await productionOf(scene);
    const foreign = await production.call("POST", "/mcp", {
      body: { jsonrpc: "2.0", id: token.id, result: answer },
    });
    assert.equal(foreign.status, 404);
    const looked = await scene.call("POST", "/mcp?readonly=1", {
      body: { jsonrpc: "2.0", id: token.id, result: answer },
    });
    assert.equal(looked.status, 403);
    assert.equal((await respond("tok_none", answer)).status, 400);
    assert.equal((await respond(7, answer)).status, 400);
    assert.equal((await respond(token.id, { action: "shrug" })).status, 400);
    const cannot = { jsonrpc: "2.0", id: token.id, error: { code: -32601, message: "Method not found" } };
    assert.equal((await scene.call("POST", "/mcp", { body: cannot })).status, 202);
    assert.equal((await tokenOf(token.id)).status, "pending");
  });

  test("is neither shown to nor answered by a client that may only look", async (t) => {
    const { taskId, token } = await asking(await connect(t), APPROVAL);
    const { access } = await connectClient(scene.server, { access: "read" });
    const looking = await connect(t, { key: access });
    assert.equal((await looking.experimental.tasks.getTask(taskId)).status, "working");
    const refused = await respond(token.id, { action: "decline" }, access);
    assert.equal(refused.status, 403);
    assert.match(refused.headers.get("www-authenticate") ?? "", /insufficient_scope/);
    const acting = await connectClient(scene.server, { access: "write" });
    assert.equal((await respond(token.id, { action: "decline" }, acting.access)).status, 202);
    const { data, completed_by } = await tokenOf(token.id);
    assert.deepEqual([data, completed_by.kind], [{ approved: false }, "user"]);
  });

  test("ends its stream with an error when the server stops, and asks again at another", async (t) => {
    const stopping = await scene.server.startReplica();
    const ids: unknown[] = [];
    const answer = (_params: unknown, id: unknown): ElicitResult => {
      ids.push(id);
      return ids.length === 1 ? { action: "cancel" } : { action: "accept", content: { approved: true } };
    };
    const client = await connect(t, { server: stopping, answer });
    const { taskId, token, lease } = await asking(await connect(t), APPROVAL);
    const ended = assert.rejects(resultAt(client, taskId), /The server stops, and run run_\w+ goes on/);
    await until("the user was asked", 10_000, async () => ids.length === 1);
    await stopping.stop();
    await ended;
    const result = resultAt(await connect(t, { server: other, answer }), taskId);
    assert.deepEqual(await finish(lease, token.id), { approved: true });
    assert.equal((await result).structuredContent.output, "done");
    assert.deepEqual(ids, [token.id, token.id]);
  });

  test("ends its stream with an error when the credential is revoked", async (t) => {
    const { project_id, environment_id, user_token } = scene.server.credentials;
    const keys = `/api/projects/${project_id}/environments/${environment_id}/api-keys`;
    const made = await scene.server.call("POST", keys, { as: user_token, body: { name: "short" } });
    let asked = 0;
    const client = await connect(t, {
      key: made.body.api_key,
      answer: () => {
        asked += 1;
        return { action: "cancel" };
      },
    });
    const { taskId } = await asking(await connect(t), APPROVAL);
    const result = assert.rejects(resultAt(client, taskId), /unauthenticated/);
    await until("the user was asked", 10_000, async () => asked === 1);
    const revoked = await scene.server.call("DELETE", `${keys}/${made.body.id}`, { as: user_token });
    assert.ok(revoked.status < 300, revoked.text);
    await result;
  });
});
