import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import type { ExecuteResult } from "@keelson/contract";
import { task } from "@keelson/sdk";
import { Execution, type ExecutionOptions } from "./support/execution.ts";
import { KeptRun } from "./support/kept-run.ts";
import { Lanes } from "./support/lanes.ts";
import {
  countParts,
  decidedByCalls,
  programs,
  runProgram,
  type Execution as Course,
  type Part,
} from "./support/own-io-program.ts";
import { STEP_MS, STEPS_OF_LOSS, testWorker, type TestWorker } from "./support/test-worker.ts";
import { isLong, newSeed } from "../../server/test/support/seeded-random.ts";

/** Turns of the event loop without anything new, after which only time can bring something. */
const QUIET_TURNS = 5;
const MAX_IO_MS = 5_000;
const PROGRAMS = isLong() ? 1_000 : 6;
const RACING_PROGRAMS = isLong() ? 300 : 4;
/** Of so many processes that die, one dies with its machine, and nobody tells the server. */
const LOST_MACHINE = 7;
/** After which a token is completed that a run waits for. */
const TOKEN_MS = 1_500;

fc.configureGlobal({ seed: newSeed() });

let worker: TestWorker;
let lanes: Lanes;
before(async () => {
  worker = await testWorker();
  lanes = new Lanes(worker);
});

let program: readonly Part[] = [];
/** By run. */
const courses = new Map<string, Course>();
task({
  id: "own-io-program",
  run: (_payload, { run }) => runProgram(program, courses.get(run.id) as Course),
});

/** Whole numbers below `limit`, the same for the same seed. */
function seeded(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % limit;
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type How = { seed: number; suspends: boolean } & Pick<ExecutionOptions, "dieAt" | "isMachineLost">;
type Finished = { run: KeptRun; result: ExecuteResult; calls: number; suspensions: number };

/** Completes each token that the run waits for in time, whether the run is held by a process or not. */
async function completeInTime(run: KeptRun, scheduled: Map<number, number>): Promise<void> {
  for (const { position, kind, token_id } of run.pending()) {
    if (kind !== "token") continue;
    const due = scheduled.get(position);
    if (due === undefined) {
      scheduled.set(position, worker.timers.now + TOKEN_MS);
      run.at(TOKEN_MS, worker);
    } else if (due <= worker.timers.now) {
      scheduled.set(position, Infinity);
      await run.completeToken(token_id ?? "", 1);
    }
  }
}

/** Lets everything happen that needs no time. Gives how the execution ended, or null when it goes on with time. */
async function standStill(running: Execution, course: Course): Promise<ExecuteResult | "died" | null> {
  const now: { ended: ExecuteResult | "died" | null } = { ended: null };
  const ended = running.ended.then((result) => (now.ended = result ?? "died"));
  await Promise.race([running.begun, ended]);
  let seen = -1;
  for (let quiet = 0; quiet < QUIET_TURNS && now.ended === null; quiet += 1) {
    await running.answered();
    const activity = course.activity + running.callCount + running.timerCount;
    if (activity !== seen) quiet = 0;
    seen = activity;
    await turn();
  }
  // Its code has ended: the server is being told.
  return running.result === null && !running.isDead ? now.ended : ended;
}

/** What the journal has decided may not be decided otherwise by a later execution. */
async function checkDecisions(run: KeptRun, course: Course): Promise<void> {
  for (const { name } of await run.journal()) {
    const [, place, winner] = /^after (\S+) (\S+)$/.exec(name) ?? [];
    if (place !== undefined && course.decided.has(place)) assert.equal(course.decided.get(place), winner);
  }
}

/** The server takes the run back from the worker that says nothing of it any more. */
async function outlastLease(run: KeptRun): Promise<void> {
  const over = worker.timers.now + STEPS_OF_LOSS * STEP_MS;
  for (let step = 1; step <= STEPS_OF_LOSS; step += 1) run.at(step * STEP_MS, worker);
  while (worker.timers.now < over) await lanes.time();
}

async function finish({ seed, suspends, ...first }: How): Promise<Finished & { course: Course }> {
  const run = new KeptRun({ kind: "task", id: "own-io-program" });
  const { id } = await run.started();
  const scheduled = new Map<number, number>();
  let suspensions = 0;
  let calls: number | null = null;
  let unsaid: ExecuteResult | null = null;
  for (let execution = 0; ; execution += 1) {
    const pickMs = seeded(seed + execution);
    const course: Course = { nextIoMs: () => pickMs(MAX_IO_MS), decided: new Map(), activity: 0 };
    courses.set(id, course);
    const mayDie = execution === 0 || (first.dieAt === "end" && unsaid === null);
    const running = new Execution(run, { isTimeVirtual: true, ...(mayDie ? first : {}) });
    let ended = await standStill(running, course);
    while (ended === null) {
      await completeInTime(run, scheduled);
      if (suspends && running.isParked && running.suspend()) suspensions += 1;
      else await lanes.time();
      await completeInTime(run, scheduled);
      ended = await standStill(running, course);
    }
    calls ??= running.callCount;
    if (ended === "died") {
      unsaid ??= running.result;
      if (first.isMachineLost === true) await outlastLease(run);
    } else if (ended.outcome !== "suspended") {
      courses.delete(id);
      run.end();
      if (unsaid !== null) assertSame(unsaid, ended);
      return { run, result: ended, calls, suspensions, course };
    }
    await completeInTime(run, scheduled);
    while (run.pending().length > 0 && !(await run.isReady())) {
      await lanes.time();
      await completeInTime(run, scheduled);
    }
  }
}

const counts = { programs: 0, parts: 0, suspensions: 0, positions: 0, executions: 0, loud: 0 };

/** The run ended as its journal says, each call in it once. */
async function check(how: How, mayBeLoud: boolean): Promise<Finished> {
  const { course, ...finished } = await finish(how);
  counts.executions += 1;
  counts.suspensions += finished.suspensions;
  const { run, result } = finished;
  const { status, output } = await run.get();
  if (mayBeLoud && result.outcome === "failed") {
    counts.loud += 1;
    assert.equal(status, "failed");
    assert.equal(result.failure.kind, "nondeterministic_replay");
    assert.match(result.failure.message, /position \d+.*inside a step/);
    return finished;
  }
  assert.equal(result.outcome, "succeeded", JSON.stringify(result));
  assert.deepEqual([status, output], ["succeeded", JSON.parse(result.output ?? "null")]);
  await checkDecisions(run, course);
  const names = (await run.journal()).filter(({ kind }) => kind === "step").map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  const children = await run.children();
  assert.equal(new Set(children.map(({ payload }) => payload)).size, children.length);
  return finished;
}

/** Two executions over one journal. One that failed loudly has ended its run: there is no other to compare. */
function assertSame(first: ExecuteResult, second: ExecuteResult): void {
  if (first.outcome === "succeeded" && second.outcome === "succeeded") assert.deepEqual(second, first);
}

async function checkProgram(parts: readonly Part[], seed: number, mayBeLoud: boolean): Promise<void> {
  program = parts;
  counts.programs += 1;
  counts.parts += countParts(parts);
  // Executed once more when all of it is in the journal: its process dies before it says how the code ended.
  const whole = [false, true].map((suspends) => ({ seed, suspends, dieAt: "end" }) as const);
  const [uncut] = await lanes.run(whole.map((how) => () => check(how, mayBeLoud)));
  const { calls = 0 } = uncut ?? {};
  counts.positions += calls;
  await lanes.run(
    Array.from({ length: calls }, (_, call) => async () => {
      const dieAt = { call, applied: (call + seed) % 2 === 0 };
      const isMachineLost = (call + seed) % LOST_MACHINE === 0;
      await check({ seed, suspends: call % 2 === 0, dieAt, isMachineLost }, mayBeLoud);
    }),
  );
}

/** I/O decides, and another time of it decides otherwise. */
const LOUD: [Part[], number][] = [
  [[{ kind: "any", branches: [[{ kind: "io" }], [{ kind: "io" }]] }], 546_344],
  [[{ kind: "race", branches: [[{ kind: "io" }], [{ kind: "io" }]] }], 3],
];

const report = (): string => JSON.stringify(counts);

test("a program whose races end in durable calls has one outcome, moved at every position, with I/O of 0 to 5 s", async (t) => {
  await fc.assert(
    fc.asyncProperty(programs, fc.integer({ min: 0, max: 1_000_000 }), (parts, seed) =>
      checkProgram(decidedByCalls(parts), seed, false),
    ),
    { numRuns: PROGRAMS, endOnFailure: true },
  );
  t.diagnostic(report());
});

test("a race that I/O of the code's own decides has one outcome, or fails loudly and exactly", async (t) => {
  Object.assign(counts, { programs: 0, parts: 0, suspensions: 0, positions: 0, executions: 0, loud: 0 });
  await fc.assert(
    fc.asyncProperty(programs, fc.integer({ min: 0, max: 1_000_000 }), (parts, seed) =>
      checkProgram(parts, seed, true),
    ),
    { numRuns: RACING_PROGRAMS, examples: LOUD, endOnFailure: true },
  );
  t.diagnostic(report());
  assert.ok(counts.loud > 0, "no race was decided otherwise, so nothing was shown");
});
