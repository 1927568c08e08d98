import assert from "node:assert/strict";
import { test } from "node:test";
import { buildRepository } from "../tidy/repository.ts";
import { connectFiles } from "./connected-files.ts";

const importing = (...files: string[]): string => files.map((file) => `import "${file}";`).join("\n");
const CORE = "packages/server/src/core";
const TESTS = [
  `${CORE}/runs/run.test.ts`,
  "packages/server/test/http/v1/runs.test.ts",
  "packages/server/test/http/v1/run-logs.test.ts",
  "packages/server/test/http/v1/tokens.test.ts",
  "packages/server/test/crash/killed.test.ts",
  "scripts/tidy.test.ts",
  "scripts/sql.test.ts",
  "scripts/docs.test.ts",
];

/** Thirty files that one imports, and with it the whole product. */
const parts = Array.from({ length: 30 }, (_, n) => [`packages/server/src/http/part-${n}.ts`, ""] as const);
const repository = buildRepository(
  Object.entries({
    ...Object.fromEntries(parts),
    [`${CORE}/runs/run.ts`]: "",
    [`${CORE}/runs/run-reads.ts`]: importing("./run.ts"),
    [`${CORE}/runs/run.test.ts`]: importing("./run.ts"),
    "packages/server/src/http/registry.ts": importing(
      "../core/runs/run-reads.ts",
      ...parts.map(([file]) => `./${file.split("/").at(-1)}`),
    ),
    "packages/server/test/http/v1/runs.test.ts": importing("../../../src/http/registry.ts"),
    "packages/server/test/http/v1/run-logs.test.ts": importing("../../../src/http/registry.ts"),
    "packages/server/test/http/v1/tokens.test.ts": importing("../../../src/http/registry.ts"),
    "packages/server/test/crash/killed.test.ts": `fork(new URL("../../src/core/runs/run-reads.ts", import.meta.url));`,
    "scripts/tidy.test.ts": "",
    "scripts/sql.test.ts": "",
    "scripts/docs.test.ts": "",
  }).map(([path, text]) => ({ path, text })),
);
const connected = (...changed: string[]): string[] => connectFiles(changed, TESTS, repository);

test("a source is connected with the tests that import it, and with those that are named after its resource", () => {
  assert.deepEqual(connected(`${CORE}/runs/run.ts`), [
    `${CORE}/runs/run.test.ts`,
    "packages/server/test/http/v1/runs.test.ts",
    "packages/server/test/crash/killed.test.ts",
    "scripts/tidy.test.ts",
  ]);
});

test("what puts everything together connects with everything only when it is changed itself", () => {
  const all = ["runs", "run-logs", "tokens"].map((name) => `packages/server/test/http/v1/${name}.test.ts`);
  assert.deepEqual(connected("packages/server/src/http/registry.ts"), [...all, "scripts/tidy.test.ts"]);
});

test("pages, statements and test files are connected with what reads them", () => {
  assert.deepEqual(connected("docs/quick-start.md"), ["scripts/tidy.test.ts", "scripts/docs.test.ts"]);
  assert.ok(connected(`${CORE}/runs/run-reads.ts`).includes("scripts/sql.test.ts"));
  assert.deepEqual(connected("packages/server/test/http/v1/tokens.test.ts"), [
    "packages/server/test/http/v1/tokens.test.ts",
    "scripts/tidy.test.ts",
  ]);
});
