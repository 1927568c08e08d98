import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RunFailure } from "@keelson/contract";
import { fingerprintOf, firstOwnFrame, normalizeMessage } from "./fingerprint.ts";

const failure = (message: string, stack: string | null = null): RunFailure => ({
  kind: "application_error",
  message,
  stack,
  retryable: true,
});

describe("a message without its values", () => {
  const CASES: readonly [message: string, normalized: string][] = [
    ["The mail server refused the message.", "The mail server refused the message."],
    ["Order 4711 of 12 failed", "Order <n> of <n> failed"],
    ["connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED <n>"],
    ["no user 0192f0c1-7a3e-7cc1-9f00-1b2c3d4e5f60", "no user <id>"],
    ["run run_01kahvq3rwfw9vs4m6ev2n8y1c is gone", "run <id> is gone"],
    ["commit 9f86d081884c7d65 and 0xdeadbeef", "commit <id> and <id>"],
    ["key deadbeefcafe of a feed", "key <id> of a feed"],
    ["-5 is not 3,000.25", "<n> is not <n>"],
    ["Unexpected token '<', \"<html>\" is not JSON", "Unexpected token “…”, “…” is not JSON"],
    ["can't read `a` of 'b', isn't there", "can't read “…” of “…”, isn't there"],
    ["v2 of E11000: http2", "v<n> of <id>: http<n>"],
    ["two\n  lines", "two lines"],
    ["", ""],
    ['an "open mark', 'an "open mark'],
  ];
  for (const [message, normalized] of CASES)
    test(JSON.stringify(message), () => assert.equal(normalizeMessage(message), normalized));
});

describe("the first own frame", () => {
  const CASES: readonly [name: string, stack: string | null, frame: string | null][] = [
    ["no stack", null, null],
    ["no frame", "Error: no", null],
    ["a function", "Error: no\n    at send (src/report.ts:18:11)", "send (src/report.ts)"],
    ["no function", "Error: no\n    at src/report.ts:18:11", "src/report.ts"],
    ["async", "Error: no\n    at async send (src/report.ts:18:11)", "send (src/report.ts)"],
    [
      "behind those of others",
      "Error: no\n    at new Promise (<anonymous>)\n    at x (node:fs:1:2)\n    at y (node_modules/a/b.js:1:2)\n" +
        "    at z (/opt/host/main.js:3:4)\n    at own (src/a.ts:1:2)",
      "own (src/a.ts)",
    ],
    ["only of others", "Error: no\n    at x (node:fs:1:2)\n    at native", null],
    ["a message that looks like one", "Error: at work (src/a.ts:1:2)", null],
    ["a name with spaces", "E\n    at Object.a b [as c] (src/a.ts:1:2)", "Object.a b [as c] (src/a.ts)"],
  ];
  for (const [name, stack, frame] of CASES) test(name, () => assert.equal(firstOwnFrame(stack), frame));
});

test("an edit above the line, and another attempt, make no other error", () => {
  const one = failure("attempt 1", "TypeError: attempt 1\n    at send (src/report.ts:18:11)");
  const other = failure("attempt 2", "TypeError: attempt 2\n    at send (src/report.ts:21:4)");
  assert.deepEqual(fingerprintOf(one), fingerprintOf(other));
  assert.deepEqual(fingerprintOf(one), {
    kind: "application_error",
    name: "TypeError",
    message: "attempt <n>",
    frame: "send (src/report.ts)",
  });
});

test("kind, name, message, function and file make another error", () => {
  const base = failure("no", "Error: no\n    at a (src/a.ts:1:1)");
  const others: RunFailure[] = [
    { ...base, kind: "timed_out" },
    { ...base, message: "yes" },
    { ...base, stack: "TypeError: no\n    at a (src/a.ts:1:1)" },
    { ...base, stack: "Error: no\n    at b (src/a.ts:1:1)" },
    { ...base, stack: "Error: no\n    at a (src/b.ts:1:1)" },
  ];
  for (const other of others) assert.notDeepEqual(fingerprintOf(other), fingerprintOf(base));
});
