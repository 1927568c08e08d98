import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { ROOT } from "./select-files.ts";
import { nameSources } from "./source-places.ts";

const folder = process.env["KEELSON_TEST_PROGRAMS"];
const alone = folder === undefined && "nothing is bundled for a file that is run by hand";

/** Counted from 1. */
const lineOf = (file: string, text: string): number =>
  readFileSync(file, "utf8")
    .split("\n")
    .findIndex((line) => line.includes(text)) + 1;

test("a stack in a bundle is told in the lines of the sources", { skip: alone }, () => {
  const declared = "function loadConfig(";
  // Beside it may be what was bundled before the source changed.
  const [chunk = ""] = globSync("*.js", { cwd: folder })
    .map((name) => path.join(folder as string, name))
    .filter((file) => lineOf(file, declared) > 0)
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  const source = path.join(ROOT, "packages/server/src/config.ts");
  const told = nameSources(`at loadConfig (file://${chunk}:${lineOf(chunk, declared)}:1)\n  at other.ts:1:2`);
  assert.match(told, /^at loadConfig \(.*:\d+:\d+\)\n {2}at other\.ts:1:2$/);
  assert.ok(told.includes(`(${source}:${lineOf(source, declared)}:`), told);
});

test("a place without a map stays as it is", () => {
  const text = "at x (/nowhere/test-programs/none.js:1:2)";
  assert.equal(nameSources(text), text);
});
