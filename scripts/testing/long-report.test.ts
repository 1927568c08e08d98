import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileResult } from "./run-file.ts";
import { describeLongRun } from "./long-report.ts";

const result = (path: string, figure: string): FileResult => ({
  file: { path, seconds: 1, isCertain: false },
  ...{ passed: 2, failures: [], skips: [], seconds: 61, cpuSeconds: null },
  ...{ figures: [figure], left: [], log: "" },
});

const report = (page: string, results: FileResult[], exists = (_file: string) => true): string =>
  describeLongRun(
    page,
    { results, red: [], unsteady: [], seed: 7, seconds: 61 },
    new Date("2026-11-20T09:15:00Z"),
    exists,
  );

test("a run of some files replaces theirs, and keeps the others that are still there", () => {
  const whole = report("", [
    result("a.test.ts", "one"),
    result("b.test.ts", "two"),
    result("c.test.ts", "x"),
  ]);
  const part = report(whole, [result("b.test.ts", "three")], (file) => file !== "c.test.ts");
  assert.deepEqual(
    part.split("\n").filter((line) => /^(## |one|two|three)/.test(line)),
    ["## a.test.ts", "one", "## b.test.ts", "three"],
  );
  assert.match(part, /2 passed, 0 failed, 0 skipped, 61 s. 2026-11-20, commit `\w+`, seed 7, /);
  assert.equal(report(part, []), part);
});
