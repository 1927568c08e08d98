import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { Client } from "@keelson/sdk";
import { startApiServer } from "../../server/test/support/api-server.ts";
import { buildBundle } from "../src/bundle/build-bundle.ts";
import { createWithUploads } from "../src/upload-archive.ts";

const TASK = `import { task } from "@keelson/sdk";
export const hello = task({ id: "hello", run: () => "hello" });
`;
const WARNING =
  /^warning: The deployment needs a worker on Node\.js [0-9]+ or later\. The active worker is different\. Its runs wait/;

test("deploy says that no worker can run the archive before it sends a byte, and also when it sends none", async (t) => {
  const server = await startApiServer();
  t.after(() => server.stop());
  const { body: minted } = await server.call("POST", "/worker/v1/auth/token", {
    as: null,
    body: { enrollment_token: server.credentials.enrollment_token, name: "old", worker_protocol_version: 1 },
  });
  const as = minted.token as string;
  const capacity = { executions: 1, workspaces: 0 };
  const platform = { os: "darwin", arch: "arm64", libc: null };
  const old = { capacity, worker_protocol_version: 1, node_version: "20.0.0", platform };
  assert.equal((await server.call("POST", "/worker/v1/register", { as, body: old })).status, 200);
  assert.equal((await server.call("POST", "/worker/v1/activate", { as })).status, 200);

  const directory = await mkdtemp(join(tmpdir(), "keelson-unable-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  await symlink(resolve(import.meta.dirname, "../../../node_modules"), join(directory, "node_modules"));
  await mkdir(join(directory, "src/tasks"), { recursive: true });
  await writeFile(join(directory, "src/tasks/hello.ts"), TASK);
  const bundle = await buildBundle({ directory });

  // What is said and what is sent, in their order.
  const seen: string[] = [];
  const client = new Client({
    url: server.url,
    apiKey: server.credentials.api_key,
    fetch: (input, init) => {
      if (init?.method === "PUT") seen.push("sent");
      return fetch(input, init);
    },
  });
  const options = { signal: t.signal, progress: (text: string) => void seen.push(text) };
  const first = await createWithUploads(client, bundle, null, options);
  assert.match(seen[0] ?? "", WARNING);
  assert.ok(seen.includes("sent"));
  assert.equal(seen.filter((text) => WARNING.test(text)).length, 1, seen.join("\n"));
  seen.length = 0;
  const second = await createWithUploads(client, bundle, null, options);
  assert.notEqual(first.id, second.id);
  assert.equal(seen.length, 1, seen.join("\n"));
  assert.match(seen[0] ?? "", WARNING);
});
