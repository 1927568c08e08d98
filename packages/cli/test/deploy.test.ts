import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { answer, createFolder, keelson, spawnKeelson, startServer } from "./support.ts";

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

/** A server whose worker finds every bundle as `status` says, at the second look. */
async function startDeployments(status: "ready" | "failed") {
  let looks = 0;
  const deployment = (fields: object) => ({
    id: "dep_1",
    version: "20261120.1",
    status: "pending",
    is_current: false,
    error: null,
    ...fields,
  });
  return startServer(({ method, path }, response) => {
    if (method === "PUT") answer(response, 200, { digest: path.split("/").at(-1), size_bytes: 1 });
    else if (path === "/v1/deployments") answer(response, 201, deployment({}));
    else if (path.endsWith("/promote"))
      answer(response, 200, deployment({ status: "ready", is_current: true }));
    else
      answer(
        response,
        200,
        deployment(
          (looks += 1) < 2
            ? {}
            : { status, error: status === "failed" ? { message: "no such module", stack: null } : null },
        ),
      );
  });
}

test("a deploy uploads the bundle, waits for a worker's word, and promotes", async () => {
  await using project = await createProject();
  await using server = await startDeployments("ready");
  const { code, stdout, stderr } = await keelson(["deploy"], { cwd: project.path, env: server.env });
  assert.deepEqual([code, stdout], [0, "20261120.1 is current\n"], stderr);
  const [upload, create] = server.requests;
  assert.equal(
    upload?.path,
    `/v1/deployment-bundles/${createHash("sha256")
      .update(upload?.body as string)
      .digest("hex")}`,
  );
  assert.partialDeepStrictEqual(create?.body, {
    manifest: { tasks: [{ id: "a" }] },
    bundle_format_version: 1,
    worker_protocol_version: 1,
  });
  assert.deepEqual(
    server.requests.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f]{64}/, "…")}`),
    [
      "PUT /v1/deployment-bundles/…",
      "POST /v1/deployments",
      "GET /v1/deployments/dep_1",
      "GET /v1/deployments/dep_1",
      "POST /v1/deployments/dep_1/promote",
    ],
  );
});

test("a bundle that a worker cannot load fails the deploy with the reason and is not promoted", async () => {
  await using project = await createProject();
  await using server = await startDeployments("failed");
  const { code, stdout, stderr } = await keelson(["deploy"], { cwd: project.path, env: server.env });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /error: Deployment 20261120\.1 cannot be loaded by a worker: no such module/);
  assert.ok(!server.requests.some(({ path }) => path.endsWith("/promote")));
});

test("--no-promote leaves what is current, and code that cannot be bundled uploads nothing", async () => {
  await using project = await createProject();
  await using server = await startDeployments("ready");
  const kept = await keelson(["deploy", "--no-promote"], { cwd: project.path, env: server.env });
  assert.match(kept.stdout, /20261120\.1 is ready; promote it with: keelson deployment promote dep_1/);
  const before = server.requests.length;
  await writeFile(join(project.path, "src/tasks/b.ts"), `import "./nowhere.ts";`);
  const broken = await keelson(["deploy"], { cwd: project.path, env: server.env });
  assert.match(
    broken.stderr,
    /error: The code cannot be bundled\n {2}src\/tasks\/b\.ts:1:8: Could not resolve/,
  );
  assert.equal(broken.code, 1);
  assert.equal(server.requests.length, before);
});

test("dev deploys now and after each change, and outlives a mistake", { timeout: 60_000 }, async () => {
  await using project = await createProject();
  await using server = await startDeployments("ready");
  const { code, stdout, stderr } = await spawnKeelson(["dev"], {
    cwd: project.path,
    env: server.env,
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
  assert.match(stdout, /20261120\.1 is current \(\+a\) in \d+ ms\n20261120\.1 is current \(\+b\) in \d+ ms/);
  assert.match(stderr, /✗ The code cannot be bundled\n {2}src\/tasks\/b\.ts:1:7: /);
  assert.equal(code, 0);
});
