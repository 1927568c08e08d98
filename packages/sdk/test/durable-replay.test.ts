import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import type { ExecuteResult, JournalEntry } from "@keelson/contract";
import { actor, task } from "@keelson/sdk";
import { has, programs, runProgram, type Node, type Scene, type Trace } from "./support/durable-program.ts";
import { Execution, type ExecutionOptions } from "./support/execution.ts";
import { KeptRun } from "./support/kept-run.ts";
import { Lanes } from "./support/lanes.ts";
import { testWorker } from "./support/test-worker.ts";
import { isLong, newSeed } from "../../server/test/support/seeded-random.ts";

const PROGRAMS = isLong() ? 60 : 6;

fc.configureGlobal({ seed: newSeed() });

let lanes: Lanes;
before(async () => {
  lanes = new Lanes(await testWorker());
});

let program: Node[] = [];
/** By run. */
const scenes = new Map<string, Scene>();
task({
  id: "replayed-program",
  run: (_payload, { run }) => runProgram(program, scenes.get(run.id) as Scene),
});
const listener = actor({ id: "other-session", run: () => undefined });

/** Whole numbers below `limit`, the same for the same seed. */
function seeded(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % limit;
  };
}

type Finished = {
  result: ExecuteResult;
  traces: Trace[];
  calls: number;
  journal: Pick<JournalEntry, "kind" | "name" | "value" | "error">[];
  /** Input that the other session has. */
  sent: unknown[];
};

/** Settles a wait of the run, or lets time pass. `pick` says which. */
async function settleOne(run: KeptRun, pick: (limit: number) => number): Promise<void> {
  const pending = run.pending();
  const wait = pending[pick(pending.length)];
  if (wait?.kind !== "token") return lanes.time();
  run.told.add(wait.position);
  await run.completeToken(wait.token_id ?? "", 1);
}

/**
 * Executes the program until it ends. Waits settle in an order of the seed, now while the code works, now when it is
 * parked or suspended. `options` are of the first execution.
 */
async function finish(seed: number, options: ExecutionOptions): Promise<Finished> {
  const pick = seeded(seed);
  const other = new KeptRun({ kind: "actor", id: listener.id }, { delay: "3000d" });
  const { session } = await other.started();
  const run = new KeptRun({ kind: "task", id: "replayed-program" });
  const { id } = await run.started();
  const traces: Trace[] = [];
  let calls: number | null = null;
  let unsaid: ExecuteResult | null = null;
  let applied = 0;
  for (let execution = 0; ; execution += 1) {
    const trace: Trace = { seen: [], effects: [] };
    traces.push(trace);
    scenes.set(id, { seed, otherSession: session.id, trace });
    const delays = seeded(seed + execution);
    const mayDie = execution === 0 || (options.dieAt === "end" && unsaid === null);
    const always = { isTimeVirtual: true, delayOf: () => delays(3) };
    const running = new Execution(run, { ...always, ...(mayDie ? options : {}) });
    const result = await goOn(run, running, pick);
    calls ??= running.callCount;
    if (unsaid !== null)
      assert.ok(run.applied.slice(applied).every(({ kind }) => kind === "waits" || kind === "steps"));
    if (result === null) unsaid ??= running.result;
    applied = run.applied.length;
    if (result !== null && result.outcome !== "suspended") {
      if (unsaid !== null) assert.deepEqual(result, unsaid);
      scenes.delete(id);
      run.end();
      const sent = (await other.records("inputs", "input")).map(({ data }) => data);
      return { result, traces, calls, journal: await run.journal(), sent };
    }
    while (!(await run.isReady()) || (run.pending().length > 0 && pick(3) === 0)) await settleOne(run, pick);
  }
}

/** Until the execution has ended. */
async function goOn(
  run: KeptRun,
  running: Execution,
  pick: (limit: number) => number,
): Promise<ExecuteResult | null> {
  for (;;) {
    const parked = running.parked().then(() => "parked" as const);
    const result = await Promise.race([running.ended, parked]);
    if (result !== "parked") return result;
    // It may have gone on since.
    if (!running.isParked || run.pending().length === 0) continue;
    if (pick(2) === 0 && running.suspend()) return running.ended;
    const told = run.told.size;
    while (run.told.size === told) await settleOne(run, pick);
  }
}

function check({ result, traces, journal, sent }: Finished): void {
  assert.equal(result.outcome, "succeeded", JSON.stringify(result));
  const { output } = result as { output: string };
  const last = traces.at(-1) as Trace;
  // A failed step that the code has done nothing after is not in the journal, and may come later in the next execution.
  if (!has(program, "failing")) {
    for (const { seen } of traces) assert.deepEqual(seen, last.seen.slice(0, seen.length));
  }
  const values = journal.filter(({ kind }) => kind === "value").map(({ value }) => value);
  for (const { effects } of traces)
    for (const { drawn } of effects) for (const value of drawn) assert.ok(values.includes(value));
  for (const value of JSON.parse(output) as number[]) assert.ok(values.includes(value));
  assert.equal(new Set(sent).size, sent.length);
  assert.equal(sent.length, journal.filter(({ kind }) => kind === "input").length);
  const completed = journal.filter(({ kind, error }) => kind === "step" && error === null);
  for (const { name } of completed) {
    const runs = traces.filter(({ effects }) => effects.some((effect) => effect.step === name));
    assert.ok(runs.length <= traces.length && (name.startsWith("after") || runs.length > 0));
  }
}

test("a program of durable calls, cut off at any call and replayed, goes the same way and has each effect once", async () => {
  await fc.assert(
    fc.asyncProperty(programs, fc.integer({ min: 0, max: 1_000_000 }), async (generated, seed) => {
      program = generated;
      const [uncut] = await lanes.run([() => finish(seed, {})]);
      check(uncut as Finished);
      // Replayed after its end, it asks for nothing new.
      const deaths: ExecutionOptions["dieAt"][] = ["end"];
      for (let call = 0; call < (uncut?.calls ?? 0); call += 1)
        for (const applied of [false, true]) deaths.push({ call, applied });
      const cut = await lanes.run(
        deaths.map((dieAt) => () => finish(seed, dieAt === undefined ? {} : { dieAt })),
      );
      for (const finished of cut) check(finished);
    }),
    { numRuns: PROGRAMS, endOnFailure: true },
  );
});
