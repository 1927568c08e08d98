import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { checkSizes } from "./tidy/check-files.ts";
import { buildRepository, readRepository } from "./tidy/repository.ts";
import { findUntidiness, formatFinding } from "./tidy.ts";

const server = "packages/server/src";

/** Findings in a repository made of these files; what every repository needs is there already. */
function findIn(files: Readonly<Record<string, string>>): string[] {
  const base = {
    "package-lock.json": "{}",
    "packages/contract/package.json": manifest("contract"),
    "packages/server/package.json": manifest("server"),
    "packages/sdk/package.json": manifest("sdk"),
    "packages/contract/src/index.ts": "export const version = 1;\n",
    "packages/server/src/index.ts": "export const server = 1;\n",
    "packages/sdk/src/index.ts": "export const sdk = 1;\n",
  };
  const all = Object.entries({ ...base, ...files }).map(([path, text]) => ({ path, text }));
  return findUntidiness(buildRepository(all)).map((finding) => formatFinding(finding));
}

function manifest(name: string): string {
  const exports = { ".": { "@keelson/source": "./src/index.ts" } };
  return JSON.stringify({ name: `@keelson/${name}`, exports });
}

/** One finding, at this place, whose text fits. */
function assertFinding(found: readonly string[], place: string, text: RegExp): void {
  assert.equal(found.length, 1, `expected one finding, got:\n${found.join("\n")}`);
  assert.ok(found[0]?.startsWith(`${place} `), found[0]);
  assert.match(found[0] ?? "", text);
}

test("this repository is tidy", () => {
  const findings = findUntidiness(readRepository(join(import.meta.dirname, "..")));
  assert.equal(findings.map((finding) => formatFinding(finding)).join("\n"), "");
});

test("a repository that breaks no rule has no finding", () => {
  const entry = `import "./core/runs/read-run.ts"; import { version } from "@keelson/contract"; export { version };\n`;
  const operation = `import { find } from "./run-reads.ts"; import { run } from "./run.ts"; export default [find, run];\n`;
  const found = findIn({
    [`${server}/main.ts`]: entry,
    [`${server}/core/runs/read-run.ts`]: operation,
    [`${server}/core/runs/run.ts`]: "export const run = 1;\n",
    [`${server}/core/runs/run-reads.ts`]: `import { sql } from "../../db/sql.ts"; export const find = sql;\n`,
    [`${server}/db/sql.ts`]: "export const sql = 1;\n",
  });
  assert.deepEqual(found, []);
});

describe("the import table", () => {
  const writes = { [`${server}/core/runs/run-writes.ts`]: "export const insert = 1;\n" };

  test("keeps an HTTP family away from writes", () => {
    const path = `${server}/http/v1/runs.ts`;
    const route = `\nimport { insert } from "../../core/runs/run-writes.ts";\nexport const route = insert;\n`;
    const main = { [`${server}/main.ts`]: `import "./http/v1/runs.ts";\n` };
    assertFinding(findIn({ ...writes, ...main, [path]: route }), `${path}:2`, /must not import/);
  });

  test("keeps a resource away from the writes of another", () => {
    const path = `${server}/core/tasks/start-task.ts`;
    const operation = `import { insert } from "../runs/run-writes.ts";\nexport const start = insert;\n`;
    const main = { [`${server}/main.ts`]: `import "./core/tasks/start-task.ts";\n` };
    assertFinding(
      findIn({ ...writes, ...main, [path]: operation }),
      `${path}:1`,
      /call one of its operations/,
    );
  });

  test("keeps models free of the database and of Node", () => {
    const path = `${server}/core/runs/run.ts`;
    const main = { [`${server}/main.ts`]: `import "./core/runs/run.ts"; import "./db/sql.ts";\n` };
    const sql = { [`${server}/db/sql.ts`]: "export const sql = 1;\n" };
    const impure = `import type { sql } from "../../db/sql.ts";\nexport type A = typeof sql;\n`;
    assertFinding(findIn({ ...main, ...sql, [path]: impure }), `${path}:1`, /a model must not import/);
    const node = `import { readFileSync } from "node:fs";\nexport const a = readFileSync;\n`;
    assertFinding(findIn({ ...main, ...sql, [path]: node }), `${path}:1`, /must not import node:fs/);
  });

  test("keeps the database layer below everything else", () => {
    const path = `${server}/db/pool.ts`;
    const pool = `export { run } from "../core/runs/run.ts";\n`;
    const files = { [`${server}/main.ts`]: `import "./db/pool.ts";\n`, [path]: pool };
    const model = { [`${server}/core/runs/run.ts`]: "export const run = 1;\n" };
    assertFinding(findIn({ ...files, ...model }), `${path}:1`, /db must not import/);
  });

  test("lets the contract import its schema library only, and the SDK never the server", () => {
    const contract = "packages/contract/src/index.ts";
    const found = findIn({ [contract]: `import { Type } from "typebox";\nimport "pg";\nexport { Type };\n` });
    assertFinding(found, `${contract}:2`, /contract must not import pg/);
    const sdk = "packages/sdk/src/index.ts";
    const reaching = `import type { server } from "@keelson/server";\nexport type S = typeof server;\n`;
    assertFinding(findIn({ [sdk]: reaching }), `${sdk}:1`, /sdk must not import/);
    const byPath = `export { version } from "../../contract/src/index.ts";\n`;
    assertFinding(findIn({ [sdk]: byPath }), `${sdk}:1`, /import the package by its name/);
  });

  test("lets an HTTP family name the types of the database layer, not use it", () => {
    const path = `${server}/http/v1/runs.ts`;
    const files = {
      [`${server}/main.ts`]: `import "./http/v1/runs.ts";\n`,
      [`${server}/db/sql.ts`]: "export const sql = 1;\n",
    };
    const types = `import type { sql } from "../../db/sql.ts";\nexport type S = typeof sql;\n`;
    assert.deepEqual(findIn({ ...files, [path]: types }), []);
    const values = `export { sql } from "../../db/sql.ts";\n`;
    assertFinding(findIn({ ...files, [path]: values }), `${path}:1`, /an HTTP family must not import/);
  });

  test("asks for a row for a folder it does not know", () => {
    const path = `${server}/gizmos/gizmo.ts`;
    const found = findIn({
      [path]: "export const a = 1;\n",
      [`${server}/main.ts`]: `import "./gizmos/gizmo.ts";\n`,
    });
    assertFinding(found, `${path}:1`, /give its folder a row/);
  });
});

describe("the shape of the graph", () => {
  const a = `import { b } from "./b.ts";\nexport const a = b;\n`;

  test("a ring of imports is found", () => {
    const b = `import { a } from "./a.ts";\nexport const b = a;\n`;
    const found = findIn({ "packages/sdk/src/a.ts": a, "packages/sdk/src/b.ts": b });
    assertFinding(found, "packages/sdk/src/b.ts:1", /import cycle packages\/sdk\/src\/a.ts → /);
  });

  test("a type import or a dynamic import closes no ring", () => {
    const type = `import type { a } from "./a.ts";\nexport const b: typeof a = 1;\n`;
    assert.deepEqual(findIn({ "packages/sdk/src/a.ts": a, "packages/sdk/src/b.ts": type }), []);
    const lazy = `export const b = async () => import("./a.ts");\n`;
    assert.deepEqual(findIn({ "packages/sdk/src/a.ts": a, "packages/sdk/src/b.ts": lazy }), []);
  });

  test("a file that nothing reaches is dead, one that a URL names is not", () => {
    const path = "packages/sdk/src/left-over.ts";
    assertFinding(findIn({ [path]: "export const a = 1;\n" }), `${path}:1`, /nothing imports this file/);
    const index = `export const child = new URL("./left-over.ts", import.meta.url);\n`;
    const files = { [path]: "export const a = 1;\n", "packages/sdk/src/index.ts": index };
    assert.deepEqual(findIn(files), []);
  });
});

describe("names and sizes", () => {
  test("names are kebab-case and say what the file holds", () => {
    const index = (name: string) => ({ "packages/sdk/src/index.ts": `import "./${name}.ts";\n` });
    const named = (name: string) =>
      findIn({ ...index(name), [`packages/sdk/src/${name}.ts`]: "export const a = 1;\n" });
    assertFinding(named("readRun"), "packages/sdk/src/readRun.ts:1", /kebab-case/);
    assertFinding(named("run-helpers"), "packages/sdk/src/run-helpers.ts:1", /rename run-helpers/);
    assertFinding(named("runs/index"), "packages/sdk/src/runs/index.ts:1", /only a package's public entry/);
    assertFinding(named("types"), "packages/sdk/src/types.ts:1", /rename types/);
    for (const name of ["service-version", "row-types"]) assert.deepEqual(named(name), []);
  });

  test("a long file and a long function are found; a suite of tests is not a function", () => {
    const path = "packages/sdk/src/index.ts";
    const lines = (count: number) => "  void 0;\n".repeat(count);
    assertFinding(findIn({ [path]: lines(401) }), `${path}:1`, /401 lines/);
    const long = `\nexport function wait() {\n${lines(69)}}\n`;
    assertFinding(findIn({ [path]: long }), `${path}:2`, /wait has 71 lines/);
    const suite = `import { describe } from "node:test";\ndescribe("a", () => {\n${lines(90)}});\n`;
    assert.deepEqual(findIn({ "packages/sdk/test/wait.test.ts": suite }), []);
  });

  test("the ratchet holds a number and only lets it fall", () => {
    const path = "packages/sdk/src/index.ts";
    const repository = (lines: number) => buildRepository([{ path, text: "void 0;\n".repeat(lines) }]);
    assert.deepEqual(checkSizes(repository(450), { [path]: { fileLines: 450 } }), []);
    assert.match(
      checkSizes(repository(451), { [path]: { fileLines: 450 } })[0]?.message ?? "",
      /at most 450/,
    );
    assert.match(
      checkSizes(repository(440), { [path]: { fileLines: 450 } })[0]?.message ?? "",
      /lower its number/,
    );
    assert.match(checkSizes(repository(1), { "gone.ts": { fileLines: 450 } })[0]?.message ?? "", /is gone/);
  });
});

describe("homes and text", () => {
  const path = "packages/sdk/src/index.ts";

  test("environment, time, randomness and the console are found outside their homes", () => {
    const cases: readonly [string, RegExp][] = [
      ["export const a = process.env.HOME;", /process\.env outside its home/],
      [`import { env } from "node:process";export const a = env;`, /process\.env outside its home/],
      ["export const a = () => Date.now();", /the current time outside its home/],
      ["export const a = () => new Date();", /the current time outside its home/],
      ["export const a = () => Math.random();", /Math\.random outside its home/],
      [`export const a = () => console.log("a");`, /console outside its home/],
    ];
    for (const [text, message] of cases) assertFinding(findIn({ [path]: text }), `${path}:1`, message);
  });

  test("they are allowed at home, and in comments, strings and with an argument", () => {
    assert.deepEqual(findIn({ [`${server}/main.ts`]: "console.log(process.env.PORT);\n" }), []);
    assert.deepEqual(
      findIn({ [path]: "// Date.now()\nexport const a = [new Date(0), 'Math.random()'];\n" }),
      [],
    );
  });

  test("paths of a machine, registries and build output are found", () => {
    const doc = "docs/quick-start.md";
    assertFinding(
      findIn({ [doc]: "\ncd /home/somebody/keelson\n" }),
      `${doc}:2`,
      /absolute path of a machine/,
    );
    assertFinding(
      findIn({ [doc]: "https://registry.example.com/" }),
      `${doc}:1`,
      /host of a package registry/,
    );
    assert.deepEqual(findIn({ [doc]: "GET /v1/work/items and ./home/x\n" }), []);
    const lock = `{\n"resolved": "https://example.com/a.tgz"\n}`;
    assertFinding(findIn({ "package-lock.json": lock }), "package-lock.json:2", /leaves hosts out/);
    assertFinding(
      findIn({ "packages/sdk/a.tsbuildinfo": "" }),
      "packages/sdk/a.tsbuildinfo:1",
      /output of a build/,
    );
  });

  test("a file that does not parse is named", () => {
    const found = findIn({ [path]: "export const = 1;\n" });
    assert.ok(
      found.some((line) => line.startsWith(`${path}:1 does not parse`)),
      found.join("\n"),
    );
  });
});
