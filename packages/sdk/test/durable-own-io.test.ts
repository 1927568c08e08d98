import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import type { ExecuteResult } from "@keelson/contract";
import { task } from "@keelson/sdk";
import { DurableServer } from "./support/durable-server.ts";
import { Execution, type ExecutionOptions } from "./support/execution.ts";
import {
  countParts,
  decidedByCalls,
  programs,
  runProgram,
  type Execution as Course,
  type Part,
} from "./support/own-io-program.ts";
import { VirtualClock } from "./support/virtual-clock.ts";
import { isLong, newSeed } from "../../server/test/support/seeded-random.ts";

/** Turns of the event loop without anything new, after which only time can bring something. */
const QUIET_TURNS = 5;
const MAX_IO_MS = 5_000;
const PROGRAMS = isLong() ? 2_000 : 80;
const RACING_PROGRAMS = isLong() ? 300 : 50;

fc.configureGlobal({ seed: newSeed() });

const clock = new VirtualClock();
before(() => clock.install());
after(() => clock.remove());

let program: readonly Part[] = [];
let course: Course;
task({ id: "own-io-program", run: () => runProgram(program, course) });

/** Whole numbers below `limit`, the same for the same seed. */
function seeded(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % limit;
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type How = { seed: number; suspends: boolean; dieAt?: ExecutionOptions["dieAt"] };
type Finished = { result: ExecuteResult; calls: number; suspensions: number };

/** Settles each wait of the run when its time comes, whether the run is held by a process or not. */
function settleInTime(server: DurableServer, scheduled: Set<number>): void {
  for (const { position, name, kind } of server.pendingWaits()) {
    if (scheduled.has(position)) continue;
    scheduled.add(position);
    const { timeout = "1500ms" } = server.waits.get(position)?.fields ?? {};
    clock.after(Number.parseInt(timeout, 10), () => {
      if (server.waits.get(position)?.status !== "pending") return;
      if (kind === "token") server.completeToken(name, 1);
      else server.settle(position, "resolved");
    });
  }
}

/** Lets everything happen that needs no time. Gives how the execution ended, or null when it goes on with time. */
async function standStill(running: Execution, server: DurableServer): Promise<ExecuteResult | "died" | null> {
  const now: { ended: ExecuteResult | "died" | null } = { ended: null };
  void running.ended.then((result) => (now.ended = result ?? "died"));
  let seen = -1;
  for (let quiet = 0; quiet < QUIET_TURNS && now.ended === null; quiet += 1) {
    const activity = course.activity + running.callCount + server.applied.length + clock.set;
    if (activity !== seen) quiet = 0;
    seen = activity;
    await turn();
  }
  return now.ended;
}

/** What the journal has decided may not be decided otherwise by a later execution. */
function checkDecisions(server: DurableServer): void {
  for (const { name } of server.journal) {
    const [, place, winner] = /^after (\S+) (\S+)$/.exec(name) ?? [];
    if (place !== undefined && course.decided.has(place)) assert.equal(course.decided.get(place), winner);
  }
}

async function finish(server: DurableServer, { seed, suspends, dieAt }: How): Promise<Finished> {
  const scheduled = new Set<number>();
  let suspensions = 0;
  for (let execution = 0; ; execution += 1) {
    const pickMs = seeded(seed + execution);
    course = { nextIoMs: () => pickMs(MAX_IO_MS), decided: new Map(), activity: 0 };
    const options = execution === 0 && dieAt !== undefined ? { dieAt } : {};
    const running = new Execution(server, "own-io-program", options);
    let ended = await standStill(running, server);
    while (ended === null) {
      settleInTime(server, scheduled);
      if (suspends && server.parked && running.suspend()) suspensions += 1;
      else assert.ok(clock.advance(), "nothing goes on");
      ended = await standStill(running, server);
    }
    if (ended === "died") continue;
    if (ended.outcome !== "suspended") return { result: ended, calls: running.callCount, suspensions };
    while (server.pendingWaits().length > 0 && !server.openWaits().some(({ status }) => status !== "pending"))
      assert.ok(clock.advance(), "nothing settles");
  }
}

const counts = { programs: 0, parts: 0, suspensions: 0, positions: 0, executions: 0, loud: 0 };

/** The run ended as its journal says, each call in it once. */
async function check(server: DurableServer, how: How, mayBeLoud: boolean): Promise<Finished> {
  const finished = await finish(server, how);
  counts.executions += 1;
  counts.suspensions += finished.suspensions;
  const { result } = finished;
  if (mayBeLoud && result.outcome === "failed") {
    counts.loud += 1;
    assert.equal(result.failure.kind, "nondeterministic_replay");
    assert.match(result.failure.message, /position \d+.*inside a step/);
    return finished;
  }
  assert.equal(result.outcome, "succeeded", JSON.stringify(result));
  checkDecisions(server);
  const names = server.journal.filter(({ kind }) => kind === "step").map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  assert.equal(
    new Set([...server.children.values()].map(({ payload }) => payload)).size,
    server.children.size,
  );
  return finished;
}

/** Two executions over one journal. One that failed loudly has ended its run: there is no other to compare. */
function assertSame({ result: first }: Finished, { result: second }: Finished): void {
  if (first.outcome === "succeeded" && second.outcome === "succeeded") assert.deepEqual(second, first);
}

async function checkProgram(parts: readonly Part[], seed: number, mayBeLoud: boolean): Promise<void> {
  program = parts;
  counts.programs += 1;
  counts.parts += countParts(parts);
  const whole = new DurableServer();
  const uncut = await check(whole, { seed, suspends: false }, mayBeLoud);
  const again = await check(whole, { seed: seed + 1, suspends: false }, mayBeLoud);
  assertSame(uncut, again);
  const suspended = new DurableServer();
  const pieces = await check(suspended, { seed, suspends: true }, mayBeLoud);
  const last = await check(suspended, { seed: seed + 2, suspends: true }, mayBeLoud);
  assertSame(pieces, last);
  for (let call = 0; call < uncut.calls; call += 1) {
    counts.positions += 1;
    const dieAt = { call, applied: (call + seed) % 2 === 0 };
    await check(new DurableServer(), { seed, suspends: call % 2 === 0, dieAt }, mayBeLoud);
  }
}

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
    { numRuns: RACING_PROGRAMS, endOnFailure: true },
  );
  t.diagnostic(report());
});
