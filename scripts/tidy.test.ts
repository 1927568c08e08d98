import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { checkSizes, checkTransactions, checkWireWords } from "./tidy/check-files.ts";
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
  return findUntidiness(buildRepository(all), { wireWords: 0 }).map((finding) => formatFinding(finding));
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

/** These findings and no others, in this order. */
function assertFindings(found: readonly string[], expected: readonly [place: string, text: RegExp][]): void {
  assert.equal(found.length, expected.length, found.join("\n"));
  for (const [index, [place, text]] of expected.entries()) assertFinding([found[index] ?? ""], place, text);
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

  test("keeps an HTTP resource away from writes", () => {
    const path = `${server}/http/resources/runs/routes.ts`;
    const route = `\nimport { insert } from "../../../core/runs/run-writes.ts";\nexport const route = insert;\n`;
    const main = { [`${server}/main.ts`]: `import "./http/resources/runs/routes.ts";\n` };
    assertFinding(findIn({ ...writes, ...main, [path]: route }), `${path}:2`, /must not import/);
  });

  test("keeps a resource away from the writes of another", () => {
    const path = `${server}/core/schedules/start-task.ts`;
    const operation = `import { insert } from "../runs/run-writes.ts";\nexport const start = insert;\n`;
    const main = { [`${server}/main.ts`]: `import "./core/schedules/start-task.ts";\n` };
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

  test("lets an HTTP resource name the types of the database layer, not use it", () => {
    const path = `${server}/http/resources/runs/routes.ts`;
    const files = {
      [`${server}/main.ts`]: `import "./http/resources/runs/routes.ts";\n`,
      [`${server}/db/sql.ts`]: "export const sql = 1;\n",
    };
    const types = `import type { sql } from "../../../db/sql.ts";\nexport type S = typeof sql;\n`;
    assert.deepEqual(findIn({ ...files, [path]: types }), []);
    const values = `export { sql } from "../../../db/sql.ts";\n`;
    assertFinding(findIn({ ...files, [path]: values }), `${path}:1`, /an HTTP resource must not import/);
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

describe("the slices of core", () => {
  const at = (path: string): string => `${server}/core/${path}`;
  const find = { [at("runs/find-run.ts")]: "export const find = 1;\n" };
  const start = (path: string, text: string) => ({
    [`${server}/main.ts`]: `import "./core/${path}"; import "./core/runs/find-run.ts";\n`,
    [at(path)]: text,
  });

  test("are read from the top down: a slice imports those under it, and no others", () => {
    const text = `import { find } from "../runs/find-run.ts";\nexport const again = find;\n`;
    assert.deepEqual(findIn({ ...find, ...start("schedules/start-again.ts", text) }), []);
    const up = findIn({ ...find, ...start("workspaces/start-again.ts", text) });
    assertFinding(up, `${at("workspaces/start-again.ts")}:1`, /imports runs, which is not under workspaces/);
    const beside = findIn({ ...find, ...start("processes/start-again.ts", text) });
    assertFinding(beside, `${at("processes/start-again.ts")}:1`, /move the file up, or what both need down/);
  });

  test("may name the types of those above, and use their models", () => {
    const types = `import type { find } from "../runs/find-run.ts";\nexport type Find = typeof find;\n`;
    assert.deepEqual(findIn({ ...find, ...start("workspaces/start-again.ts", types) }), []);
    const model = { [at("runs/run.ts")]: "export const run = 1;\n" };
    const pure = `export { run } from "../runs/run.ts";\n`;
    assert.deepEqual(findIn({ ...find, ...model, ...start("workspaces/start-again.ts", pure) }), []);
  });

  test("have a place in that order", () => {
    const found = findIn({ ...find, ...start("gizmos/start-gizmo.ts", "export const gizmo = 1;\n") });
    assertFinding(found, `${at("gizmos/start-gizmo.ts")}:1`, /slice gizmos, which has no row in SLICES/);
  });

  test("have their statements in reads and writes", () => {
    const sql = { [`${server}/db/sql.ts`]: "export const sql = String.raw;\n" };
    const text = 'import { sql } from "../../db/sql.ts";\nexport const one = sql`SELECT 1`;\n';
    assert.deepEqual(findIn({ ...find, ...sql, ...start("runs/run-reads.ts", text) }), []);
    const found = findIn({ ...find, ...sql, ...start("runs/start-run.ts", text) });
    assertFinding(found, `${at("runs/start-run.ts")}:2`, /has SQL: move the statement/);
  });

  test("say nothing in words of the wire, but in text and SQL", () => {
    const text = 'export const a = { runId: 1, text: "run_id" };\n';
    assert.deepEqual(findIn({ ...find, ...start("runs/start-run.ts", text) }), []);
    const found = findIn({ ...find, ...start("runs/start-run.ts", "export const a = { run_id: 1 };\n") });
    assertFinding(found, `${at("runs/start-run.ts")}:1`, /says run_id as the wire does/);
  });

  test("have fewer words of the wire, never more, and what is allowed follows down", () => {
    const path = at("runs/start-run.ts");
    const repository = buildRepository([{ path, text: "export const a = { run_id: 1, task_id: 2 };\n" }]);
    assert.deepEqual(checkWireWords(repository, 2), []);
    assert.match(checkWireWords(repository, 1)[0]?.message ?? "", /2 such words in core, 1 before/);
    assert.match(checkWireWords(repository, 3)[0]?.message ?? "", /lower WIRE_WORDS_IN_CORE from 3/);
  });
});

describe("routes", () => {
  const path = `${server}/http/resources/runs/routes.ts`;
  const opening = "export const find = (db) => db.transaction((tx) => tx);\n";
  const opened = /opens a transaction: declare it in the route's data/;

  const transactionsOf = (at: string, text: string): string[] =>
    checkTransactions(buildRepository([{ path: at, text }])).map(formatFinding);

  test("open no transactions, in resources and in families", () => {
    assertFinding(transactionsOf(path, opening), `${path}:1`, opened);
    const family = `${server}/http/families/worker/executions.ts`;
    assertFinding(transactionsOf(family, opening), `${family}:1`, opened);
    const declared = 'export const find = { transaction: "required", handle: ({ tx }) => tx };\n';
    assert.deepEqual(transactionsOf(path, declared), []);
    assert.deepEqual(transactionsOf(`${server}/http/edge/run-route.ts`, opening), []);
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
      ["export const a = (b) => void (b.c = () => b);", /assignment to a property outside its home/],
      ["export const a = (b) => void (b[0] ??= function () {});", /assignment to a property outside/],
    ];
    for (const [text, message] of cases) assertFinding(findIn({ [path]: text }), `${path}:1`, message);
  });

  test("they are allowed at home, and in comments, strings and with an argument", () => {
    assert.deepEqual(findIn({ [`${server}/main.ts`]: "console.log(process.env.PORT);\n" }), []);
    const named =
      "export const a = (b) => { const c = () => b; b.c = c; b.d = b ? () => b : { e: () => b }; };\n";
    assert.deepEqual(findIn({ [path]: named }), []);
    assert.deepEqual(
      findIn({ [path]: "// Date.now()\nexport const a = [new Date(0), 'Math.random()'];\n" }),
      [],
    );
  });

  test("a route is not named by its path in the command line and the console", () => {
    const cli = "packages/cli/src/main.ts";
    const page = "packages/console/src/main.tsx";
    const texts = [
      `"/api/runs"`,
      "`/v1/runs/${1}`",
      `"/admin/api/v1"`,
      "`${1}/api/runs`",
      `"/capacity/v1/worker-groups"`,
    ];
    for (const text of texts) {
      const named = `export const a = ${text};\n`;
      assertFinding(findIn({ [cli]: named }), `${cli}:1`, /names the route \/.*: call a method of the SDK/);
      assertFinding(findIn({ [page]: named }), `${page}:1`, /names the route \/.*: pass the route of/);
      assert.deepEqual(findIn({ [path]: named }), []);
    }
    for (const text of [`"../api/client"`, `"/e/$environmentId/api-keys"`, `"GET /api/me"`, "/^\\/api\\//"])
      assert.deepEqual(findIn({ [page]: `// "/api/runs"\nexport const a = ${text};\n` }), []);
    const table = "packages/console/src/api/routes/runs.ts";
    assert.deepEqual(findIn({ [table]: `export const listRuns = { path: "/api/runs" };\n` }), []);
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

describe("plain English", () => {
  test("holds pages, texts of programs and public doc comments to the list of words", () => {
    const page = "# A\n\nIt goes on by\nitself, for ever.\n";
    assertFindings(findIn({ "docs/a.md": page }), [
      ["docs/a.md:3", /“by itself”/],
      ["docs/a.md:4", /“for ever”/],
    ]);
    const command = `import "./a.tsx";\nexport const text = \`It begins \${1} anew\`;\n`;
    const view = "export const view = <p>Created, at most 20 a minute</p>;\n";
    assertFindings(findIn({ "packages/cli/src/main.ts": command, "packages/cli/src/a.tsx": view }), [
      ["packages/cli/src/a.tsx:1", /“20 a minute”: write “per”/],
      ["packages/cli/src/main.ts:2", /“anew”/],
    ]);
    const doc = "/** Throws for a URL that is none. */\nexport const sdk = 1;\n";
    assertFindings(findIn({ "packages/sdk/src/index.ts": doc }), [
      ["packages/sdk/src/index.ts:1", /“is none”/],
    ]);
  });

  test("leaves alone what is plain, code, tests, decisions and the changelog", () => {
    const plain = "There is none. It runs a second time; 20 runs per minute.\n";
    const code = "// It begins anew.\nexport const server = 1;\n";
    const said = "For ever.\n";
    const found = findIn({
      "docs/a.md": plain,
      "packages/server/src/index.ts": code,
      "docs/decisions/0001-a.md": said,
      "CHANGELOG.md": said,
    });
    assert.deepEqual(found, []);
  });
});
