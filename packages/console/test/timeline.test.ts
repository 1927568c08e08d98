// What the timeline of a run draws, without a browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RunEvent } from "@keelson/contract";
import { spansOf, traceOf } from "../src/features/runs/trace/build-trace.ts";
import { pathTo, type Child, type Made, type Span, type TraceData } from "../src/features/runs/trace/span.ts";
import { ticksOf } from "../src/features/runs/trace/ticks.ts";
import { openChildren, visibleSpans } from "../src/features/runs/trace/visible-spans.ts";
import { readStack } from "../src/features/runs/read-stack.ts";
import { runCommands, runsCommands, shellWord, startCommands } from "../src/features/runs/commands-of.ts";

type Told = readonly [kind: RunEvent["kind"], second: number, attributes?: object, attempt?: number];
const eventsOf = (told: readonly Told[]): RunEvent[] =>
  told.map(([kind, second, attributes = {}, attempt = 1], index) => ({
    id: String(index + 1),
    run_id: "run_x",
    attempt_number: attempt,
    kind,
    severity: "info",
    message: "",
    attributes: attributes as RunEvent["attributes"],
    at: new Date(second * 1000).toISOString(),
  }));
const NONE: ReadonlyMap<string, TraceData> = new Map();
const dataOf = (
  told: readonly Told[],
  children: readonly Child[] = [],
  tokens: readonly Made[] = [],
): TraceData => ({ events: eventsOf(told), children, tokens });
const describeSpan = ({ kind, label, tone, fromMs, toMs }: Span): string =>
  `${kind} ${label} ${tone} ${fromMs / 1000}-${toMs === null ? "…" : toMs / 1000}`;
/** The spans as `kind label from-to`, in seconds, `…` where one goes on; what is a part of another is further in. */
const linesOf = (spans: readonly Span[], indent = ""): string[] =>
  spans.flatMap((span) => [`${indent}${describeSpan(span)}`, ...linesOf(span.parts, `${indent}  `)]);
const drawn = (told: readonly Told[], children: readonly Child[] = []): string[] =>
  linesOf(spansOf("run_x", dataOf(told, children), NONE));

describe("the timeline of a run", () => {
  const start: Told[] = [
    ["run.created", 0],
    ["run.queued", 0],
    ["run.leased", 1],
    ["run.started", 2],
  ];
  const cases: readonly [name: string, told: readonly Told[], bars: readonly string[]][] = [
    ["nothing", [], []],
    ["a run that waits for a worker", start.slice(0, 2), ["queued Queued neutral 0-…"]],
    ["a run at work", start, ["queued Queued neutral 0-2", "attempt Attempt 1 info 2-…"]],
    [
      "a run that succeeded",
      [...start, ["run.succeeded", 5]],
      ["queued Queued neutral 0-2", "attempt Attempt 1 good 2-5"],
    ],
    [
      "a step whose report was faster than that of the beginning",
      [...start, ["step.completed", 3, { step: "fetch", duration_ms: 1500 }]],
      ["queued Queued neutral 0-2", "attempt Attempt 1 info 2-…", "  step fetch good 2-3"],
    ],
    [
      "two attempts",
      [
        ...start,
        ["run.retry_delayed", 3],
        ["run.queued", 4],
        ["run.started", 5, {}, 2],
        ["run.failed", 6, {}, 2],
      ],
      [
        "queued Queued neutral 0-2",
        "attempt Attempt 1 bad 2-3",
        "delayed Delay before the next attempt warn 3-4",
        "queued Queued neutral 4-5",
        "attempt Attempt 2 bad 5-6",
      ],
    ],
    [
      "steps, told at their ends",
      [
        ...start,
        ["step.failed", 4, { step: "fetch", try: 1, duration_ms: 1500 }],
        ["step.completed", 6, { step: "fetch", try: 2, duration_ms: 500 }],
      ],
      [
        "queued Queued neutral 0-2",
        "attempt Attempt 1 info 2-…",
        "  step fetch good 2.5-6",
        "    try Try 1 warn 2.5-4",
        "    try Try 2 good 5.5-6",
      ],
    ],
    [
      "a wait, parked",
      [
        ...start,
        ["wait.created", 3, { name: "approval", position: 1 }],
        ["run.waiting", 3],
        ["wait.resolved", 8, { position: 1 }],
        ["run.resumed", 8],
      ],
      ["queued Queued neutral 0-2", "attempt Attempt 1 info 2-…", "  wait approval accent 3-8"],
    ],
    [
      "a wait, suspended",
      [
        ...start,
        ["wait.created", 3, { kind: "timer", position: 1 }],
        ["run.waiting", 3],
        ["run.suspended", 4],
        ["wait.timed_out", 50, { position: 1 }],
        ["run.queued", 50],
        ["run.leased", 51],
        ["run.resumed", 52],
        ["run.succeeded", 53],
      ],
      [
        "queued Queued neutral 0-2",
        "attempt Attempt 1 neutral 2-4",
        "  wait timer warn 3-50",
        "suspended Suspended neutral 4-50",
        "queued Queued neutral 50-52",
        "attempt Attempt 1, resumed good 52-53",
      ],
    ],
    [
      "a lost lease",
      [...start, ["lease.lost", 17], ["run.queued", 17], ["run.started", 18, {}, 2]],
      [
        "queued Queued neutral 0-2",
        "attempt Attempt 1 warn 2-17",
        "queued Queued neutral 17-18",
        "attempt Attempt 2 info 18-…",
      ],
    ],
    [
      "a cancelled run's open waits end with it",
      [
        ...start,
        ["wait.created", 3, { name: "w", position: 1 }],
        ["run.cancel_requested", 4],
        ["run.cancelled", 5],
      ],
      ["queued Queued neutral 0-2", "attempt Attempt 1 neutral 2-5", "  wait w accent 3-5"],
    ],
    [
      "attributes that make no sense",
      [
        ["step.completed", 1, { step: 7, duration_ms: "long" }],
        ["wait.resolved", 2],
      ],
      ["step step good 1-1"],
    ],
  ];
  for (const [name, told, bars] of cases) test(name, () => assert.deepEqual(drawn(told), bars));

  const child = (id: string, second: number): Child => ({
    ...{ id, task: "part", actor: null, status: "running" },
    created_at: new Date(second * 1000).toISOString(),
    finished_at: null,
  });

  test("has the runs that it started, in the attempt that did", () => {
    assert.deepEqual(drawn(start, [child("run_c", 3)]).slice(1), [
      "attempt Attempt 1 info 2-…",
      "  child part info 3-…",
    ]);
  });

  test("has what these did, once it is known, under keys that nothing else has", () => {
    const known = new Map([
      ["run_c", dataOf([...start, ["step.completed", 5, { step: "s" }]], [child("run_d", 4)])],
      ["run_d", dataOf(start)],
    ]);
    const spans = spansOf("run_x", dataOf(start, [child("run_c", 3)]), known);
    assert.deepEqual(linesOf(spans).slice(2), [
      "  child part info 3-…",
      "    queued Queued neutral 0-2",
      "    attempt Attempt 1 info 2-…",
      "      child part info 4-…",
      "        queued Queued neutral 0-2",
      "        attempt Attempt 1 info 2-…",
      "      step s good 5-5",
    ]);
    const path = pathTo(spans, "run_c/run_d/e4");
    assert.deepEqual(
      path.map(({ key, runId }) => [key, runId]),
      [
        ["e4", "run_x"],
        ["run_c", "run_c"],
        ["run_c/e4", "run_c"],
        ["run_c/run_d", "run_d"],
        ["run_c/run_d/e4", "run_d"],
      ],
    );
  });

  test("has the tokens that it made, from then until they were settled", () => {
    const token = (status: Made["status"], madeAt: number, settledAt: number): Made => ({
      ...{ id: `tok_${status}`, status },
      created_at: new Date(madeAt * 1000).toISOString(),
      updated_at: new Date(settledAt * 1000).toISOString(),
    });
    const tokens = [token("pending", 3, 3), token("completed", 4, 9), token("expired", 1, 5)];
    const spans = spansOf("run_x", dataOf(start, [], tokens), NONE, "run_x/");
    assert.deepEqual(linesOf(spans).slice(1), [
      "token tok_expired warn 1-5",
      "attempt Attempt 1 info 2-…",
      "  token tok_pending accent 3-…",
      "  token tok_completed good 4-9",
    ]);
    assert.equal(pathTo(spans, "run_x/tok_completed").length, 2);
  });

  test("has what an attempt wrote into a stream as one span", () => {
    const wrote = (second: number, stream: string): Told => [
      "output.appended",
      second,
      { stream, records: 2 },
    ];
    const told: Told[] = [...start, wrote(3, "a"), wrote(4, "b"), wrote(6, "a")];
    assert.deepEqual(drawn(told).slice(2), ["  output a info 3-6", "  output b info 4-4"]);
  });

  test("tells a step that is made again from another of the same name", () => {
    const step = (second: number, position: number, kind: "completed" | "failed"): Told => [
      `step.${kind}`,
      second,
      { step: "s", position, try: 1 },
    ];
    assert.deepEqual(
      drawn([...start, step(3, 1, "failed"), step(4, 2, "completed"), step(5, 1, "completed")]).slice(2),
      ["  step s good 3-5", "    try Try 1 warn 3-3", "    try Try 1 good 5-5", "  step s good 4-4"],
    );
  });

  describe("shows its spans as a tree", () => {
    const told: Told[] = [
      ...start,
      ["step.failed", 4, { step: "fetch", try: 1 }],
      ["step.completed", 6, { step: "fetch", try: 2 }],
    ];
    const spans = spansOf("run_x", dataOf(told, [child("run_c", 7)]), NONE);
    const shown = (opened: readonly [string, boolean][], selected?: string): string[] =>
      visibleSpans(spans, new Map(opened), selected).map(
        ({ span, level, place, siblings, isOpen }) =>
          `${level} ${place}/${siblings} ${span.key}${isOpen === null ? "" : isOpen ? " open" : " closed"}`,
      );

    test("attempts are open, and steps and runs are not", () => {
      assert.deepEqual(shown([]), ["1 1/2 e1", "1 2/2 e4 open", "2 1/2 e5 closed", "2 2/2 run_c closed"]);
    });

    test("what was opened and closed by hand stays so", () => {
      assert.deepEqual(shown([["e4", false]]), ["1 1/2 e1", "1 2/2 e4 closed"]);
      assert.deepEqual(shown([["e5", true]]).slice(2, 5), ["2 1/2 e5 open", "3 1/2 t5", "3 2/2 t6"]);
    });

    test("what is selected is in sight, and the runs that it is in are read", () => {
      assert.deepEqual(shown([], "t6").slice(2, 5), ["2 1/2 e5 open", "3 1/2 t5", "3 2/2 t6"]);
      assert.deepEqual(openChildren(new Map(), "run_c/run_d/e4"), ["run_c", "run_d"]);
      assert.deepEqual(openChildren(new Map([["run_c", false]]), "run_c/e4"), []);
      assert.deepEqual(
        openChildren(
          new Map([
            ["run_c", true],
            ["e5", true],
          ]),
          undefined,
        ),
        ["run_c"],
      );
    });
  });

  test("its axis begins with the first and ends with the last, or now", () => {
    const { fromMs, toMs } = traceOf(spansOf("run_x", dataOf(start), NONE), 9000);
    assert.deepEqual([fromMs, toMs], [0, 9000]);
    const ended = traceOf(spansOf("run_x", dataOf([...start, ["run.succeeded", 5]]), NONE), 9000);
    assert.deepEqual([ended.fromMs, ended.toMs], [0, 5000]);
  });

  test("has a few round times at its axis, however long it is", () => {
    for (const lengthMs of [1, 40, 999, 5_000, 61_000, 3_600_000, 90_000_000, 31_536_000_000]) {
      const ticks = ticksOf(lengthMs);
      assert.ok(ticks.length >= 1 && ticks.length <= 7, `${lengthMs}: ${ticks.join()}`);
      assert.equal(ticks[0], 0);
      assert.ok((ticks.at(-1) ?? 0) <= lengthMs);
    }
    assert.deepEqual(ticksOf(61_000), [0, 15_000, 30_000, 45_000, 60_000]);
  });
});

test("a stack's frames of one's own code are told from others", () => {
  const stack = `Error: no
    at work (/app/src/work.ts:3:9)
    at Module._compile (node:internal/modules/cjs/loader:1)
    at call (/app/node_modules/left-pad/index.js:1:1)
    at async Promise.all (index 0)
    at async run (src/main.ts:9:1)`;
  assert.deepEqual(
    readStack(stack).map(({ isOwn }) => isOwn),
    [false, true, false, false, false, true],
  );
});

describe("what is seen, as a command", () => {
  test("a word is one word of a shell, whatever is in it", () => {
    assert.deepEqual(["plain", "", "a b", "it's", "$(rm)", "a\nb"].map(shellWord), [
      "plain",
      "''",
      "'a b'",
      "'it'\\''s'",
      "'$(rm)'",
      "'a\nb'",
    ]);
  });

  test("names what the page shows", () => {
    const { curl, keelson } = runsCommands({ status: ["failed"], tag: ["it's; $x"] }, "http://h", 0);
    assert.match(curl, /^curl -sS 'http:\/\/h\/v1\/runs\?status=failed&tag=it%27s%3B\+%24x' \\\n/);
    assert.equal(keelson, "keelson run list --status failed --tag 'it'\\''s; $x'");
    assert.equal(runsCommands({ session_id: "sess_x" }, "http://h", 0).keelson, null);
    assert.equal(runsCommands({ tag: ["a\u001b[2J"] }, "http://h", 0).keelson, null);
    const run = runCommands("run_x", "logs", "http://h");
    assert.equal(run.keelson, "keelson run logs run_x");
    assert.equal(run.sdk, `for await (const chunk of client.runs.logs("run_x")) console.log(chunk.data);`);
    assert.equal(
      runsCommands({ status: ["failed"], session_id: "sess_x" }, "http://h", 0).sdk,
      `for await (const run of client.runs.list({ status: ["failed"], sessionId: "sess_x" })) console.log(run.id);`,
    );
  });

  test("starts a run again by its payload", () => {
    const request = { of: { task: "t" }, payload: { a: "it's" }, options: {} };
    const { curl, keelson, sdk } = startCommands(request, "http://h");
    assert.match(curl, /-d '\{"payload":\{"a":"it'\\''s"\}\}'$/);
    assert.equal(keelson, `keelson task start t --payload '{"a":"it'\\''s"}'`);
    assert.equal(sdk, `await client.tasks.start("t", { a: "it's" });`);
  });

  test("starts it with the same options in a shell, by the command line and by the SDK", () => {
    const options = {
      tags: ["a", "b c"],
      queue: "q",
      concurrency_key: "k",
      priority: -5,
      workspace_id: "ws_1",
    };
    const { curl, keelson, sdk } = startCommands(
      { of: { actor: "chat" }, payload: "hi, {you}", options },
      "http://h",
    );
    assert.match(curl, /^curl -sS http:\/\/h\/v1\/actors\/chat\/start /);
    assert.match(curl, /-d '\{"input":"hi, \{you\}","tags":\["a","b c"\],"queue":"q",/);
    assert.equal(
      keelson,
      `keelson actor start chat --input '"hi, {you}"' --tag a --tag 'b c' --queue q --concurrency-key k --priority -5 --workspace ws_1`,
    );
    assert.equal(
      sdk,
      `await client.actors.start("chat", "hi, {you}", { tags: ["a", "b c"], queue: "q", concurrencyKey: "k", priority: -5, workspaceId: "ws_1" });`,
    );
  });

  test("is no program where a text of others has what is not seen", () => {
    const { sdk } = startCommands({ of: { task: "t" }, payload: "a\u2028b", options: {} }, "http://h");
    assert.equal(sdk, null);
    assert.equal(
      startCommands({ of: { task: "t" }, payload: undefined, options: {} }, "http://h").sdk,
      `await client.tasks.start("t");`,
    );
  });
});
