import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ExecuteResult } from "@keelson/contract";
import { task } from "@keelson/sdk";
import { DurableServer } from "./support/durable-server.ts";
import { has, programs, runProgram, type Node, type Trace } from "./support/durable-program.ts";
import { Execution, type ExecutionOptions } from "./support/execution.ts";
import { newSeed } from "../../server/test/support/seeded-random.ts";

fc.configureGlobal({ seed: newSeed() });

let program: Node[] = [];
let trace: Trace = { seen: [], effects: [] };
task({ id: "replayed-program", run: () => runProgram(program, trace) });

/** Whole numbers below `limit`, the same for the same seed. */
function seeded(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % limit;
  };
}

type Finished = { result: ExecuteResult; traces: Trace[]; calls: number };

/**
 * Executes the program until it ends. Waits settle in an order of the seed, now while the code works, now when it is
 * parked or suspended. `options` are of the first execution.
 */
async function finish(server: DurableServer, seed: number, options: ExecutionOptions): Promise<Finished> {
  const pick = seeded(seed);
  const traces: Trace[] = [];
  const settleOne = (): void => {
    const pending = server.pendingWaits();
    const wait = pending[pick(pending.length)];
    if (wait?.kind === "token") server.completeToken(wait.name, 1);
    else if (wait !== undefined) server.settle(wait.position, "resolved");
  };
  for (let execution = 0; ; execution += 1) {
    trace = { seen: [], effects: [] };
    traces.push(trace);
    const delays = seeded(seed + execution);
    const running = new Execution(server, "replayed-program", {
      delayOf: () => delays(3),
      ...(execution === 0 ? options : {}),
    });
    let result: ExecuteResult | null | "parked";
    do {
      result = await Promise.race([running.ended, running.parked().then(() => "parked" as const)]);
      if (result === "parked") {
        if (pick(2) === 0) running.suspend();
        settleOne();
      }
    } while (result === "parked");
    if (result !== null && result.outcome !== "suspended")
      return { result, traces, calls: running.callCount };
    if (pick(2) === 0) settleOne();
  }
}

function check(server: DurableServer, { result, traces }: Finished): void {
  assert.equal(result.outcome, "succeeded", JSON.stringify(result));
  const { output } = result as { output: string };
  const last = traces.at(-1) as Trace;
  // A failed step that the code has done nothing after is not in the journal, and may come later in the next execution.
  if (!has(program, "failing")) {
    for (const { seen } of traces) assert.deepEqual(seen, last.seen.slice(0, seen.length));
  }
  const values = server.journal.filter(({ kind }) => kind === "value").map(({ value }) => value);
  for (const { effects } of traces)
    for (const { drawn } of effects) for (const value of drawn) assert.ok(values.includes(value));
  for (const value of JSON.parse(output) as number[]) assert.ok(values.includes(value));
  const sent = server.inputs.map(({ data }) => data);
  assert.equal(new Set(sent).size, sent.length);
  const completed = server.journal.filter(({ kind, error }) => kind === "step" && error === null);
  for (const { name } of completed) {
    const runs = traces.filter(({ effects }) => effects.some((effect) => effect.step === name));
    assert.ok(runs.length <= traces.length && (name.startsWith("after") || runs.length > 0));
  }
}

test("a program of durable calls, cut off at any call and replayed, goes the same way and has each effect once", async () => {
  await fc.assert(
    fc.asyncProperty(programs, fc.integer({ min: 0, max: 1_000_000 }), async (generated, seed) => {
      program = generated;
      const whole = new DurableServer();
      const uncut = await finish(whole, seed, {});
      check(whole, uncut);
      // Replayed after its end, it asks for nothing new.
      const calls = whole.applied.length;
      const again = await finish(whole, seed, {});
      assert.deepEqual(again.result, uncut.result);
      assert.ok(whole.applied.slice(calls).every(({ kind }) => kind === "waits" || kind === "steps"));
      for (let call = 0; call < uncut.calls; call += 1) {
        for (const applied of [false, true]) {
          const server = new DurableServer();
          check(server, await finish(server, seed, { dieAt: { call, applied } }));
        }
      }
    }),
    { numRuns: 60 },
  );
});
