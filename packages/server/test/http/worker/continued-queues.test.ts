// Runs that continue among others: priorities, concurrency keys, limited queues, and two servers.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import type { ApiServer } from "../../support/api-server.ts";
import { enrollWorker, type HeldLease, type RawWorker } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const DELAY_MS = 1_000;

let scene: RunScene;
/** Another server of the same installation, and what a worker says to it. */
let other: Awaited<ReturnType<ApiServer["startReplica"]>>;
before(async () => {
  scene = await startRunScene({
    tasks: [{ id: "plain" }, { id: "keyed", queue: "keyed" }, { id: "both", queue: "both" }],
    queues: [
      { name: "keyed", concurrency_key_limit: 1 },
      { name: "both", concurrency_limit: 2, concurrency_key_limit: 1 },
    ],
  });
  other = await scene.server.startReplica();
});
after(async () => {
  await other.stop();
  await scene.stop();
});
afterEach(() => scene.cancelAll());

const start = async (task: string, body: object = {}): Promise<string> => (await scene.start(task, body)).id;
const keyOf = (key: string): object => ({ concurrency_key: key });

/** Whatever is ready now, in the order it is given out. */
async function takeReady(): Promise<HeldLease[]> {
  const { executions } = await scene.worker.lease({ limit: 50 });
  return executions.map((execution: object) => scene.worker.hold(execution));
}
const idsOf = (leases: readonly HeldLease[]): string[] => leases.map(({ runId }) => runId);

const continued = (lease: HeldLease): Promise<void> =>
  scene.worker.finish(lease, "continued", { payload: "again" });

/** The second of those that have continued is over, and a server has seen that. */
async function becomeDue(...leases: readonly HeldLease[]): Promise<void> {
  scene.clock.advance(DELAY_MS);
  for (const { runId } of leases)
    await until(`run ${runId} is due`, 60_000, async () => {
      const { status, status_reason: reason } = await scene.get(runId);
      return status === "queued" && reason?.kind !== "delayed";
    });
}

describe("a run that continues", () => {
  test("lets a run of a lower priority go first for a second, and goes before the others then", async () => {
    const high = await start("plain", { priority: 5 });
    const low = [await start("plain"), await start("plain"), await start("plain", { priority: 1 })];
    const lease = await scene.worker.takeOne();
    assert.equal(lease.runId, high);
    await continued(lease);
    const first = await scene.worker.takeOne();
    assert.equal(first.runId, low[2]);
    await becomeDue(lease);
    const rest = await takeReady();
    assert.deepEqual(idsOf(rest), [high, low[0], low[1]]);
    for (const one of [first, ...rest]) await scene.worker.finish(one);
    assert.deepEqual([(await scene.get(high)).priority, (await scene.get(high)).continuations], [5, 1]);
  });

  test("gives its place of a concurrency key to a run of that key, and gets the next one", async () => {
    const [a1, a2, b1] = [
      await start("keyed", keyOf("a")),
      await start("keyed", keyOf("a")),
      await start("keyed", keyOf("b")),
    ];
    const [a, b] = (await takeReady()) as [HeldLease, HeldLease];
    assert.deepEqual(idsOf([a, b]), [a1, b1]);
    await continued(a);
    const [second, ...none] = await takeReady();
    assert.deepEqual([second?.runId, none], [a2, []]);
    await becomeDue(a);
    assert.equal((await scene.get(a1)).status_reason.kind, "concurrency_key");
    await scene.worker.finish(b);
    assert.deepEqual(await takeReady(), [], "the place of another key is not for it");
    await scene.worker.finish(second as HeldLease);
    const [again] = await takeReady();
    assert.deepEqual([again?.runId, again?.execution.run.payload], [a1, "again"]);
    await scene.worker.finish(again as HeldLease);
  });

  test("gives its slot of a queue to whoever has a key left, and queues by its priority and its age", async () => {
    const urgent = { priority: 1 };
    const [a1, b1, a2, c1] = [
      await start("both", { ...keyOf("a"), ...urgent }),
      await start("both", keyOf("b")),
      await start("both", keyOf("a")),
      await start("both", keyOf("c")),
    ];
    const [a, b] = (await takeReady()) as [HeldLease, HeldLease];
    assert.deepEqual(idsOf([a, b]), [a1, b1]);
    await continued(b);
    const [c] = (await takeReady()) as [HeldLease];
    assert.equal(c.runId, c1, "the oldest one has no place of its key");
    await continued(a);
    const [second] = (await takeReady()) as [HeldLease];
    assert.equal(second.runId, a2);
    await becomeDue(a, b);
    assert.deepEqual(await takeReady(), []);
    await scene.worker.finish(c);
    const [next] = (await takeReady()) as [HeldLease];
    assert.equal(next.runId, b1, "the urgent one has no place of its key");
    await scene.worker.finish(second);
    const [last] = (await takeReady()) as [HeldLease];
    assert.equal(last.runId, a1);
    for (const lease of [next, last]) await scene.worker.finish(lease);
  });

  test("holds nobody up who is cancelled while it waits for its second", async () => {
    const [a1, a2] = [await start("keyed", keyOf("z")), await start("keyed", keyOf("z"))];
    const lease = await scene.worker.takeOne();
    await continued(lease);
    await scene.cancel(a1);
    const [next] = (await takeReady()) as [HeldLease];
    assert.equal(next.runId, a2);
    scene.clock.advance(DELAY_MS);
    await scene.worker.finish(next);
    assert.deepEqual(await takeReady(), []);
    assert.equal((await scene.get(a1)).status, "cancelled");
  });
});

describe("two servers", () => {
  /** What the scene's worker says to a server. */
  const tell = async (at: Pick<ApiServer, "call">, operations: readonly Json[]): Promise<Json[]> => {
    const body = { operations };
    const answer = await at.call("POST", "/worker/v1/executions/report", { as: scene.worker.token, body });
    assert.equal(answer.status, 200, answer.text);
    return answer.body.results.map(({ status, error }: Json) => (error === null ? status : error.code));
  };
  const report = (lease: HeldLease): Json[] => [
    lease.operation("start"),
    lease.operation("steps", { entries: [{ position: 1, kind: "step", name: "before", value: 1 }] }),
    lease.operation("release", { outcome: "continued", payload: { n: 1 } }),
  ];
  const others = (): Promise<RawWorker> => enrollWorker({ ...scene.server, call: other.call });

  test("give a run that continues at one of them to a worker that waits at the other", async () => {
    const lease = await scene.leased();
    const worker = await others();
    const requestId = "at the other server";
    const waiting = worker.lease({ wait: "30s", requestId });
    await worker.seesRequest(requestId);
    assert.deepEqual(await tell(scene.server, report(lease)), [200, 200, 200]);
    assert.equal((await scene.get(lease.runId)).status_reason.kind, "delayed");
    scene.clock.advance(DELAY_MS);
    const { executions } = await waiting;
    assert.equal(executions.length, 1);
    const { run, journal } = executions[0];
    assert.deepEqual([run.id, run.payload, run.continuations, journal], [lease.runId, { n: 1 }, 1, []]);
    // What the worker of before says comes too late, at both.
    const late = lease.operation("steps", {
      entries: [{ position: 2, kind: "step", name: "late", value: 1 }],
    });
    for (const at of [scene.server, other]) assert.deepEqual(await tell(at, [late]), ["lease_lost"]);
    await worker.finish(worker.hold(executions[0]));
    assert.equal((await scene.get(lease.runId)).status, "succeeded");
  });

  test("that are told the same at once let it continue once", async () => {
    const lease = await scene.leased();
    const operations = report(lease);
    const told = await Promise.all(
      [scene.server, other, scene.server, other].map((at) => tell(at, operations)),
    );
    for (const statuses of told) assert.deepEqual(statuses, [200, 200, 200]);
    assert.equal((await scene.get(lease.runId)).continuations, 1);
    const kinds = await scene.eventKinds(lease.runId);
    assert.equal(kinds.filter((kind) => kind === "run.continued").length, 1);
    scene.clock.advance(DELAY_MS);
    const next = await scene.worker.takeOne();
    assert.deepEqual([next.runId, next.execution.journal], [lease.runId, []]);
    await scene.worker.finish(next);
  });

  test("give it to one of two workers that ask at once", async () => {
    const worker = await others();
    for (let round = 0; round < 5; round += 1) {
      const lease = await scene.leased();
      await continued(lease);
      scene.clock.advance(DELAY_MS);
      const given: [RawWorker, Json][] = [];
      await until("the run is leased", 60_000, async () => {
        const asked = await Promise.all([scene.worker, worker].map((by) => by.lease({ limit: 5 })));
        for (const [index, { executions }] of asked.entries())
          for (const execution of executions) given.push([index === 0 ? scene.worker : worker, execution]);
        return given.length > 0;
      });
      assert.equal(given.length, 1, `round ${round}`);
      const [by, execution] = given[0] as [RawWorker, Json];
      assert.equal(execution.run.id, lease.runId);
      await by.finish(by.hold(execution));
    }
  });
});
