import assert from "node:assert/strict";
import { test } from "node:test";
import { projectStack } from "./project-stack.ts";

const ROOT = "/data/task-bundles/1895825408/9f86";

test("frames of the project come first, are named relative to it, and stand for those of Node.js and of the SDK", () => {
  const stack = [
    `Error: cannot read ${ROOT}/prompts/a.md`,
    "    at async open (node:internal/fs/promises:639:25)",
    `    at load (file://${ROOT}/node_modules/loader/index.js:3:9)`,
    `    at run (${ROOT}/src/tasks/a.ts:3:9)`,
    "    at execute (/data/task-bundles/packages/sdk/src/runtime/execute.ts:9:1)",
    `    at ${ROOT}/src/more.ts:7:1`,
    `    at call (${ROOT}/node_modules/@keelson/sdk/src/sdk/step.ts:9:1)`,
    "    at async runAttempt (/app/node_modules/keelson/packages/agent/src/host/run-attempt.ts:47:12)",
    "Caused by: Error: inner",
    "    at node:internal/b:1:1",
    `    at deep (file://${ROOT}/src/deep.ts:1:2)`,
  ].join("\n");
  assert.equal(
    projectStack(stack, ROOT),
    [
      "Error: cannot read prompts/a.md",
      "    at run (src/tasks/a.ts:3:9)",
      "    at src/more.ts:7:1",
      "    at load (node_modules/loader/index.js:3:9)",
      "Caused by: Error: inner",
      "    at deep (src/deep.ts:1:2)",
    ].join("\n"),
  );
});

test("text without frames, and frames of elsewhere, stay as they are", () => {
  for (const stack of ["Error: no", "", "Error\n    at node:a:1:1\n    at /other/b.js:1:1"])
    assert.equal(projectStack(stack, ROOT), stack);
});
