// `keelson dev` keeps what is in use: a save that would remove it is deployed only after a person's yes, or with --yes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, beforeEach, suite, test } from "node:test";
import { spawn as spawnOnTerminal } from "@lydell/node-pty";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { checkDeployments } from "./check-deployments.ts";
import { createFolder, environmentOf, keelson } from "./support.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";

const modules = resolve(import.meta.dirname, "../../../node_modules");
const SHOWN_MS = 30_000;

const REPORT = `export const report = task({ id: "report", run: () => 1 });\n`;
const OLD = `export const old = task({ id: "old", run: () => 1 });\n`;
const PLANNED = `export const planned = task({ id: "planned", run: () => 1 });
schedules.task({ id: "nightly", task: planned, cron: "0 2 * * *" });\n`;

suite("keelson dev before it removes something", () => {
  let scene: RunScene;
  let env: Record<string, string>;
  let folder: Awaited<ReturnType<typeof createFolder>>;
  const stop = new AbortController();
  let checking: Promise<void>;
  before(async () => {
    scene = await startRunScene({ tasks: [] });
    env = environmentOf(scene.server);
    checking = checkDeployments(scene, stop.signal);
    folder = await createFolder();
    await symlink(modules, join(folder.path, "node_modules"));
    await mkdir(join(folder.path, "src/tasks"), { recursive: true });
  });
  after(async () => {
    stop.abort();
    await checking;
    await scene.stop();
    await folder[Symbol.asyncDispose]();
  });
  /** Each test begins with a live run of `old` and an active schedule. */
  beforeEach(async () => {
    await scene.cancelAll();
    await save(REPORT + OLD + PLANNED);
    assert.equal((await keelson(["deploy", "--yes"], { cwd: folder.path, env })).code, 0);
    await scene.start("old");
  });

  const save = (code: string): Promise<void> =>
    writeFile(
      join(folder.path, "src/tasks/a.ts"),
      `import { schedules, task } from "@keelson/sdk";\nvoid schedules;\n${code}`,
    );
  const tasks = async (): Promise<string[]> =>
    (await scene.call("GET", "/v1/deployments/current")).body.tasks
      .map(({ id }: { id: string }) => id)
      .toSorted();
  const args = [...programArguments("cli/src/main.ts"), "dev", "--no-runs"];
  const environment = () => ({
    ...{ ...bareEnvironment(), HOME: folder.path, TERM: "xterm", NO_COLOR: "1" },
    ...env,
  });

  /** What was shown since the last `shows`, so that each thing has to be shown again. */
  function createScreen(ended: Promise<unknown>) {
    let text = "";
    let look = (): void => undefined;
    return {
      add(part: string): void {
        text += part;
        look();
      },
      shows: (pattern: RegExp): Promise<string> =>
        new Promise((done, fail) => {
          const missing = (): void => fail(new Error(`${pattern} was not shown:\n${text}`));
          const timer = setTimeout(missing, SHOWN_MS);
          void ended.then(missing);
          look = () => {
            const found = pattern.exec(text);
            if (found === null) return;
            clearTimeout(timer);
            text = text.slice(found.index + found[0].length);
            look = () => undefined;
            done(found[0]);
          };
          look();
        }),
    };
  }

  function atTerminal() {
    const size = { cols: 80, rows: 24 };
    const terminal = spawnOnTerminal(process.execPath, args, {
      ...size,
      cwd: folder.path,
      env: environment(),
    });
    const ended = new Promise<number>((done) => terminal.onExit(({ exitCode }) => done(exitCode)));
    const screen = createScreen(ended);
    terminal.onData(screen.add);
    return { ...screen, ended, type: (keys: string) => terminal.write(keys) };
  }

  function withoutTerminal(...more: string[]) {
    const child = spawn(process.execPath, [...args, ...more], {
      cwd: folder.path,
      env: environment(),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(child, "close");
    const screen = createScreen(ended);
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (bytes: Buffer) => screen.add(bytes.toString()));
    return { ...screen, ended, end: () => child.kill("SIGINT") };
  }

  test(
    "at a terminal it says what is in use and asks; No keeps it, and Yes removes it",
    { timeout: 120_000 },
    async () => {
      const dev = atTerminal();
      await dev.shows(/is current/);
      await save(REPORT);
      await dev.shows(/warning: This save removes what is in use/);
      await dev.shows(/- task {5}old {2}\(1 live run\)/);
      await dev.shows(/- schedule nightly {2}\(active\)/);
      await dev.shows(/\[y\/N\] /);
      dev.type("n\r");
      await dev.shows(/✗ Not deployed: the current deployment keeps them/);
      assert.deepEqual(await tasks(), ["old", "planned", "report"]);
      await save(REPORT + OLD + PLANNED);
      await dev.shows(/✓ Repaired: \d{8}\.\d+ is deployed/);
      await save(`${REPORT}// again\n`);
      await dev.shows(/\[y\/N\] /);
      dev.type("y\r");
      await dev.shows(/is current \(-old -planned\)/);
      assert.deepEqual(await tasks(), ["report"]);
      dev.type("\u0003");
      await dev.ended;
    },
  );

  test(
    "a newer save takes an open question back, and Ctrl-C at a question ends",
    { timeout: 120_000 },
    async () => {
      const dev = atTerminal();
      await dev.shows(/is current/);
      await save(REPORT);
      await dev.shows(/\[y\/N\] /);
      await save(REPORT + OLD + PLANNED);
      await dev.shows(/✗ Not deployed: there is a newer save/);
      await dev.shows(/✓ Repaired: \d{8}\.\d+ is deployed/);
      await save(REPORT);
      await dev.shows(/\[y\/N\] /);
      dev.type("\u0003");
      assert.notEqual(await dev.ended, 1);
      assert.deepEqual(await tasks(), ["old", "planned", "report"]);
    },
  );

  test(
    "without a terminal it keeps them and says how to remove them; --yes removes them",
    { timeout: 120_000 },
    async () => {
      const kept = withoutTerminal();
      await kept.shows(/is current/);
      await save(REPORT);
      await kept.shows(/Not deployed: the current deployment keeps them\. .*`keelson dev --yes`/);
      assert.deepEqual(await tasks(), ["old", "planned", "report"]);
      kept.end();
      await kept.ended;
      const told = withoutTerminal("--yes");
      await told.shows(/- task {5}old {2}\(1 live run\)/);
      await told.shows(/is current/);
      assert.deepEqual(await tasks(), ["report"]);
      told.end();
      await told.ended;
    },
  );
});
