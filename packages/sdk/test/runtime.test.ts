import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExecuteInput, ExecuteResult } from "@keelson/contract";
import { NonRetryableError, queue, RetryAfterError, task, type RunContext, UsageError } from "@keelson/sdk";
import { keelson } from "@keelson/sdk/runtime";
import { z } from "zod";

let nextId = 0;
const freshId = (): string => `task-${(nextId += 1)}`;

type Recorded = { lines: [string, string][]; changes: unknown[] };

async function execute(
  id: string,
  payload: unknown,
  options: {
    signal?: AbortSignal;
    metadata?: Record<string, unknown>;
    kind?: "actor";
    secrets?: Record<string, string>;
  } = {},
): Promise<ExecuteResult & Recorded> {
  const recorded: Recorded = { lines: [], changes: [] };
  const input: ExecuteInput = {
    entrypoint: { kind: options.kind ?? "task", declaredId: id },
    run: {
      id: "run_1",
      project_id: "proj_1",
      environment_id: "env_1",
      task: id,
      actor: null,
      attempt_number: 2,
      max_attempts: 3,
      payload,
      metadata: options.metadata ?? {},
      tags: ["a"],
      queue: "default",
      created_at: "2026-11-20T09:15:00.123Z",
      deployment_id: "dep_1",
      deployment_version: "20261120.1",
      session_id: null,
      turn: null,
      parent_run_id: null,
      schedule_id: null,
      workspace_id: null,
    },
    secrets: options.secrets ?? {},
    journal: [],
    waits: [],
    session: null,
    signal: options.signal ?? new AbortController().signal,
    host: {
      log: (stream, text) => void recorded.lines.push([stream, text]),
      event: () => undefined,
      metadata: (changes) => void recorded.changes.push(...changes),
      call: () => Promise.reject(new Error("no durable call was expected")),
      onSettled: () => undefined,
      onSuspend: () => undefined,
    },
  };
  return { ...(await keelson.execute(input)), ...recorded };
}

/** Declares a task around `run`, executes it once, and gives the ending. */
async function attempt(
  run: (payload: unknown, ctx: RunContext) => unknown,
  options: Parameters<typeof execute>[2] = {},
) {
  const { id } = task({ id: freshId(), run });
  return execute(id, null, options);
}

function failureOf(result: ExecuteResult) {
  assert.equal(result.outcome, "failed");
  return result.failure;
}

test("a run's output is JSON text, and null when nothing is returned", async () => {
  assert.partialDeepStrictEqual(await attempt(() => ({ a: [1] })), {
    outcome: "succeeded",
    output: '{"a":[1]}',
  });
  assert.partialDeepStrictEqual(await attempt(() => undefined), { outcome: "succeeded", output: null });
  assert.partialDeepStrictEqual(await attempt(async () => null), { outcome: "succeeded", output: "null" });
});

test("an output that is not JSON fails the run without a retry and says where", async () => {
  const cycle: Record<string, unknown> = { list: [] };
  (cycle["list"] as unknown[]).push(cycle);
  let deep: unknown = 1;
  for (let i = 0; i < 80; i += 1) deep = [deep];
  for (const [value, message] of [
    [{ items: [{ n: 1n }] }, /a BigInt at output\.items\[0\]\.n/],
    [cycle, /a cycle at output\.list\[0\]/],
    [() => 1, /is not JSON: a function/],
    [deep, /more than 64 levels/],
    ["x".repeat(600_000), /600002 bytes of JSON; the limit is 524288/],
    [
      {
        get a() {
          throw new Error("hostile");
        },
      },
      /cannot be read/,
    ],
  ] as const) {
    const failure = failureOf(await attempt(() => value));
    assert.match(failure.message, message);
    assert.deepEqual([failure.kind, failure.retryable], ["application_error", false]);
  }
});

test("everything that can be thrown becomes a failure", async () => {
  const cause = new Error("disk full");
  const failure = failureOf(
    await attempt(() => {
      throw new TypeError("cannot write", { cause });
    }),
  );
  assert.equal(failure.message, "cannot write");
  assert.match(failure.stack ?? "", /TypeError: cannot write[\s\S]*\[cause\] Error: disk full/);
  assert.equal(failure.retryable, true);
  for (const [thrown, message] of [
    ["text", "Thrown string: text"],
    [undefined, "Thrown undefined: undefined"],
    [null, "Thrown null: null"],
    [{ code: 7 }, 'Thrown object: {"code":7}'],
    [3n, "Thrown bigint: [object BigInt]"],
    [Object.assign(new RangeError("x"), { message: "" }), "RangeError"],
  ] as const) {
    assert.equal(
      failureOf(
        await attempt(() => {
          // oxlint-disable-next-line typescript/only-throw-error -- what a user's code may do
          throw thrown;
        }),
      ).message,
      message,
    );
  }
  const hostile = failureOf(
    await attempt(() => {
      throw Object.defineProperty(new Error("x"), "stack", {
        get() {
          throw new Error("no");
        },
      });
    }),
  );
  assert.match(hostile.message, /cannot be read/);
  assert.equal(
    failureOf(
      await attempt(() => {
        throw new Error("a\u0000b\ud800");
      }),
    ).message,
    "a\uFFFDb\uFFFD",
  );
});

test("a thrown error can refuse or delay the retry", async () => {
  assert.equal(
    failureOf(
      await attempt(() => {
        throw new NonRetryableError("no such customer");
      }),
    ).retryable,
    false,
  );
  assert.partialDeepStrictEqual(
    failureOf(
      await attempt(() => {
        throw new RetryAfterError("busy", "90s");
      }),
    ),
    { retryable: true, retryAfterMs: 90_000 },
  );
  assert.equal(
    failureOf(
      await attempt(() => {
        throw new RetryAfterError("busy", 250);
      }),
    ).retryAfterMs,
    250,
  );
});

test("a payload is parsed by its schema, and one that does not fit fails with its path", async () => {
  const { id } = task({
    id: freshId(),
    payload: z.object({ items: z.array(z.coerce.number()), note: z.string().default("none") }),
    run: (payload) => payload,
  });
  assert.partialDeepStrictEqual(await execute(id, { items: ["4"] }), {
    outcome: "succeeded",
    output: '{"items":[4],"note":"none"}',
  });
  const failure = failureOf(await execute(id, { items: [1, "x"] }));
  assert.equal(failure.kind, "payload_invalid");
  assert.equal(failure.retryable, false);
  assert.match(failure.message, /items\.1: /);
});

test("a start without a payload reaches a schema that takes undefined as undefined", async () => {
  const { id } = task({
    id: freshId(),
    payload: z.object({ a: z.number() }).optional(),
    run: (payload) => payload === undefined,
  });
  assert.partialDeepStrictEqual(await execute(id, null), { output: "true" });
});

test("an aborted run ends as what aborted it, whatever the code returned or threw", async () => {
  const aborted = (reason: Error) => AbortSignal.abort(reason);
  const timeout = Object.assign(new Error("max_duration of 5s is over"), { name: "TimeoutError" });
  assert.equal((await attempt(() => 1, { signal: aborted(new Error("cancelled")) })).outcome, "cancelled");
  assert.partialDeepStrictEqual(failureOf(await attempt(() => 1, { signal: aborted(timeout) })), {
    kind: "timed_out",
    message: "max_duration of 5s is over",
  });
  const controller = new AbortController();
  const later = attempt(
    (_payload, ctx) =>
      new Promise((_resolve, reject) =>
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error)),
      ),
    { signal: controller.signal },
  );
  setImmediate(() => controller.abort(new Error("cancelled")));
  assert.equal((await later).outcome, "cancelled");
});

test("an entrypoint that the bundle does not declare is a bundle error", async () => {
  assert.partialDeepStrictEqual(failureOf(await execute("nowhere", null)), {
    kind: "bundle_error",
    retryable: false,
  });
  assert.match(failureOf(await execute("talk", null, { kind: "actor" })).message, /no actor "talk"/);
});

test("the context says which run and attempt it is", async () => {
  const result = await attempt((_payload, { run, attempt }) => ({ ...run, attempt }));
  assert.equal(result.outcome, "succeeded");
  assert.partialDeepStrictEqual(JSON.parse((result as { output: string }).output), {
    id: "run_1",
    tags: ["a"],
    createdAt: "2026-11-20T09:15:00.123Z",
    attempt: { number: 2, max: 3 },
  });
});

test("each call of the logger is one line with its level and attributes", async () => {
  const self: Record<string, unknown> = {};
  self["self"] = self;
  const { lines } = await attempt((_payload, { logger }) => {
    logger.debug("begin");
    logger.info("two\nlines", { n: 1n, shared: [self["x"], { a: 1 }] });
    logger.warn("odd", self);
    logger.error("broken", { error: new RangeError("too far") });
    logger.info("hostile", {
      toJSON() {
        throw new Error("no");
      },
    });
  });
  assert.deepEqual(lines.slice(0, 3), [
    ["stdout", "DEBUG begin\n"],
    ["stdout", 'INFO two\\nlines {"n":"1","shared":[null,{"a":1}]}\n'],
    ["stderr", 'WARN odd {"self":"[Circular]"}\n'],
  ]);
  assert.match(
    lines[3]?.[1] ?? "",
    /^ERROR broken \{"error":\{"name":"RangeError","message":"too far","stack":".*\}\}\n$/,
  );
  assert.match(lines[4]?.[1] ?? "", /attributes_error/);
});

test("metadata is seen at once and sent as changes", async () => {
  const result = await attempt(
    (_payload, { metadata }) => {
      metadata.set("step", { name: "read" });
      metadata.increment("files");
      metadata.increment("files", 4);
      metadata.append("log", "a");
      metadata.remove("old");
      metadata.set("__proto__", 1);
      assert.throws(() => metadata.set("n", 1n), UsageError);
      assert.throws(() => metadata.append("files", 1), UsageError);
      assert.throws(() => metadata.increment("log"), UsageError);
      assert.throws(() => metadata.set("big", "x".repeat(17_000)), UsageError);
      return metadata.get("files");
    },
    { metadata: { old: true } },
  );
  assert.partialDeepStrictEqual(result, { output: "5" });
  assert.deepEqual(result.changes, [
    { op: "set", key: "step", value: { name: "read" } },
    { op: "increment", key: "files", value: 1 },
    { op: "increment", key: "files", value: 4 },
    { op: "append", key: "log", value: "a" },
    { op: "remove", key: "old" },
    { op: "set", key: "__proto__", value: 1 },
  ]);
});

test("the manifest has what was declared, in the wire's form", () => {
  const reports = queue({ name: "reports/slow", concurrencyLimit: 2 });
  task({
    id: "manifest-example",
    description: "An example",
    payload: z.object({ path: z.string() }),
    queue: reports,
    retry: { maxAttempts: 5, initialDelay: 500, maxDelay: "1m", factor: 3, jitter: false },
    maxDuration: "5m",
    ttl: "1h",
    execution: "shared",
    memoryMb: 256,
    secrets: ["API_KEY"],
    isolation: "namespace",
    folders: ["/srv/models", { path: "/srv/out", writable: true }],
    mcp: { description: "Makes an example." },
    run: ({ path }) => path,
  });
  task({ id: "manifest-plain", payload: { type: "object" }, run: () => 1 });
  task({ id: "manifest-transform", payload: z.string().transform((text) => text.length), run: (n) => n });
  const { tasks, queues } = keelson.manifest();
  const { payload_schema: schema, ...rest } = tasks.find(({ id }) => id === "manifest-example") ?? { id: "" };
  assert.partialDeepStrictEqual(schema, {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
  });
  assert.deepEqual(rest, {
    id: "manifest-example",
    description: "An example",
    queue: "reports/slow",
    retry: { max_attempts: 5, initial_delay: "500ms", max_delay: "1m", factor: 3, jitter: false },
    max_duration: "5m",
    ttl: "1h",
    execution: "shared",
    memory_mb: 256,
    secrets: ["API_KEY"],
    isolation: "namespace",
    folders: [{ path: "/srv/models" }, { path: "/srv/out", writable: true }],
    mcp: { description: "Makes an example." },
  });
  assert.deepEqual(tasks.find(({ id }) => id === "manifest-plain")?.payload_schema, { type: "object" });
  assert.partialDeepStrictEqual(tasks.find(({ id }) => id === "manifest-transform")?.payload_schema, {
    type: "string",
  });
  assert.deepEqual(queues, [{ name: "reports/slow", concurrency_limit: 2 }]);
});

test("a run sees its secrets, and cannot change them", async () => {
  const { output } = (await attempt(
    (_payload, { secrets }) => [secrets["API_KEY"], Object.isFrozen(secrets), secrets["OTHER"] ?? null],
    { secrets: { API_KEY: "swordfish" } },
  )) as { output: string };
  assert.deepEqual(JSON.parse(output), ["swordfish", true, null]);
});

test("a declaration that cannot be used is refused where it stands", () => {
  const { id } = task({ id: freshId(), run: () => 1 });
  assert.throws(() => task({ id, run: () => 2 }), /declared twice/);
  assert.throws(() => task({ id: "has space", run: () => 2 }), UsageError);
  assert.throws(() => task({ id: freshId() } as never), /no run function/);
  assert.throws(
    () => task({ id: "misspelt", retries: 5, run: () => 1 } as never),
    /^UsageError: task\(\): "misspelt": there is no option "retries"; there are id, .*retry, .*run/,
  );
  assert.throws(() => task({ id: freshId(), secrets: ["a-b"], run: () => 2 }), /not a secret's name/);
  queue({ name: "once" });
  assert.throws(() => queue({ name: "once" }), /declared twice/);
  assert.throws(() => queue({ name: "" }), UsageError);
});

test("what zod coerces is described without a type, since callers may send another", () => {
  const payload = z.object({ n: z.coerce.number<string>().min(1), unit: z.string() });
  const { id } = task({ id: freshId(), payload, run: () => 1 });
  const { payload_schema: schema } = keelson.manifest().tasks.find((one) => one.id === id) ?? {};
  assert.deepEqual((schema as { properties: object }).properties, {
    n: { minimum: 1 },
    unit: { type: "string" },
  });
});
