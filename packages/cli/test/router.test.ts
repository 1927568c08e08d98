// Two installations behind one router: what carries a credential of a cell reaches that cell, and one that is down disturbs no other.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { CREDENTIAL_KINDS, formatCredential } from "@keelson/contract";
import { Client } from "@keelson/sdk";
import { bundleSource } from "../../agent/test/support/sdk-bundle.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import { until } from "../../server/test/support/until.ts";
import { deployBundle } from "../src/deploy-bundle.ts";
import { keelson } from "./support.ts";

const SOURCE = `
import { actor, task, tokens } from "@keelson/sdk";

task({ id: "where", async run(_payload, ctx) { return (await ctx.client.runs.get(ctx.run.id)).id; } });

task({
  id: "approve",
  async run(_payload, ctx) {
    const token = await tokens.create({ timeout: "1h" });
    ctx.metadata.set("callback", token.callbackUrl);
    return token.wait();
  },
});

actor({
  id: "echo",
  idleTimeout: "1h",
  async run(session) {
    for await (const { data } of session.input) await session.output.append(data);
  },
});
`;

type RouterProcess = { url: string; child: ChildProcess; said: () => string; exited: Promise<unknown[]> };

async function startRouterProcess(args: readonly string[]): Promise<RouterProcess> {
  const child = spawn(
    process.execPath,
    [...programArguments("cli/src/main.ts"), "router", "--json", ...args],
    {
      env: bareEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => (said += bytes.toString()));
  const exited = once(child, "close");
  const first = once(createInterface(child.stdout), "line") as Promise<[string]>;
  const line = await Promise.race([first, exited.then(() => assert.fail(said))]);
  return { url: (JSON.parse(line[0]) as { url: string }).url, child, said: () => said, exited };
}

class Cell {
  readonly tag: string;
  readonly server: ApiServer;
  agent: RunningAgent | null = null;
  #dataDir = "";

  constructor(tag: string, server: ApiServer) {
    this.tag = tag;
    this.server = server;
  }

  static async start(tag: string): Promise<Cell> {
    const config = { cell: tag, masterKey: randomBytes(32), trustedProxies: ["127.0.0.0/8"] };
    return new Cell(tag, await startApiServer({ config }));
  }

  clientAt(url: string): Client {
    return new Client({ url, apiKey: this.server.credentials.api_key, maxRetries: 0 });
  }

  /** An agent and a deployment, both through the router. */
  async openAt(url: string, signal: AbortSignal): Promise<void> {
    this.#dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
    const quiet = (): void => undefined;
    this.agent = await startAgent({
      url,
      enrollmentToken: this.server.credentials.enrollment_token,
      name: `agent of ${this.tag}`,
      capacity: 4,
      dataDir: this.#dataDir,
      version: "0.1.0-test",
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    const options = { directory: this.#dataDir, promote: true, timeoutMs: 60_000, signal, progress: quiet };
    await deployBundle(this.clientAt(url), await bundleSource(SOURCE), options);
  }

  async stop(): Promise<void> {
    await this.agent?.stop();
    await this.server.stop();
    if (this.#dataDir !== "") await removeTestFolder(this.#dataDir);
  }
}

describe("two cells behind a router", () => {
  let cells: [Cell, Cell];
  let router: RouterProcess;
  const ending = new AbortController();
  before(async () => {
    cells = await Promise.all([Cell.start("eu1"), Cell.start("us1")]);
    const args = cells.flatMap(({ tag, server }) => ["--cell", `${tag}=${server.url}`]);
    router = await startRouterProcess([...args, "--default", "us1", "--port", "0"]);
    await Promise.all(cells.map((cell) => cell.openAt(router.url, ending.signal)));
  });
  after(async () => {
    ending.abort();
    router?.child.kill("SIGKILL");
    await Promise.all(cells?.map((cell) => cell.stop()) ?? []);
  });

  /** Who asks without a tag, and what answers. */
  const projectOf = async (credential: string): Promise<string> => {
    const response = await fetch(`${router.url}/api/me`, {
      headers: { authorization: `Bearer ${credential}` },
    });
    assert.equal(response.status, 200, await response.clone().text());
    return ((await response.json()) as { api_key: { project_id: string } }).api_key.project_id;
  };

  test("each have their programs, their workers and the calls of their runs", async () => {
    for (const { server } of cells)
      assert.equal(await projectOf(server.credentials.api_key), server.credentials.project_id);
    const runs = await Promise.all(
      cells.map(async (cell) => {
        const client = cell.clientAt(router.url);
        const run = await client.runs.wait(await client.tasks.start("where"), { timeout: "60s" });
        assert.deepEqual([run.status, run.output], ["succeeded", run.id], JSON.stringify(run.failure));
        // The worker of the cell had it, and not the other cell's.
        const { body } = await cell.server.call("GET", `/v1/runs/${run.id}`);
        assert.equal(body.id, run.id);
        return run.id;
      }),
    );
    const [eu1, us1] = cells;
    assert.equal((await us1.server.call("GET", `/v1/runs/${runs[0]}`)).status, 404);
    assert.equal((await eu1.server.call("GET", `/v1/runs/${runs[1]}`)).status, 404);
  });

  test("each have followed sessions", async () => {
    for (const cell of cells) {
      const client = cell.clientAt(router.url);
      const id = (await client.actors.start("echo")).session.id;
      const heard: unknown[] = [];
      const followed = (async () => {
        for await (const { data } of client.sessions.records(id, { follow: true, signal: ending.signal })) {
          heard.push(data);
          if (heard.length === 2) return;
        }
      })();
      for (const said of ["a", "b"]) {
        await client.sessions.send(id, said);
        await until(`${cell.tag} heard ${said}`, 30_000, async () => heard.includes(said));
      }
      await followed;
      assert.deepEqual(heard, ["a", "b"]);
      await client.sessions.close(id);
    }
  });

  test("each have tokens that a callback through the router completes", async () => {
    for (const cell of cells) {
      const client = cell.clientAt(router.url);
      const run = await client.tasks.start("approve");
      let callback = "";
      await until("the run has its callback URL", 30_000, async () => {
        callback = ((await client.runs.get(run.id)).metadata["callback"] as string | undefined) ?? "";
        return callback !== "";
      });
      const answer = await fetch(router.url + new URL(callback).pathname, { method: "POST", body: "yes" });
      assert.equal(answer.status, 200, await answer.text());
      const ended = await client.runs.wait(run, { timeout: "60s" });
      assert.equal(ended.status, "succeeded", JSON.stringify(ended.failure));
    }
  });

  test("a request without a tag is the default cell's, and a tag of no cell is a wrong credential", async () => {
    const [eu1, us1] = cells;
    const pages = await Promise.all(
      [router.url, us1.server.url].map(async (url) => (await fetch(`${url}/`)).text()),
    );
    assert.equal(pages[0], pages[1]);
    const unknown = eu1.server.credentials.api_key.replace("_eu1_", "_zz9_");
    const answers = await Promise.all(
      [makeTagged("zz9"), unknown, "kl_key_nothing"].map(async (credential) => {
        const headers = { authorization: `Bearer ${credential}`, "x-request-id": "r-1" };
        const response = await fetch(`${router.url}/v1/runs`, { headers });
        return [response.status, response.headers.get("www-authenticate"), await response.json()];
      }),
    );
    assert.equal(answers[0]?.[0], 401);
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    await until("the router says so", 10_000, async () => router.said().includes("No cell has the tag zz9"));
  });

  test("one that is down disturbs no other, not even when it is the default", async () => {
    const [eu1, us1] = cells;
    const client = eu1.clientAt(router.url);
    const id = (await client.actors.start("echo")).session.id;
    const records = client.sessions.records(id, { follow: true, signal: ending.signal });
    const following = records[Symbol.asyncIterator]();
    await us1.agent?.stop();
    us1.agent = null;
    const { credentials } = us1.server;
    await us1.server.stop();
    us1.server.stop = async () => undefined;

    const refused = await fetch(`${router.url}/v1/runs`, {
      headers: { authorization: `Bearer ${credentials.api_key}`, "x-request-id": "r-2" },
    });
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"]);
    const { error } = (await refused.json()) as { error: Record<string, unknown> };
    assert.deepEqual(
      [error["code"], error["details"], error["request_id"], refused.headers.get("x-request-id")],
      ["unavailable", { cell: "us1" }, "r-2", "r-2"],
    );
    assert.match(String(error["message"]), /did not get the request/);

    // A browser's question before a request names no cell.
    const path = `${router.url}/api/v1/sessions/x/inputs/input`;
    const asked = await fetch(path, {
      method: "OPTIONS",
      headers: { origin: "https://example.com", "access-control-request-method": "POST" },
    });
    assert.deepEqual([asked.status, asked.headers.get("access-control-allow-origin")], [204, "*"]);

    await client.sessions.send(id, "still here");
    const { value } = await following.next();
    assert.equal((value as { data: unknown }).data, "still here");
    const run = await client.runs.wait(await client.tasks.start("where"), { timeout: "60s" });
    assert.equal(run.status, "succeeded");
    assert.deepEqual([(await fetch(`${router.url}/readyz`)).status], [200]);
    await client.sessions.close(id);
  });

  test("a router that is told to stop ends its event streams and exits with 0", async () => {
    const [eu1] = cells;
    const client = eu1.clientAt(router.url);
    const id = (await client.actors.start("echo")).session.id;
    const response = await fetch(`${router.url}/api/sessions/${id}/outputs/output/read?follow=1`, {
      headers: { authorization: `Bearer ${eu1.server.credentials.api_key}` },
    });
    assert.equal(response.status, 200);
    const text = response.text();
    // It could not say that it ends, once the router has gone.
    await eu1.agent?.stop();
    eu1.agent = null;
    router.child.kill("SIGTERM");
    const [code] = await router.exited;
    assert.equal(code, 0, router.said());
    assert.ok((await text).length > 0, "the stream ended in order");
  });
});

/** A well-formed key of a cell that nobody has. */
function makeTagged(tag: string): string {
  return formatCredential(CREDENTIAL_KINDS.apiKey, randomBytes(96), tag);
}

describe("the command line of the router", () => {
  for (const [what, args, said] of [
    ["no cell", ["--default", "eu1"], /No cell is named/],
    ["no default", ["--cell", "eu1=http://127.0.0.1:1"], /required option '--default/],
    [
      "a default that is no cell",
      ["--cell", "eu1=http://127.0.0.1:1", "--default", "us1"],
      /us1 has no address/,
    ],
    ["a cell without an address", ["--cell", "eu1", "--default", "eu1"], /a tag and a URL/],
    ["an address with a path", ["--cell", "eu1=http://127.0.0.1:1/x", "--default", "eu1"], /a tag and a URL/],
    ["a tag in capitals", ["--cell", "EU1=http://127.0.0.1:1", "--default", "eu1"], /a tag and a URL/],
    [
      "two addresses of a cell",
      ["--cell", "eu1=http://127.0.0.1:1", "--cell", "eu1=http://127.0.0.1:2", "--default", "eu1"],
      /Name each cell once/,
    ],
  ] as const)
    test(`is refused with ${what}`, async () => {
      const outcome = await keelson(["router", ...args]);
      assert.equal(outcome.code, 2, outcome.stderr);
      assert.match(outcome.stderr, said);
    });
});
