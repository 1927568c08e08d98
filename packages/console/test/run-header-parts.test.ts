// What the head of a run's page is made of: no browser is needed for this.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RunEvent } from "@keelson/contract";
import { attemptsOf } from "../src/features/runs/header/attempts-of.ts";
import { foldStack, partsOfFrame } from "../src/features/runs/header/fold-stack.ts";
import { describeCountdown, describeLeft } from "../src/ui/describe-time.ts";

const AT = Date.parse("2026-11-20T09:15:00.000Z");
const event = (
  kind: RunEvent["kind"],
  number: number | null,
  seconds: number,
  more: Partial<RunEvent> = {},
): RunEvent => ({
  id: String(seconds + 1),
  run_id: "run_x",
  attempt_number: number,
  kind,
  severity: "info",
  message: kind,
  attributes: {},
  at: new Date(AT + seconds * 1000).toISOString(),
  ...more,
});

describe("the attempts of a run", () => {
  const said = (events: RunEvent[]): unknown[] =>
    attemptsOf(events).map(({ number, outcome, fromMs, toMs, message }) => [
      number,
      outcome,
      fromMs === null ? null : (fromMs - AT) / 1000,
      toMs === null ? null : (toMs - AT) / 1000,
      message,
    ]);

  test("began and ended as its events say", () => {
    const stack = "Error: no\n    at work (src/work.ts:1:1)";
    const events = [
      event("run.created", null, 0),
      event("run.leased", 1, 1),
      event("run.started", 1, 2),
      event("run.retry_delayed", 1, 3, { message: "no", attributes: { stack } }),
      event("run.started", 2, 5),
      event("lease.lost", 2, 7, { message: "The worker is gone." }),
      event("run.started", 3, 8),
    ];
    assert.deepEqual(said(events), [
      [1, "failed", 2, 3, "no"],
      [2, "lost", 5, 7, "The worker is gone."],
      [3, "running", 8, null, null],
    ]);
    assert.equal(attemptsOf(events)[0]?.stack, stack);
  });

  test("go on after a wait, also when the lease was lost meanwhile", () => {
    const events = [event("run.started", 1, 0), event("lease.lost", 1, 3), event("run.resumed", 1, 5)];
    assert.deepEqual(said(events), [[1, "running", 0, null, null]]);
    assert.deepEqual(said([...events, event("run.succeeded", 1, 6)]), [[1, "succeeded", 0, 6, null]]);
  });

  test("are none where the code never began, but for a failure that counts", () => {
    assert.deepEqual(
      said([event("run.leased", 1, 0), event("lease.lost", 1, 1), event("run.queued", 1, 1)]),
      [],
    );
    assert.deepEqual(said([event("run.leased", 1, 0), event("run.failed", 1, 1, { message: "no bundle" })]), [
      [1, "failed", null, 1, "no bundle"],
    ]);
  });
});

describe("a stack", () => {
  const textsOf = (stack: string): unknown[] =>
    foldStack(stack).map(({ isFolded, lines }) => [isFolded, lines.map(({ text }) => text.trim())]);

  test("has its own frames first, and folds those of others for each error", () => {
    const stack = [
      "Error: no",
      "    at z (/app/node_modules/z/z.js:1:1)",
      "    at work (src/work.ts:3:9)",
      "    at node:internal/x:1:1",
      "Caused by: Error: away",
      "    at send (src/mail.ts:4:2)",
      "    at native (native)",
    ].join("\n");
    assert.deepEqual(textsOf(stack), [
      [false, ["Error: no", "at work (src/work.ts:3:9)"]],
      [true, ["at z (/app/node_modules/z/z.js:1:1)", "at node:internal/x:1:1"]],
      [false, ["Caused by: Error: away", "at send (src/mail.ts:4:2)"]],
      [true, ["at native (native)"]],
    ]);
  });

  test("without own frames is shown whole", () => {
    const stack = "Error: no\n    at node:internal/x:1:1";
    assert.deepEqual(textsOf(stack), [[false, ["Error: no", "at node:internal/x:1:1"]]]);
  });

  test("says of a frame where its file and line are", () => {
    assert.deepEqual(partsOfFrame("    at work (src/work.ts:3:9)"), [
      "    at work (",
      "src/work.ts:3:9",
      ")",
    ]);
    assert.deepEqual(partsOfFrame("    at src/work.ts:3:9"), ["    at ", "src/work.ts:3:9", ""]);
    assert.equal(partsOfFrame("    at a.b [as c] (src/(group)/work.ts:3:9)")?.[1], "src/(group)/work.ts:3:9");
    assert.equal(partsOfFrame("Error: no"), null);
  });
});

describe("a countdown", () => {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

  test("is read like a clock, and never below nothing", () => {
    assert.deepEqual(
      [12 * second, 11_001, minute, 71 * second, hour + 2 * minute + 3 * second, 2 * day + hour, -5].map(
        describeCountdown,
      ),
      ["0:12", "0:12", "1:00", "1:11", "1:02:03", "2 d 1:00:00", "0:00"],
    );
  });

  test("is said in few words that seldom change", () => {
    const heard = new Set<string>();
    for (let left = 2 * day; left > 0; left -= second) heard.add(describeLeft(left));
    assert.deepEqual(
      [...heard],
      [
        "in more than 1 day",
        "in less than 1 day",
        "in less than 1 hour",
        "in less than 10 minutes",
        "in less than 1 minute",
        "in less than 10 seconds",
      ],
    );
  });
});
