import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { createFailureLog } from "./failure-log.ts";

const request = { requestId: "one", method: "GET", path: "/v1/runs" };

test("an outage is one line a second without a stack, a defect a line with it each", () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    {},
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  let now = 5_000;
  const logFailure = createFailureLog(log, () => now);
  const outage = new Error("for callers", { cause: new Error("connect ENOENT") });
  for (let count = 0; count < 4; count += 1) logFailure(503, outage, request);
  now += 1_000;
  logFailure(503, outage, request);
  now -= 60_000;
  logFailure(503, outage, request);
  assert.deepEqual(
    lines.map(({ level, reason, others }) => [level, reason, others]),
    [
      [40, "connect ENOENT", 0],
      [40, "connect ENOENT", 3],
      [40, "connect ENOENT", 0],
    ],
  );
  assert.ok(!JSON.stringify(lines).includes("stack"));
  logFailure(400, outage, request);
  logFailure(500, outage, request);
  logFailure(500, outage, request);
  assert.deepEqual(
    lines.slice(3).map(({ level, err }) => [level, typeof (err as { stack: string }).stack]),
    [
      [50, "string"],
      [50, "string"],
    ],
  );
});
