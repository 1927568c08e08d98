import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { planProject, toSlug, VERSION, writeProject } from "@keelson/create-keelson";

let folder: string;
beforeEach(async () => {
  folder = path.join(await mkdtemp(path.join(tmpdir(), "keelson-create-")), "My App");
  await mkdir(folder);
});
afterEach(() => rm(path.dirname(folder), { recursive: true, force: true }));

const write = async (files: Record<string, string>): Promise<void> => {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
};
const read = (name: string): Promise<string> => readFile(path.join(folder, name), "utf8");
const actions = (): Record<string, string> =>
  Object.fromEntries(planProject(folder).files.map(({ name, action }) => [name, action]));

type PackageFile = Record<"scripts" | "dependencies" | "devDependencies", Record<string, string>>;
const readPackage = async (): Promise<PackageFile> => JSON.parse(await read("package.json")) as PackageFile;

describe("a project that is made", () => {
  test("in an empty folder has a configuration, a task with its test, and scripts", async () => {
    writeProject(planProject(folder));
    assert.match(
      await read("keelson.config.ts"),
      /project: "my-app",\n[^]*tasks: \["src\/tasks\/\*\*\/\*\.ts"\]/,
    );
    assert.match(await read("src/tasks/hello.test.ts"), /from "\.\/hello\.ts"/);
    assert.match(await read(".gitignore"), /^\.keelson\/$/m);
    const { scripts, dependencies, devDependencies } = await readPackage();
    assert.equal(scripts["dev"], "keelson dev");
    assert.equal(dependencies["@keelson/sdk"], `^${VERSION}`);
    assert.equal(devDependencies["keelson"], `^${VERSION}`);
    assert.ok(devDependencies["typescript"]);
  });

  test("in an existing project keeps every file, and changes package.json only by additions", async () => {
    const own = {
      "tsconfig.json": '{"compilerOptions": {}}',
      "app/page.tsx": "export default 1;",
      "tasks/hello.ts": "// mine",
      ".gitignore": "node_modules\n.next",
    };
    const before = {
      name: "site",
      type: "module",
      scripts: { dev: "next dev", "keelson:up": "mine" },
      dependencies: { next: "16.0.0" },
      devDependencies: { "@keelson/sdk": "0.0.9" },
    };
    await write({ ...own, "package.json": `${JSON.stringify(before, null, 4)}\n` });
    writeProject(planProject(folder));
    for (const name of ["tsconfig.json", "app/page.tsx", "tasks/hello.ts"] as const)
      assert.equal(await read(name), own[name]);
    assert.equal(await read(".gitignore"), "node_modules\n.next\n.keelson/\n");
    const after = await readPackage();
    assert.deepEqual(after.scripts, {
      ...before.scripts,
      "keelson:dev": "keelson dev",
      "keelson:deploy": "keelson deploy",
      "keelson:test": 'node --test "tasks/**/*.test.mjs"',
    });
    assert.deepEqual(after.dependencies, before.dependencies, "the SDK is among the others already");
    assert.deepEqual(after.devDependencies, { ...before.devDependencies, keelson: `^${VERSION}` });
    assert.match(await read("package.json"), /^ {4}"name"/m, "the indentation stays");
  });

  test("without a tsconfig.json at its root gets none there", async () => {
    await write({ "package.json": "{}" });
    assert.deepEqual(Object.keys(actions()), [
      ...["package.json", "keelson.config.mts", "tasks/tsconfig.json"],
      ...["tasks/hello.mts", "tasks/hello.test.mjs", ".gitignore"],
    ]);
  });

  test("of CommonJS says of its files that they are ES modules", async () => {
    await write({
      "package.json": "{}",
      "src/index.ts": "",
      "tsconfig.json": '{"compilerOptions": {"rootDir": "src"}}',
    });
    writeProject(planProject(folder));
    assert.match(await read("keelson.config.mjs"), /tasks: \["src\/tasks\/\*\*\/\*\.\{ts,mts\}"\]/);
    assert.match(await read("src/tasks/hello.test.mjs"), /from "\.\/hello\.mts"/);
    assert.match(await read("src/tasks/hello.mts"), /task\(\{/);
  });

  test("again is as it was", () => {
    writeProject(planProject(folder));
    assert.deepEqual(actions(), {
      "package.json": "keep",
      "keelson.config.ts": "keep",
      ".gitignore": "keep",
    });
  });
});

test("a package.json that is not JSON is named, and nothing is written", async () => {
  await write({ "package.json": "{" });
  assert.throws(() => planProject(folder), /package\.json is not JSON: .*Correct the file/);
});

test("a file that appears after the plan is not overwritten", async () => {
  const plan = planProject(folder);
  await write({ "keelson.config.ts": "// mine" });
  assert.throws(() => writeProject(plan), { code: "EEXIST" });
  assert.equal(await read("keelson.config.ts"), "// mine");
});

test("a folder's name becomes a slug", () => {
  assert.deepEqual(["My App", "@scope/Site", "…"].map(toSlug), ["my-app", "scope-site", "app"]);
});

test("the version is that of the package", async () => {
  const text = await readFile(path.resolve(import.meta.dirname, "../package.json"), "utf8");
  assert.equal(VERSION, (JSON.parse(text) as { version: string }).version);
});
