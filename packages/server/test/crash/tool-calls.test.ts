// A call of a tool as a task, by the official client of MCP, outlives the server that took it.

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { bundleOf } from "./support/bundle.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";

let site: Site;
let server: ServerProcess;
before(async () => {
  site = await startSite({ servers: 1, leaseDuration: "60s" });
  server = site.servers[0] as ServerProcess;
  await site.agent({ name: "agent", server, capacity: 2 }).start();
  const wait = `
    const { existsSync } = await import("node:fs");
    while (!existsSync(payload.file)) await tick(20);
    return { read: payload.file };`;
  const tool = {
    id: "wait-for-file",
    mcp: { description: "Waits until a file is there." },
    payload_schema: { type: "object", properties: { file: { type: "string" } }, required: ["file"] },
  };
  await promoteWhenReady(site, await createDeployment(site, bundleOf({ [tool.id]: wait }), [tool]));
});
after(() => site?.stop());

async function connect(t: TestContext): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${site.credentials.api_key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
  t.after(() => client.close());
  return client;
}

test("a tool that was called as a task is done, although the server was killed before anybody asked for it", async (t) => {
  const file = join(site.open, "go");
  const before = await connect(t);
  const params = { name: "wait-for-file", arguments: { file }, task: { ttl: 600_000 } };
  const { task } = await before.request({ method: "tools/call", params }, CreateTaskResultSchema);
  await server.kill();
  await writeFile(file, "");
  await server.start();
  // A client of before, which knows of no session, and a new one.
  for (const client of [before, await connect(t)]) {
    const { structuredContent } = await client.experimental.tasks.getTaskResult(
      task.taskId,
      CallToolResultSchema,
    );
    assert.deepEqual(structuredContent, { run_id: task.taskId, status: "succeeded", output: { read: file } });
    assert.equal((await client.experimental.tasks.getTask(task.taskId)).status, "completed");
  }
});
