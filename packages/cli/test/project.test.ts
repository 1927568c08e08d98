import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { buildBundle } from "../src/bundle/build-bundle.ts";
import { projectFolder } from "../src/project/project-folder.ts";
import { readProjectConfig } from "../src/project/read-project-config.ts";
import { createFolder, keelson } from "./support.ts";

async function createProject(files: Record<string, string>) {
  const folder = await createFolder();
  await symlink(resolve(import.meta.dirname, "../../../node_modules"), join(folder.path, "node_modules"));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), text);
  }
  return folder;
}

const CONFIG = `import { defineConfig } from "@keelson/sdk";
import { patterns } from "./patterns.ts";
enum Slug { App = "app" }
export default defineConfig({ project: Slug.App, tasks: patterns, build: { loader: { ".md": "text" } } });`;

describe("the configuration", () => {
  test("is TypeScript of any kind, and says which files declare tasks and how files are imported", async () => {
    await using folder = await createProject({
      "keelson.config.ts": CONFIG,
      "patterns.ts": `export const patterns = ["jobs/*.ts"];`,
      "jobs/a.ts": `import { task } from "@keelson/sdk"; import prompt from "./prompt.md";
        export const a = task({ id: "a-" + prompt.trim(), run: () => prompt });`,
      "jobs/prompt.md": "asks\n",
    });
    const config = await readProjectConfig(folder.path);
    assert.deepEqual([config.project, config.tasks], ["app", ["jobs/*.ts"]]);
    const { manifest } = await buildBundle({ directory: folder.path });
    assert.deepEqual(
      manifest.tasks.map(({ id }) => id),
      ["a-asks"],
    );
  });

  test("that is wrong is refused with the setting's name and what it may be", async () => {
    const refused = async (config: string, what: RegExp): Promise<void> => {
      await using folder = await createProject({ "keelson.config.ts": `export default ${config};` });
      await assert.rejects(readProjectConfig(folder.path), { name: "BundleError", message: what });
    };
    await refused("1", /must export an object/);
    await refused("{ task: [] }", /"task" is unknown; known are project, tasks, build/);
    await refused("{ tasks: 'a' }", /"tasks" must be a list of file patterns/);
    await refused("{ project: 1 }", /"project" must be the slug/);
    await refused("{ build: { minify: true } }", /"build\.minify" is unknown; known are loader/);
    await refused(
      "{ build: { loader: { '.md': 'yaml' } } }",
      /gives \.md the loader "yaml"; use one of text/,
    );
    await refused("missing", /cannot be loaded: missing is not defined/);
    await refused("(", /cannot be read/);
  });
});

test("the project is the nearest folder upwards that has a configuration", async () => {
  await using folder = await createProject({
    "keelson.config.ts": "export default {};",
    "src/deep/file.ts": "",
    "package.json": "{}",
    "other/package.json": `{"keelson": {}}`,
    "other/src/file.ts": "",
  });
  const at = (name: string): string => join(folder.path, name);
  assert.equal(projectFolder(at("src/deep"), undefined), folder.path);
  assert.equal(projectFolder(at("other/src"), undefined), at("other"));
  assert.equal(projectFolder(at("src"), "."), at("src"), "what is named is taken as it is");
  await using nowhere = await createFolder();
  assert.equal(projectFolder(nowhere.path, undefined), nowhere.path);
});

describe("keelson init", () => {
  test("makes a project that can be bundled, asks nothing, and does nothing twice", async () => {
    await using folder = await createProject({});
    const made = await keelson(["init", "--yes"], { cwd: folder.path });
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stderr, /create {2}keelson\.config\.ts\n[^]*Next:\n {2}npm install\n/);
    const { manifest } = await buildBundle({ directory: folder.path });
    assert.deepEqual(
      manifest.tasks.map(({ id }) => id),
      ["hello"],
    );
    const again = await keelson(["init", "--json"], { cwd: folder.path });
    const nextOf = ({ stderr }: { stderr: string }): string => stderr.slice(stderr.indexOf("\nNext:"));
    assert.match(nextOf(made), /npm run up .*\n {2}npm run dev /);
    assert.equal(nextOf(again), nextOf(made), "the scripts have the names that they have");
    const { files } = JSON.parse(again.stdout) as { files: { action: string }[] };
    assert.deepEqual([...new Set(files.map(({ action }) => action))], ["keep"]);
  });

  test("refuses a folder whose package.json is not JSON", async () => {
    await using folder = await createProject({ "package.json": "{" });
    const { code, stderr } = await keelson(["init", "--yes"], { cwd: folder.path });
    assert.equal(code, 2);
    assert.match(stderr, /package\.json is not JSON/);
  });
});
