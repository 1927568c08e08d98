import assert from "node:assert/strict";
import { readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { bundleOf } from "./support/bundles.ts";
import { archiveOf } from "./support/start-agent-server.ts";
import { startTestAgent } from "./support/start-test-agent.ts";
import { digestOf } from "./support/test-place.ts";

const ENTRY = bundleOf(
  {
    main: `const { later } = await import("./parts/later.mjs");
      const prompt = await readFile(new URL("./prompts/hello.md", import.meta.url), "utf8");
      const tool = execFileSync(fileURLToPath(new URL("./bin/tool", import.meta.url))).toString();
      return { later, prompt, tool, file: fileURLToPath(import.meta.url) };`,
    where: `return fileURLToPath(import.meta.url);`,
  },
  `import { readFile } from "node:fs/promises"; import { execFileSync } from "node:child_process"; import { fileURLToPath } from "node:url";`,
);
const FILES = {
  "bundle.mjs": ENTRY,
  "parts/later.mjs": `export const later = "loaded later";`,
  "prompts/hello.md": "Say hello.",
  "bin/tool": "#!/bin/sh\nprintf ran",
};

type Output = { later: string; prompt: string; tool: string; file: string };

/** Where the agent keeps the files of a placed bundle. */
const storedIn = (dataDir: string): string => join(dataDir, "bundles", "files");

test("code of an archive loads its other modules, reads its assets, and runs its programs", async (t) => {
  const { server } = await startTestAgent(t, { keepsUser: true });
  const release = await server.enqueue({ digest: server.putArchive(FILES) }).released;
  assert.equal(release.outcome, "succeeded", JSON.stringify(release));
  const { later, prompt, tool, file } = release.output as Output;
  assert.deepEqual([later, prompt, tool], ["loaded later", "Say hello.", "ran"]);
  const modes = await Promise.all(
    ["prompts/hello.md", "bin/tool"].map(
      async (path) => (await stat(join(dirname(file), path))).mode & 0o777,
    ),
  );
  assert.deepEqual(modes, [0o444, 0o555], "nobody may change them, and programs stay programs");
});

test("a deployment check loads an archive, and says what it lacks", async (t) => {
  const { server } = await startTestAgent(t, { keepsUser: true });
  assert.equal((await server.check(server.putArchive(FILES))).status, "ready");
  const { "bundle.mjs": _, ...rest } = FILES;
  const broken = await server.check(
    server.putArchive({ ...rest, "bundle.mjs": `import "./parts/missing.mjs"; ${ENTRY}` }),
  );
  assert.equal(broken.status, "failed");
  assert.match(broken.error?.message ?? "", /parts\/missing\.mjs/);
});

test("what two archives share is fetched once and is on the disk once", async (t) => {
  const { server, dataDir } = await startTestAgent(t, { keepsUser: true });
  const first = await server.enqueue({ digest: server.putArchive(FILES), task: "where" }).released;
  const before = (await readdir(storedIn(dataDir))).length;
  const changed = { ...FILES, "bundle.mjs": `${ENTRY}\n// changed` };
  const second = await server.enqueue({ digest: server.putArchive(changed), task: "where" }).released;
  assert.notEqual(first.output, second.output);
  assert.equal(
    (await readdir(storedIn(dataDir))).length,
    before + 2,
    "its index and the module that changed",
  );
  const inodes = await Promise.all(
    [first.output, second.output].map(
      async (file) => (await stat(join(dirname(file as string), "bin/tool"))).ino,
    ),
  );
  assert.equal(inodes[0], inodes[1]);
});

test("a folder that lost a file, or has a link in its place, is made anew by the next agent", async (t) => {
  const one = await startTestAgent(t, { keepsUser: true });
  const digest = one.server.putArchive(FILES);
  const { output } = await one.server.enqueue({ digest }).released;
  const root = dirname((output as Output).file);
  await one.agent.stop();
  await rm(join(root, "parts/later.mjs"));
  const elsewhere = join(one.dataDir, "elsewhere.md");
  await writeFile(elsewhere, "Not this.");
  await rm(join(root, "prompts/hello.md"));
  await symlink(elsewhere, join(root, "prompts/hello.md"));
  const next = await startTestAgent(t, { keepsUser: true, dataDir: one.dataDir });
  next.server.putArchive(FILES);
  const release = await next.server.enqueue({ digest }).released;
  assert.equal((release.output as Output).prompt, "Say hello.");
  assert.equal(await readFile(elsewhere, "utf8"), "Not this.");
  assert.deepEqual(
    (await readdir(dirname(root))).filter((name) => name !== digest),
    [],
    "nothing is left beside it",
  );
});

for (const [what, path] of [
  ["out of the folder", "../outside.mjs"],
  ["to an absolute place", "/tmp/outside.mjs"],
  ["through an empty name", "a//b.mjs"],
  ["with a NUL", "a\0b.mjs"],
] as const)
  test(`an archive with a path that leads ${what} is not laid out`, async (t) => {
    const { server, dataDir } = await startTestAgent(t, { keepsUser: true });
    // The server takes no such index: a worker can be told of it only by one that was taken over.
    const { index } = archiveOf({ ...FILES, [path]: "outside" });
    server.failAlways(`bundles/${digestOf(index)}`, { status: 200, body: index });
    server.changeLeases(({ deployment_checks }) => {
      for (const check of deployment_checks) check.bundle_digest = digestOf(index);
    });
    const checked = await server.check(server.putArchive(FILES), ["main", "where"]);
    assert.equal(checked.status, "interrupted");
    assert.match(checked.error?.message ?? "", /The index of the archive is not valid: the path/);
    const names = await readdir(dataDir, { recursive: true });
    assert.ok(!names.some((name) => name.includes("outside")), names.join());
    assert.ok(!(await readdir(tmpdir())).includes("outside.mjs"));
  });

test("a bundle of format 1 runs beside archives", async (t) => {
  const { server } = await startTestAgent(t, { keepsUser: true });
  const old = server.putBundle(bundleOf({ main: `return "one module";` }));
  const archive = server.putArchive(FILES);
  const outputs = await Promise.all(
    [old, archive].map(async (digest) => (await server.enqueue({ digest }).released).outcome),
  );
  assert.deepEqual(outputs, ["succeeded", "succeeded"]);
});

test("a bundle that vanished from the cache is fetched again", async (t) => {
  const { server, dataDir } = await startTestAgent(t, { keepsUser: true });
  for (const [digest, task] of [
    [server.putArchive(FILES), "main"],
    [server.putBundle(ENTRY), "where"],
  ] as const) {
    assert.equal((await server.enqueue({ digest, task }).released).outcome, "succeeded");
    await rm(join(dataDir, "bundles"), { recursive: true });
    // Another size of memory is another process.
    const { outcome, failure } = await server.enqueue({ digest, task, memory_mb: 512 }).released;
    assert.equal(outcome, "succeeded", JSON.stringify(failure));
  }
});
