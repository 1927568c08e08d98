// What `keelson dev` shows while a person works: their runs as they happen, and whether the last save is deployed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, suite, test } from "node:test";
import { startAgent, type RunningAgent } from "@keelson/agent";
import { Client, type Run } from "@keelson/sdk";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";
import { createFolder, environmentOf } from "./support.ts";
import { removeTestFolder } from "../../server/test/support/test-folder.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";

const MODULES = resolve(import.meta.dirname, "../../../node_modules");

const SHOWN_MS = 20_000;

const TASKS = `import { step, task, wait } from "@keelson/sdk";
export const flaky = task({
  id: "flaky",
  retry: { maxAttempts: 2, initialDelay: "10ms" },
  async run(_payload: unknown, ctx) {
    await step("prepare", () => 1);
    console.log("trying " + ctx.attempt.number);
    if (ctx.attempt.number === 1) throw new Error("first try");
  },
});
export const sleeper = task({ id: "sleeper", run: () => wait.for("1d") });
export const broken = task({
  id: "broken",
  retry: { maxAttempts: 1 },
  run: () => {
    throw new Error("no such luck");
  },
});
`;

suite("keelson dev", () => {
  let server: ApiServer;
  let agent: RunningAgent;
  let dataDir: string;
  before(async () => {
    server = await startApiServer();
    dataDir = await mkdtemp(join(tmpdir(), "keelson-agent-"));
    const quiet = (): void => undefined;
    agent = await startAgent({
      url: server.url,
      enrollmentToken: server.credentials.enrollment_token,
      name: "agent",
      capacity: 4,
      dataDir,
      version: "0.1.0-test",
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
  });
  after(async () => {
    await agent.stop();
    await server.stop();
    await removeTestFolder(dataDir);
  });

  async function startDev(args: readonly string[] = [], url = server.url) {
    const folder = await createFolder();
    const file = join(folder.path, "src/tasks/a.ts");
    await symlink(MODULES, join(folder.path, "node_modules"));
    await mkdir(join(folder.path, "src/tasks"), { recursive: true });
    await writeFile(file, TASKS);
    const child = spawn(process.execPath, [...programArguments("cli/src/main.ts"), "dev", ...args], {
      cwd: folder.path,
      env: { ...bareEnvironment(), HOME: folder.path, ...environmentOf(server), KEELSON_URL: url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const closed = once(child, "close");
    let said = "";
    const looks = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => {
        said += bytes.toString();
        for (const look of looks) look();
      });
    const shows = (pattern: RegExp): Promise<void> =>
      new Promise((done, fail) => {
        const look = (): void => {
          if (!pattern.test(said)) return;
          looks.delete(look);
          done();
        };
        looks.add(look);
        AbortSignal.timeout(SHOWN_MS).addEventListener("abort", () =>
          fail(new Error(`${pattern} was not shown:\n${said}`)),
        );
        void closed.then(() => fail(new Error(`${pattern} was not shown:\n${said}`)));
        look();
      });
    return {
      file,
      shows,
      said: () => said,
      async [Symbol.asyncDispose]() {
        child.kill("SIGINT");
        await closed;
        await folder[Symbol.asyncDispose]();
      },
    };
  }

  test("shows runs, output, retries and failures with file and line", { timeout: 90_000 }, async () => {
    await using dev = await startDev();
    await dev.shows(/is current/);
    const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
    const flaky = await client.tasks.start("flaky");
    const name = `flaky ${flaky.id.slice(-4)}`;
    await dev.shows(new RegExp(`${name}  started\n`));
    await dev.shows(new RegExp(`${name} │ trying 1\n`));
    await dev.shows(
      new RegExp(`${name}  attempt 1 failed: first try; retry in \\d+ ms\n +at src/tasks/a.ts:8:\\d+\n`),
    );
    await dev.shows(new RegExp(`${name}  Step "prepare" completed\n`));
    await dev.shows(new RegExp(`${name} │ trying 2\n`));
    await dev.shows(new RegExp(`${name}  succeeded in `));
    const broken = await client.tasks.start("broken");
    await dev.shows(
      new RegExp(
        `broken ${broken.id.slice(-4)}  failed after .*: no such luck\n +at src/tasks/a.ts:16:\\d+\n`,
      ),
    );
  });

  test(
    "says that a repaired save is deployed, also when it is what was there before",
    { timeout: 90_000 },
    async () => {
      await using dev = await startDev(["--no-runs"]);
      await dev.shows(/is current/);
      await writeFile(dev.file, "const = 1");
      await dev.shows(/✗ The code cannot be bundled/);
      await writeFile(dev.file, TASKS);
      await dev.shows(/✓ Repaired: \d{8}\.\d+ is deployed\n/);
      await writeFile(dev.file, "throw new Error('at load')");
      await dev.shows(/at load/);
      await writeFile(dev.file, `${TASKS}\nexport const more = task({ id: "more", run: () => 1 });`);
      await dev.shows(/is current \(\+more\)[^]*✓ Repaired: \d{8}\.\d+ is deployed\n/);
    },
  );

  test(
    "shows runs beside any number of others that only wait, and those again when they go on",
    { timeout: 90_000 },
    async () => {
      await using dev = await startDev();
      await dev.shows(/is current/);
      const client = new Client({ url: server.url, apiKey: server.credentials.api_key });
      const ids: string[] = [];
      const nameOf = (id: string): string => `sleeper ${id.slice(-4)}`;
      for (let half = 0; half < 2; half += 1) {
        const items = Array.from({ length: 6 }, () => ({ task: "sleeper", payload: null }));
        const started = (await client.tasks.startBatch(items)).map(({ run }) => (run as Run).id);
        for (const id of started) await dev.shows(new RegExp(`${nameOf(id)}  waiting\n`));
        ids.push(...started);
      }
      const broken = await client.tasks.start("broken");
      await dev.shows(new RegExp(`broken ${broken.id.slice(-4)}  failed after `));
      assert.doesNotMatch(dev.said(), /not shown/);
      for (const id of ids) await client.runs.cancel(id);
      for (const id of ids) await dev.shows(new RegExp(`${nameOf(id)}  cancelled\n`));
      for (const id of ids) assert.equal(dev.said().split(`${nameOf(id)}  started\n`).length, 2, id);
    },
  );

  test(
    "deploys a save that was made while the server was away when it is there again",
    { timeout: 90_000 },
    async () => {
      let isAway = false;
      await using proxy = await startFaultProxy(server.url, () => (isAway ? "cut before" : "pass"));
      await using dev = await startDev(["--no-runs"], proxy.url);
      await dev.shows(/is current/);
      isAway = true;
      await writeFile(dev.file, `${TASKS}\nexport const late = task({ id: "late", run: () => 1 });`);
      await dev.shows(/✗ [^\n]*; this save is deployed when the server is there\n/);
      isAway = false;
      await dev.shows(/is current \(\+late\)[^]*✓ Repaired: \d{8}\.\d+ is deployed\n/);
    },
  );
});
