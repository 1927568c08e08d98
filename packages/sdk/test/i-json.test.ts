// A value that JSON cannot hold is refused where the code gives it away, never stored as something else.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  Client,
  sessions,
  step,
  task,
  tokens,
  wait,
  type RunContext,
  type RunSession,
  UsageError,
} from "@keelson/sdk";
import { declare, declareActor, failureOf, outputOf } from "./support/declare.ts";

const HALF = "\ud83d";

/** A value, and what the refusal says of it when it is named `value`. */
const ODD: [unknown, RegExp][] = [
  [{ list: [1, Number.NaN] }, /NaN at [\w.]+\.list\[1\]/],
  [{ sum: Number.POSITIVE_INFINITY }, /Infinity at [\w.]+\.sum/],
  [[-Infinity], /-Infinity at [\w.]+\[0\]/],
  [{ at: new Date(Number.NaN) }, /an invalid Date at [\w.]+\.at/],
  [{ byId: new Map([[1, 2]]) }, /a Map at [\w.]+\.byId; .*Object\.fromEntries/],
  [{ ids: new Set([1]) }, /a Set at [\w.]+\.ids; .*\[\.\.\.set\]/],
  [{ user: Promise.resolve(1) }, /a Promise at [\w.]+\.user; await it/],
  [{ status: "rejected", reason: new Error("boom") }, /an Error at [\w.]+\.reason; .*message/],
  [{ text: `cut ${HALF}` }, /half of a surrogate pair at [\w.]+\.text/],
  [{ text: "a\0b" }, /NUL at [\w.]+\.text/],
  [{ in: { [`k${HALF}`]: 1 } }, /half of a surrogate pair in a key at [\w.]+\.in\./],
  [{ "k\0": 1 }, /NUL in a key at [\w.]+\./],
  [{ n: 1n }, /a BigInt at [\w.]+\.n/],
];

/** What `JSON.stringify` writes as people expect it to. */
const TAKEN: [unknown, unknown][] = [
  [-0, 0],
  [{ at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
  [
    [undefined, null, () => 1],
    [null, null, null],
  ],
  [{ a: undefined, b: {} }, { b: {} }],
  [String.raw`\u0000 \ud800 null {}`, String.raw`\u0000 \ud800 null {}`],
  ["\u{1f600} \u001b[1m", "\u{1f600} \u001b[1m"],
  [{ toJSON: () => ({ nothing: null }) }, { nothing: null }],
];

describe("an output", () => {
  for (const [value, message] of ODD)
    test(`fails the run when it has ${message.source}`, async () => {
      const failure = failureOf(await declare(() => value).ended());
      assert.match(failure.message, message);
      assert.match(failure.message, /The output of ".*" is not JSON: /);
      assert.deepEqual([failure.kind, failure.retryable], ["application_error", false]);
    });

  test("is what JSON.stringify writes of anything else", async () => {
    for (const [value, written] of TAKEN) {
      const output = outputOf(await declare(() => value).ended());
      assert.deepEqual(output, written);
      assert.ok(!Object.is(output, -0));
    }
  });

  test("is read once where a getter or toJSON answers differently each time", async () => {
    let n = 0;
    const output = await declare(() => ({ none: null, toJSON: () => ({ n: (n += 1), none: null }) })).ended();
    assert.deepEqual(outputOf(output), { n, none: null });
  });
});

const child = task({ id: "child", run: (payload: unknown) => payload });

/** Each call that gives a value away. */
const CALLS: Record<string, (value: unknown, ctx: RunContext) => unknown> = {
  "a step's result": (value) => step("odd", () => value),
  "a child's payload": (value) => child.start(value),
  "a called child's payload": (value) => child.call(value),
  "a child's metadata": (value) => child.start(1, { metadata: { value } }),
  "a token's metadata": (value) => tokens.create({ metadata: { value } }),
  "input of another session": (value) => sessions.send("sess_1", value),
  "metadata that is set": (value, ctx) => ctx.metadata.set("key", value),
  "metadata that is appended": (value, ctx) => ctx.metadata.append("list", value),
};

/** The same with texts that are names. */
const NAMES: Record<string, (text: string, ctx: RunContext) => unknown> = {
  "a step's name": (text) => step(text, () => 1),
  "a wait's name": (text) => wait.for("1m", { name: text }),
  "a token's tags": (text) => tokens.create({ tags: [text] }),
  "a child's tags": (text) => child.start(1, { tags: [text] }),
  "a child's concurrency key": (text) => child.start(1, { concurrencyKey: text }),
  "a session's external id": (text) => sessions.send({ externalId: text }, 1),
  "a correlation id": (text) => sessions.send("sess_1", 1, { correlationId: text }),
  "a metadata key": (text, ctx) => ctx.metadata.set(text, 1),
};

/** The errors of calls, which the code sees as any other and may go on after, and what the server was sent. */
async function refusalsOf(
  calls: readonly ((ctx: RunContext) => unknown)[],
): Promise<{ errors: Error[]; sent: string }> {
  const errors: Error[] = [];
  const { run, ended } = declare(async (ctx) => {
    for (const call of calls) {
      try {
        await call(ctx);
      } catch (thrown) {
        errors.push(thrown as Error);
      }
    }
    await step("after", () => "went on");
    return "went on";
  });
  assert.equal(outputOf(await ended()), "went on");
  assert.equal(errors.length, calls.length, "a call was taken");
  return { errors, sent: JSON.stringify([run.applied, await run.journal()]) };
}

describe("a value that JSON cannot hold is refused at the call", () => {
  for (const [what, call] of Object.entries(CALLS))
    test(`as ${what}`, async () => {
      const { errors, sent } = await refusalsOf(
        ODD.map(
          ([value]) =>
            (ctx) =>
              call(value, ctx),
        ),
      );
      for (const [index, [, message]] of ODD.entries()) {
        const error = errors[index] as Error;
        assert.match(error.message.toWellFormed(), message);
        assert.ok(what.includes("step") || error instanceof UsageError, error.name);
      }
      assert.doesNotMatch(sent, /\\u0000|\\ud83d/);
    });

  for (const [what, call] of Object.entries(NAMES))
    test(`as ${what}`, async () => {
      const { errors, sent } = await refusalsOf([`a${HALF}`, "a\0b"].map((text) => (ctx) => call(text, ctx)));
      for (const [index, message] of [/half of a surrogate pair/, /NUL/].entries()) {
        const error = errors[index] as Error;
        assert.ok(error instanceof UsageError, String(error));
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /\0/);
        assert.ok(error.message.isWellFormed());
      }
      assert.doesNotMatch(sent, /\\u0000|\\ud83d/);
    });

  test("as a record, alone or in a pipe", async () => {
    const calls: ((session: RunSession, value: unknown) => Promise<unknown>)[] = [
      ({ output }, value) => output.append(value),
      ({ output }, value) => output("other").pipe([1, value]),
      ({ output }, value) => step("inside", () => output.append(value)),
    ];
    const { run, ended } = declareActor(async (session) => {
      for (const call of calls)
        for (const [value, message] of ODD)
          await assert.rejects(call(session, value), (error: Error) => message.test(error.message));
      return "went on";
    });
    assert.equal(outputOf(await ended()), "went on");
    assert.doesNotMatch(JSON.stringify(await run.journal()), /\\u0000|\\ud83d/);
  });

  test("as the sum of an increment", async () => {
    const {
      errors: [error],
    } = await refusalsOf([
      ({ metadata }) => {
        metadata.set("sum", Number.MAX_VALUE);
        metadata.increment("sum", Number.MAX_VALUE);
      },
    ]);
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /metadata "sum": the sum is more than a number holds/);
  });

  test("by the client, before anything is sent", async () => {
    const client = new Client({ url: "http://127.0.0.1:9", apiKey: "x" });
    for (const [value, message] of ODD) {
      const refused = (error: Error): boolean => error instanceof UsageError && message.test(error.message);
      await assert.rejects(client.tasks.start("a", { value }), refused);
      await assert.rejects(client.tasks.start("a", { value }, { requestTimeout: "1s" }), refused);
      await assert.rejects(client.tokens.complete("tok_1", { value }), refused);
      await assert.rejects(client.sessions.send("sess_1", { value }), refused);
    }
  });
});

test("a log line takes anything and says what it is", async () => {
  const text = `half ${HALF} and \0`;
  const { run, ended } = declare(({ logger }) => {
    const map = new Map<string, unknown>([["a", 1]]);
    logger.info(text, { n: Number.NaN, list: [-Infinity], text, map, set: new Set([2]) });
    logger.info("within itself", { map: map.set("map", { map }) });
  });
  outputOf(await ended());
  assert.match(
    run.lines.join(""),
    /"n":"NaN","list":\["-Infinity"\].*"map":\[\["a",1\]\],"set":\[2\].*\n.*within itself/,
  );
});
