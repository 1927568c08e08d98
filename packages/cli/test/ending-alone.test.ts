// A server and a worker that run alone end in order, too, however often they are told.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { Client } from "@keelson/sdk";
import { allGone, changeWorkspace, kill, MAIN, makeUpSite, treeOf, until, type UpSite } from "./up-site.ts";
import { fewOf, newSeed } from "../../server/test/support/seeded-random.ts";
import { PROGRAM_FLAGS, programFile } from "../../server/test/support/programs.ts";

const SERVER = programFile("server/src/main.ts");
const WAIT_MS = 60_000;

suite("alone", { concurrency: false }, () => {
  let site: UpSite;
  before(async () => (site = await makeUpSite()));
  after(() => site?.[Symbol.asyncDispose]());

  async function start(args: readonly string[], env: Record<string, string>, readyWhen: RegExp) {
    const child: ChildProcess = spawn(process.execPath, [...PROGRAM_FLAGS, ...args], {
      cwd: site.folder,
      env: { ...site.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (bytes: Buffer) => (said += bytes.toString()));
    const exited = once(child, "exit").then(([code]) => code as number | null);
    await until(
      () => readyWhen.test(said),
      WAIT_MS,
      () => said,
    );
    return { pid: child.pid as number, exited, said: () => said };
  }

  for (const signal of fewOf(["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const, 2, newSeed()))
    test(`${signal}, twice to the group of a worker, then to that of its server`, async () => {
      const server = await start([SERVER], {}, /listening on /);
      const text = await readFile(join(site.dataDir, "credentials.json"), "utf8");
      const credentials = JSON.parse(text) as { api_key: string; enrollment_token: string };
      const agentEnv = { KEELSON_URL: site.url, KEELSON_ENROLLMENT_TOKEN: credentials.enrollment_token };
      const agent = await start([MAIN, "agent"], agentEnv, /agent started/);
      const client = new Client({ url: site.url, apiKey: credentials.api_key });
      const id = await changeWorkspace(client, signal);
      const ofAgent = treeOf(agent.pid);
      const ofServer = treeOf(server.pid);
      kill(-agent.pid, signal);
      kill(-agent.pid, signal);
      assert.equal(await agent.exited, 0, agent.said());
      assert.equal(await client.workspaces.files.readText(id, "made"), signal);
      kill(-server.pid, signal);
      kill(-server.pid, signal);
      assert.equal(await server.exited, 0, server.said());
      await allGone(site, [...ofAgent, ...ofServer], server.said);
    });
});
