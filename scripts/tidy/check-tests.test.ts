import assert from "node:assert/strict";
import { test } from "node:test";
import { checkTimeInTests } from "./check-tests.ts";
import { buildRepository } from "./repository.ts";

const path = "packages/server/test/runs.test.ts";

for (const [text, message] of [
  ["await sleep(100);\n", /^waits for a time to pass/],
  ["assert.ok(performance.now() - begun < 2_000);\n", /^bounds a time from above/],
  ["const port = await findFreePort();\n", /^takes a port/],
] as const)
  test(`a test hangs on no ${text.trim()}`, () => {
    const repository = buildRepository([{ path, text: `\n${text}` }]);
    const [finding, ...others] = checkTimeInTests(repository);
    assert.deepEqual([finding?.path, finding?.line, others], [path, 2, []]);
    assert.match(finding?.message ?? "", message);
  });

test("the code of a task that a test runs may wait, and a time that has a purpose may pass", () => {
  const text = [
    "const TASK = `async () => {",
    "  await sleep(10);",
    "}`;",
    'const ONE = "await sleep(20);";',
    'await letPass(30, "the load comes in bursts");',
    "await sleep(40);",
  ].join("\n");
  const findings = checkTimeInTests(buildRepository([{ path, text }]));
  assert.deepEqual(
    findings.map(({ line }) => line),
    [6],
  );
});
