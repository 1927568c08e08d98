import assert from "node:assert/strict";
import { test } from "node:test";
import { checkTimeInTests } from "./check-tests.ts";
import { buildRepository } from "./repository.ts";

const path = "packages/server/test/runs.test.ts";
const NONE = { pauses: 0, bounds: 0, guessedPorts: 0 };

for (const [text, message] of [
  ["await sleep(100);\n", /^waits for a time to pass/],
  ["assert.ok(performance.now() - begun < 2_000);\n", /^bounds a time from above/],
  ["const port = await findFreePort();\n", /^takes a port/],
] as const)
  test(`a test hangs on no ${text.trim()}`, () => {
    const repository = buildRepository([{ path, text: `\n${text}` }]);
    const [finding, ...others] = checkTimeInTests(repository, NONE);
    assert.deepEqual([finding?.path, finding?.line, others], [path, 2, []]);
    assert.match(finding?.message ?? "", message);
  });

test("tests hang on the machine less and less, and what is allowed follows down", () => {
  const repository = buildRepository([{ path, text: "await sleep(1);\nawait sleep(2);\n" }]);
  const messageOf = (pauses: number): string =>
    checkTimeInTests(repository, { ...NONE, pauses })[0]?.message ?? "";
  assert.equal(messageOf(2), "");
  assert.match(messageOf(1), /2 such lines in tests, 1 before/);
  assert.match(messageOf(3), /lower TIME_IN_TESTS\.pauses from 3/);
});
