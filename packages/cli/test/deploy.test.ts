import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { Client } from "@keelson/sdk";
import { bundleCode } from "../src/bundle/build-bundle.ts";
import { deployExamples } from "../src/up/deploy-examples.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { createFolder, environmentOf, keelson, spawnKeelson } from "./support.ts";

let scene: RunScene;
let env: Record<string, string>;
let verdict: "ready" | "failed" | "none" = "ready";
const stop = new AbortController();
let checking: Promise<void>;

/** A worker that finds every bundle as `verdict` says. */
async function checkDeployments(): Promise<void> {
  for (let i = 0; !stop.signal.aborted; i += 1) {
    const { deployment_checks: checks } = await scene.worker.lease({
      limit: 0,
      wait: "1s",
      requestId: `check-${i}`,
    });
    for (const { deployment_id, check_id } of verdict === "none" ? [] : checks) {
      const { body } = await scene.call("GET", `/v1/deployments/${deployment_id}`);
      const declared = body.tasks.map(({ id }: { id: string }) => ({ kind: "task", declared_id: id }));
      const settled = await scene.worker.call("POST", "/deployments/checked", {
        deployment_id,
        check_id,
        status: verdict,
        ...(verdict === "ready" ? { entrypoints: declared } : { error: { message: "no such module" } }),
      });
      assert.equal(settled.status, 200, settled.text);
    }
  }
}

before(async () => {
  scene = await startRunScene({ tasks: [] });
  env = environmentOf(scene.server);
  checking = checkDeployments();
});
after(async () => {
  stop.abort();
  await checking;
  await scene.stop();
});

const modules = resolve(import.meta.dirname, "../../../node_modules");

async function createProject() {
  const folder = await createFolder();
  await symlink(modules, join(folder.path, "node_modules"));
  await mkdir(join(folder.path, "src/tasks"), { recursive: true });
  await writeFile(
    join(folder.path, "src/tasks/a.ts"),
    `import { task } from "@keelson/sdk";\nexport const a = task({ id: "a", run: () => 1 });\n`,
  );
  return folder;
}

const current = async (): Promise<{ id: string; version: string; tasks: { id: string }[] }> =>
  (await scene.call("GET", "/v1/deployments/current")).body;

const countDeployments = async (): Promise<number> =>
  (await scene.call("GET", "/v1/deployments?limit=200")).body.deployments.length;

test("a deploy uploads the bundle, waits for a worker's word, and promotes", async () => {
  verdict = "ready";
  await using project = await createProject();
  const { code, stdout, stderr } = await keelson(["deploy"], { cwd: project.path, env });
  assert.equal(code, 0, stderr);
  const { version, tasks } = await current();
  assert.equal(stdout, `${version} is current\n`);
  assert.deepEqual(
    tasks.map(({ id }) => id),
    ["a"],
  );
});

test("a deploy that no worker checks in time says how to go on", async () => {
  verdict = "none";
  await using project = await createProject();
  const { code, stdout, stderr } = await keelson(["deploy", "--timeout", "1s"], { cwd: project.path, env });
  assert.deepEqual([code, stdout], [124, ""]);
  assert.match(
    stderr,
    /No worker has loaded deployment (\d{8}\.\d+) after 1 s; .*`keelson agent`.*`keelson promote \1`/,
  );
});

test("a bundle that a worker cannot load fails the deploy with the reason and is not promoted", async () => {
  verdict = "failed";
  await using project = await createProject();
  const before = await current();
  const { code, stdout, stderr } = await keelson(["deploy"], { cwd: project.path, env });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /error: Deployment \d{8}\.\d+ cannot be loaded by a worker: no such module/);
  assert.equal((await current()).id, before.id);
});

test("--no-promote leaves what is current, and code that cannot be bundled uploads nothing", async () => {
  verdict = "ready";
  await using project = await createProject();
  const before = await current();
  const kept = await keelson(["deploy", "--no-promote"], { cwd: project.path, env });
  const [, version = ""] = /is ready; promote it with: keelson promote (\S+)/.exec(kept.stdout) ?? [];
  assert.equal((await current()).id, before.id);
  assert.equal((await keelson(["promote", version], { env })).code, 0);
  assert.equal((await current()).version, version);
  const count = await countDeployments();
  await writeFile(join(project.path, "src/tasks/b.ts"), `import "./nowhere.ts";`);
  const broken = await keelson(["deploy"], { cwd: project.path, env });
  assert.match(
    broken.stderr,
    /error: The code cannot be bundled\n {2}src\/tasks\/b\.ts:1:8: Could not resolve/,
  );
  assert.equal(broken.code, 1);
  assert.equal(await countDeployments(), count);
});

test("what the server refuses of the code is told by the names that the code has", async () => {
  await using project = await createProject();
  await writeFile(
    join(project.path, "src/tasks/b.ts"),
    `import { schedules } from "@keelson/sdk";
for (const [id, cron] of [["fine", "1 * * * *"], ["nightly", "61 * * * *"]]) schedules.task({ id, task: "a", cron });`,
  );
  const refused = await keelson(["deploy"], { cwd: project.path, env });
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /error: The server does not take the deployment\n {2}schedule "nightly", cron: "61 \* \* \* \*" cannot be used: .*0 to 59\n/,
  );
  const { error } = JSON.parse(
    (await keelson(["deploy", "--json"], { cwd: project.path, env })).stderr.split("\n").at(-2) ?? "",
  );
  assert.deepEqual(
    [error.code, error.details.issues[0].path],
    ["invalid_request", "manifest.schedules.1.cron"],
  );
});

test("examples take the place of examples, and of nothing that a user has deployed", async () => {
  verdict = "ready";
  await using project = await createProject();
  const client = new Client({ url: scene.server.url, apiKey: scene.server.credentials.api_key });
  const deploy = async (): Promise<string[]> => {
    const bundled = await bundleCode({ directory: project.path });
    const { tasks } = await deployExamples(
      client,
      bundled,
      project.path,
      AbortSignal.timeout(60_000),
      () => {},
    );
    return tasks.map(({ id }) => id);
  };
  const declare = (id: string): Promise<void> =>
    writeFile(
      join(project.path, "src/tasks/b.ts"),
      `import { task } from "@keelson/sdk";\nexport const b = task({ id: "${id}", run: () => 2 });\n`,
    );
  await declare("b");
  assert.deepEqual((await deploy()).toSorted(), ["a", "b"], "what is current is one of them");
  await declare("c");
  assert.deepEqual((await deploy()).toSorted(), ["a", "b"], "b is the user's");
});

test("dev deploys now and after each change, and outlives a mistake", { timeout: 60_000 }, async () => {
  verdict = "ready";
  await using project = await createProject();
  const { code, stdout, stderr } = await spawnKeelson(["dev"], {
    cwd: project.path,
    env,
    onSpawn: (child) => {
      const file = join(project.path, "src/tasks/b.ts");
      let step = 0;
      const onText = (part: Buffer): void => {
        const text = part.toString();
        if (step === 0 && text.includes("is current"))
          void writeFile(file, "const = 1").then(() => (step = 1));
        else if (step === 1 && text.includes("cannot be bundled"))
          void writeFile(
            file,
            `import { task } from "@keelson/sdk";\nexport const b = task({ id: "b", run: () => 2 });\n`,
          ).then(() => (step = 2));
        else if (step === 2 && text.includes("+b")) child.kill("SIGINT");
      };
      child.stdout?.on("data", onText);
      child.stderr?.on("data", onText);
    },
  });
  const version = "\\d{8}\\.\\d+";
  assert.match(
    stdout,
    new RegExp(`${version} is current \\(.*\\) in \\d+ ms\\n${version} is current \\(\\+b\\) in \\d+ ms`),
  );
  assert.match(stderr, /✗ The code cannot be bundled\n {2}src\/tasks\/b\.ts:1:7: /);
  assert.equal(code, 0);
});
