import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { buildBundle, watchBundle, type Bundle } from "../src/bundle/build-bundle.ts";
import { BundleError } from "../src/bundle/bundle-error.ts";

const modules = resolve(import.meta.dirname, "../../../node_modules");

/** A project in a folder of its own, with this repository's packages. */
async function createProject(
  files: Record<string, string>,
): Promise<{ directory: string; [Symbol.asyncDispose](): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-project-"));
  await symlink(modules, join(directory, "node_modules"));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

const declare = (id: string, run = "() => 1"): string =>
  `import { task } from "@keelson/sdk";\nexport const ${id} = task({ id: "${id}", run: ${run} });\n`;

function textOf({ files }: Bundle, path: string): string {
  const file = files.find((other) => other.path === path) ?? assert.fail(`The archive lacks ${path}.`);
  return new TextDecoder().decode(file.bytes);
}

async function problemOf(files: Record<string, string>): Promise<string> {
  await using project = await createProject(files);
  const error: unknown = await buildBundle(project).then(
    () => assert.fail("must reject"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof BundleError, String(error));
  return error.message;
}

test("the same sources give the same bytes, wherever they are and whatever else lies there", async () => {
  const files = {
    "src/tasks/b.ts": declare("b"),
    "src/tasks/deep/a.ts": declare("a"),
    "src/tasks/a.test.ts": "throw 1",
    "package.json": `{"sideEffects": false}`,
  };
  await using one = await createProject(files);
  await using other = await createProject({ ...files, "notes.txt": "x" });
  const [first, second] = await Promise.all([buildBundle(one), buildBundle(other)]);
  assert.equal(first.digest, second.digest);
  assert.deepEqual(
    first.manifest.tasks.map(({ id }) => id),
    ["a", "b"],
  );
  assert.doesNotMatch(textOf(first, "bundle.mjs"), /keelson-project-/);
  const map = JSON.parse(textOf(first, "bundle.mjs.map")) as {
    sources: string[];
  };
  assert.ok(map.sources.includes("src/tasks/b.ts"));
  assert.ok(
    !map.sources.some((source) => source.startsWith("/") || source.includes("keelson-project-")),
    map.sources.join(),
  );
});

test("a bundle has no schema library that its code does not use", async () => {
  await using project = await createProject({ "tasks/a.ts": declare("a") });
  assert.doesNotMatch(textOf(await buildBundle(project), "bundle.mjs"), /typebox/);
});

test("package.json says which files declare tasks", async () => {
  await using project = await createProject({
    "package.json": JSON.stringify({ keelson: { tasks: ["jobs/*.ts"] } }),
    "jobs/a.ts": declare("a"),
    "src/tasks/b.ts": declare("b"),
  });
  assert.deepEqual(
    (await buildBundle(project)).manifest.tasks.map(({ id }) => id),
    ["a"],
  );
});

test("CommonJS packages find built-in modules and their folder, and the project's own names stay free", async () => {
  await using project = await createProject({
    "src/old.cjs": `const { sep } = require("node:path"); const fs = require("fs"); module.exports = { sep, dir: typeof __dirname, read: typeof fs.readFileSync };`,
    "src/tasks/a.ts": `import { createRequire } from "node:module"; import old from "../old.cjs";\nconst require = createRequire(import.meta.url);\nconst __dirname = "mine";\nif (old.dir !== "string" || old.read !== "function" || !require) throw new Error("no");\n${declare("a", "() => __dirname")}`,
  });
  assert.equal((await buildBundle(project)).manifest.tasks.length, 1);
});

test("what is wrong in the code is told with file and line", async () => {
  assert.match(
    await problemOf({ "src/tasks/a.ts": `import { x } from "./nowhere.ts";\nx();` }),
    /cannot be bundled\n {2}src\/tasks\/a\.ts:1:19: Could not resolve "\.\/nowhere\.ts"/,
  );
  assert.match(await problemOf({ "src/tasks/a.ts": `const a = 1;\nconst = 2;` }), /src\/tasks\/a\.ts:2:7: /);
  assert.match(
    await problemOf({ "src/tasks/a.ts": `type Unused = 1;\n\nthrow new Error("no database");` }),
    /cannot be loaded\n {2}src\/tasks\/a\.ts:3:7: no database/,
  );
  assert.match(
    await problemOf({ "src/tasks/a.ts": declare("same"), "src/tasks/b.ts": declare("same") }),
    /src\/tasks\/b\.ts:2:\d+: task\(\): "same" is declared twice/,
  );
  assert.match(
    await problemOf({ "src/tasks/a.ts": `import pad from "@no/such-package/pad";\npad();` }),
    /Could not resolve "@no\/such-package\/pad" \(install it with `npm install @no\/such-package`, or correct the name\)/,
  );
  assert.match(
    await problemOf({ "src/tasks/a.ts": `await new Promise(() => undefined);` }),
    /was not loaded: an `await` outside of all functions waits for something that never happens$/,
  );
  assert.match(
    await problemOf({ "src/tasks/a.ts": `process.exit(3);` }),
    /ended with exit code 3 while it was loaded/,
  );
  assert.match(
    await problemOf({ "src/tasks/a.ts": declare("a").replace("run:", "maxDuration: 'soon', run:") }),
    /task "a": maxDuration must be a duration/,
  );
  assert.match(await problemOf({ "src/other.ts": "" }), /No task files .*`keelson init`/);
  assert.match(
    await problemOf({ "package.json": `{"keelson": {"tasks": ["jobs/**"]}}` }),
    /No task files .* nothing matches jobs\/\*\*\. Add a task file, or correct "tasks"/,
  );
  assert.match(
    await problemOf({
      "src/tasks/a.ts": declare("a"),
      "package.json": `{"keelson": {"build": {"assets": ["*.onnx"]}}}`,
    }),
    /no file in .* matches "\*\.onnx"\. Add the file, or correct the pattern/,
  );
  assert.match(await problemOf({ "package.json": "{" }), /package\.json is not JSON/);
  assert.match(
    await problemOf({ "package.json": `{"keelson": {"tasks": "a"}}` }),
    /must be a list of file patterns/,
  );
});

/** In one moment: whoever watches must not see a file that is only half written. */
async function putFile({ directory }: { directory: string }, path: string, text: string): Promise<void> {
  const aside = `${directory}.aside`;
  await writeFile(aside, text);
  await rename(aside, join(directory, path));
}

test(
  "a bundle is made again after each change, and a mistake does not end the watching",
  { timeout: 120_000 },
  async () => {
    await using project = await createProject({ "src/tasks/a.ts": declare("a") });
    const stop = new AbortController();
    const told: string[] = [];
    const describe = (built: Bundle | BundleError): string =>
      built instanceof BundleError ? "error" : built.manifest.tasks.map(({ id }) => id).join();
    await watchBundle(
      project,
      async (built) => {
        told.push(describe(built));
        if (told.length === 1) await putFile(project, "src/tasks/b.ts", "const = 1");
        if (told.length === 2) await putFile(project, "src/tasks/b.ts", declare("a"));
        if (told.length === 3) await putFile(project, "src/tasks/b.ts", declare("b"));
        if (told.length === 4) stop.abort();
      },
      stop.signal,
    );
    assert.deepEqual(told, ["a", "error", "error", "a,b"]);
  },
);

test(
  "a file that comes back, or comes into a new folder, is noticed, a task as an asset",
  { timeout: 120_000 },
  async () => {
    const config = `{"keelson": {"tasks": ["src/tasks/**/*.ts"], "build": {"assets": ["prompts/**"]}}}`;
    await using project = await createProject({
      "package.json": config,
      "src/tasks/a.ts": declare("a"),
      "other.txt": "a prompt",
    });
    const place = (name: string): string => join(project.directory, name);
    const steps = [
      () => mkdir(place("prompts")),
      () => rename(place("other.txt"), place("prompts/system.md")),
      () => rename(place("src/tasks/a.ts"), place("aside.txt")),
      () => rename(place("aside.txt"), place("src/tasks/a.ts")),
      () => mkdir(place("src/tasks/inner")),
      () => putFile(project, "src/tasks/inner/b.ts", declare("b")),
    ];
    const stop = new AbortController();
    const told: string[] = [];
    await watchBundle(
      project,
      async (built) => {
        told.push(
          built instanceof BundleError ? built.message : built.manifest.tasks.map(({ id }) => id).join(),
        );
        const next = steps[told.length - 1];
        if (next === undefined) stop.abort();
        else await next();
      },
      stop.signal,
    );
    assert.deepEqual(told.length, steps.length + 1);
    assert.match(told[1] ?? "", /build.assets/);
    assert.match(told[3] ?? "", /No task files/);
    assert.deepEqual([told[2], ...told.slice(4)], ["a", "a", "a", "a,b"]);
  },
);
