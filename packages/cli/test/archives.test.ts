import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { buildBundle } from "../src/bundle/build-bundle.ts";
import { startAgentSite } from "./agent-site.ts";

const modules = resolve(import.meta.dirname, "../../../node_modules");

async function createProject(files: Record<string, string>) {
  const directory = await mkdtemp(join(tmpdir(), "keelson-archive-"));
  await symlink(modules, join(directory, "node_modules"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

const CONFIG = `import { defineConfig } from "@keelson/sdk";
export default defineConfig({ build: { assets: ["prompts/**", "src/tasks/*.json"] } });
`;
const TASK = `import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { task } from "@keelson/sdk";
export const read = task({
  id: "read",
  run: async () => {
    const { shout } = await import("../shout.ts");
    const prompt = await readFile(new URL("../../prompts/deep/hello.md", import.meta.url), "utf8");
    const table = JSON.parse(await readFile(join(import.meta.dirname, "table.json"), "utf8"));
    return { said: shout(prompt), table };
  },
});
`;
const PROJECT = {
  "keelson.config.ts": CONFIG,
  "src/tasks/read.ts": TASK,
  "src/tasks/table.json": `{"one":1}`,
  "src/shout.ts": `export const shout = (text: string): string => text.toUpperCase();\n`,
  "prompts/deep/hello.md": "hello",
};

test("a dynamic import is a module of its own, and assets keep their paths", async () => {
  await using project = await createProject(PROJECT);
  const { files, entry, warnings } = await buildBundle(project);
  const paths = files.map(({ path }) => path).toSorted();
  assert.deepEqual(warnings, []);
  assert.ok(paths.includes("prompts/deep/hello.md") && paths.includes("src/tasks/table.json"), paths.join());
  const code = (path: string): string =>
    new TextDecoder().decode(files.find((file) => file.path === path)?.bytes);
  const chunk = paths.find((path) => path.endsWith(".mjs") && code(path).includes("toUpperCase"));
  assert.ok(chunk !== undefined && chunk !== entry, paths.join());
});

for (const [what, assets, problem] of [
  ["to nothing", `["pormpts/**"]`, /build\.assets: no file in .* matches "pormpts\/\*\*"/],
  ["out of the project", `["../*.md"]`, /build\.assets: "\.\.\/\*\.md" leads out of the project/],
  ["nowhere, being no list", `"prompts"`, /"build\.assets" must be a list of file patterns/],
] as const)
  test(`a pattern of assets that leads ${what} is told`, async () => {
    const config = `export default { build: { assets: ${assets} } };`;
    await using project = await createProject({ ...PROJECT, "keelson.config.ts": config });
    await assert.rejects(buildBundle(project), problem);
  });

test("a deployed task reads its prompt and imports a module later; the next deploy sends what changed", async (t) => {
  const site = await startAgentSite(t);
  await using project = await createProject(PROJECT);
  const first = await site.deploy(project.directory);
  assert.match(first.told.join("\n"), /Uploading [0-9]+ files/);
  const run = await site.run("read");
  assert.deepEqual(run.output, { said: "HELLO", table: { one: 1 } }, JSON.stringify(run.failure));
  await writeFile(join(project.directory, "prompts/deep/hello.md"), "good day");
  const second = await site.deploy(project.directory);
  assert.match(second.told.join("\n"), /Uploading 1 of [0-9]+ files, 1 KiB/);
  const again = await site.run("read");
  assert.deepEqual(again.output, { said: "GOOD DAY", table: { one: 1 } });
  const third = await site.deploy(project.directory);
  assert.doesNotMatch(third.told.join("\n"), /Uploading/, "the server has all of it");
});

test("the stack of a failed run and of a failed deploy names the project's files first, relative to it", async (t) => {
  const site = await startAgentSite(t);
  const failing = `import { task } from "@keelson/sdk";
import { parse } from "../shout.ts";
export const fail = task({
  id: "fail",
  retry: { maxAttempts: 1 },
  run: () => ["{"].map((text) => parse(text)),
});
`;
  const shout = `export const parse = (text: string): unknown => {\n  type Unused = string;\n  return JSON.parse(text);\n};\n`;
  await using project = await createProject({ "src/tasks/fail.ts": failing, "src/shout.ts": shout });
  await site.deploy(project.directory);
  const { failure } = await site.run("fail");
  const frames = (failure?.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  assert.match(frames[0] ?? "", /at parse \(src\/shout\.ts:3:15\)$/, failure?.stack ?? "");
  assert.match(frames[1] ?? "", /src\/tasks\/fail\.ts:6:/);
  assert.ok(frames.length > 3, "the others follow");
  const broken = `import { parse } from "../shout.ts";\nif (process.env["KEELSON_WORKER_DIR"]) parse("{");\n`;
  await writeFile(join(project.directory, "src/tasks/broken.ts"), broken);
  await assert.rejects(site.deploy(project.directory), (error: Error) => {
    assert.match(
      error.message,
      /\n {4}at parse \(src\/shout\.ts:3:15\)\n {4}at <anonymous> \(src\/tasks\/broken\.ts:2:/,
    );
    return true;
  });
});
