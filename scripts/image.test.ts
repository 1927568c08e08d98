// What the image runs: the built packages on plain Node, without sources, flags and a PostgreSQL of their own.

import assert from "node:assert/strict";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../packages/server/test/support/database.ts";
import { makeTestFolder } from "../packages/server/test/support/test-folder.ts";
import { assembleApp } from "./deploy/assemble-app.ts";
import { startBuilt, type Started } from "./deploy/built-command.ts";
import { readText, root } from "./deploy/read-deployment.ts";

const TASK = `import { task } from "@keelson/sdk";
export const hello = task({ id: "hello", run: (payload: { name: string }) => ({ said: "Hello " + payload.name }) });
`;

let folder: string;
let main: string;
let database: TestDatabase;
const running: Started[] = [];
before(async () => {
  folder = await makeTestFolder();
  main = await assembleApp(folder);
  database = await createTestDatabase();
});
after(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

test("a server and an agent start from what is built, run a task, and end when they are asked to", async () => {
  const secret = (name: string): string => path.join(folder, "secrets", name);
  const home = { HOME: path.join(folder, "home") };
  const command = (args: string[], env: Record<string, string> = {}) =>
    startBuilt(main, args, { env: { ...home, ...env }, cwd: folder }).ended();
  assert.equal((await command(["credentials", "secrets"])).code, 0);
  await writeFile(path.join(folder, "database_url"), `${database.url}\n`);

  const server = startBuilt(main, ["serve"], {
    cwd: folder,
    env: {
      ...home,
      NODE_ENV: "production",
      HOST: "127.0.0.1",
      PORT: "0",
      KEELSON_DATA_DIR: path.join(folder, "data"),
      DATABASE_URL_FILE: path.join(folder, "database_url"),
      KEELSON_MASTER_KEY_FILE: secret("master_key"),
      KEELSON_CREDENTIALS_FILE: secret("credentials"),
    },
  });
  running.push(server);
  const [, url = ""] = await server.says(/Serving at (http:\S+)\n/);
  for (const page of ["/readyz", "/", "/openapi.json", "/metrics"])
    assert.equal((await fetch(url + page)).status, 200, page);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  for (const [, name] of readText("docs/operations.md").matchAll(
    /`((?:keelson(?!_agent_)|nodejs|process)_[a-z0-9_]+)`/g,
  ))
    assert.ok(metrics.includes(`# HELP ${name} `), `${name} is documented and not there`);

  const agent = startBuilt(main, ["agent"], {
    cwd: folder,
    env: {
      ...home,
      KEELSON_URL: url,
      KEELSON_ENROLLMENT_TOKEN_FILE: secret("enrollment_token"),
      KEELSON_DATA_DIR: path.join(folder, "agent"),
    },
  });
  running.push(agent);
  await agent.says(/agent started/);

  await mkdir(path.join(folder, "project/tasks"), { recursive: true });
  await mkdir(path.join(folder, "project/node_modules/@keelson"), { recursive: true });
  await symlink(path.join(root, "packages/sdk"), path.join(folder, "project/node_modules/@keelson/sdk"));
  await writeFile(path.join(folder, "project/tasks/hello.ts"), TASK);
  const { api_key } = JSON.parse(await readFile(secret("credentials"), "utf8")) as { api_key: string };
  const env = { KEELSON_URL: url, KEELSON_API_KEY: api_key };
  const deployed = await command(["deploy", "project"], env);
  assert.equal(deployed.code, 0, deployed.output);
  const run = await command(
    ["task", "start", "hello", "--payload", '{"name":"image"}', "--wait", "--json"],
    env,
  );
  assert.equal(run.code, 0, run.output);
  assert.match(run.output, /Hello image/);

  assert.equal(await agent.stop(), 0);
  assert.equal(await server.stop(), 0);
});
