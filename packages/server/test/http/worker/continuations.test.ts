// Runs that go on with an empty journal and a new payload.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, send, startSession } from "../../support/session-scene.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const COUNT = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const DELAY_MS = 1_000;
/** Also of servers that are busy. */
const PATIENCE_MS = 60_000;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({
    tasks: [
      { id: "loop", payload_schema: COUNT, retry: { max_attempts: 2, initial_delay: "1s", jitter: false } },
      { id: "plain" },
      { id: "single", queue: "narrow" },
    ],
    actors: [{ id: "chat" }],
    queues: [{ name: "narrow", concurrency_limit: 1 }],
  });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const step = (position: number, value: unknown = position): object => ({
  ...{ position, kind: "step", name: "count", value },
});
const timer = (position: number, timeout: string): object => ({
  ...{ position, name: "timer", kind: "timer", timeout },
});
const release = (lease: HeldLease, outcome: string, extra: object = {}): Json =>
  lease.operation("release", { outcome, ...extra });
const failure = { kind: "application_error", message: "no", retryable: true };

async function begun(task = "loop", payload: unknown = { n: 0 }, body: object = {}): Promise<HeldLease> {
  const run = await scene.start(task, { payload, ...body });
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, run.id);
  await scene.worker.report(lease.operation("start"));
  return lease;
}

/** The run is leased again, once it may. */
async function goneOn(runId: string): Promise<HeldLease> {
  scene.clock.advance(DELAY_MS);
  const lease = await scene.worker.takeOne();
  assert.equal(lease.runId, runId);
  await scene.worker.report(lease.operation("start"));
  return lease;
}

async function continued(lease: HeldLease, payload: unknown): Promise<HeldLease> {
  assert.deepEqual(await scene.worker.report(release(lease, "continued", { payload })), [200]);
  return goneOn(lease.runId);
}

const countRows = async (runId: string): Promise<Json> => {
  const id = decodeId("run", runId);
  const [row] = await scene.server.db.query<Json>(sql`
    SELECT (SELECT count(*) FROM run_journal WHERE run_id = ${id}) AS entries,
      (SELECT count(*) FROM run_waits WHERE run_id = ${id}) AS waits`);
  return row;
};

describe("a run that continues", () => {
  test("is the same run with an empty journal and the new payload", async () => {
    const lease = await begun("loop", { n: 0 }, { tags: ["kept"], metadata: { a: 1 } });
    const statuses = await scene.worker.report(
      lease.operation("steps", { entries: [step(1), step(2)] }),
      lease.operation("waits", { waits: [timer(3, "1h")], parked: false }),
      release(lease, "continued", { payload: { n: 7 } }),
    );
    assert.deepEqual(statuses, [200, 200, 200]);
    assert.deepEqual(await countRows(lease.runId), { entries: 0, waits: 0 });
    const queued = await scene.get(lease.runId);
    assert.deepEqual([queued.status, queued.status_reason.kind], ["queued", "delayed"]);
    const next = await goneOn(lease.runId);
    const { run, journal, waits } = next.execution;
    assert.deepEqual([journal, waits], [[], []]);
    assert.deepEqual(
      [run.payload, run.continuations, run.attempt_number, run.max_attempts, run.tags, run.metadata],
      [{ n: 7 }, 1, 1, 2, ["kept"], { a: 1 }],
    );
    // Its positions begin again.
    assert.deepEqual(
      await scene.worker.report(next.operation("steps", { entries: [step(1, "new")] })),
      [200],
    );
    const { calls } = (await scene.call("GET", `/v1/runs/${lease.runId}/calls`)).body;
    assert.deepEqual(
      calls.map(({ position, value }: Json) => [position, value]),
      [[1, "new"]],
    );
    await scene.worker.report(release(next, "succeeded", { output: "end" }));
    const shown = await scene.get(lease.runId);
    assert.deepEqual(
      [shown.payload, shown.continuations, shown.continued_payload, shown.output, shown.attempt_number],
      [{ n: 0 }, 1, { n: 7 }, "end", 2],
    );
    const { events } = (await scene.call("GET", `/v1/runs/${lease.runId}/events?limit=200`)).body;
    assert.deepEqual(
      events.slice(3).map(({ kind, attempt_number: attempt }: Json) => [kind, attempt]),
      [
        ["run.started", 1],
        ["wait.created", 1],
        ["run.continued", 1],
        ["run.queued", 1],
        ["run.leased", 2],
        ["run.started", 2],
        ["run.succeeded", 2],
      ],
    );
    const told = events.find(({ kind }: Json) => kind === "run.continued");
    assert.deepEqual(told.attributes, { continuation: 1 });
  });

  test("answers a repeated report as the first time, and takes none of its old lease later", async () => {
    const lease = await begun();
    const report = [
      lease.operation("steps", { entries: [step(1)] }),
      release(lease, "continued", { payload: { n: 1 } }),
    ];
    assert.deepEqual(await scene.worker.report(...report), [200, 200]);
    assert.deepEqual(await scene.worker.report(...report), [200, 200]);
    assert.equal((await scene.get(lease.runId)).continuations, 1);
    assert.deepEqual(await scene.worker.report(lease.operation("steps", { entries: [step(2)] })), [
      "lease_lost",
    ]);
    const next = await goneOn(lease.runId);
    assert.deepEqual(await scene.worker.report(...report), ["lease_lost", "lease_lost"]);
    assert.deepEqual([next.execution.run.payload, next.execution.journal], [{ n: 1 }, []]);
    assert.equal((await countRows(lease.runId)).entries, 0);
  });

  test("is given with its payload again when the answer to the lease call was lost", async () => {
    const lease = await begun();
    await scene.worker.report(release(lease, "continued", { payload: { n: 5 } }));
    scene.clock.advance(DELAY_MS);
    const given = await until("the run is leased", PATIENCE_MS, async () => {
      const answer = await scene.worker.lease({ requestId: "lost", wait: "1s" });
      return answer.executions.length === 1;
    }).then(() => scene.worker.lease({ requestId: "lost" }));
    assert.deepEqual(given.executions[0].run.payload, { n: 5 });
    await scene.worker.finish(scene.worker.hold(given.executions[0]));
  });

  test("continues as often as it likes, and has no payload when it gives none", async () => {
    let lease = await begun("plain", "first");
    for (let n = 1; n <= 3; n += 1) lease = await continued(lease, n);
    assert.deepEqual(await scene.worker.report(release(lease, "continued")), [200]);
    lease = await goneOn(lease.runId);
    assert.deepEqual([lease.execution.run.payload, lease.execution.run.continuations], [null, 4]);
    await scene.worker.report(release(lease, "succeeded"));
    const { payload, continuations, continued_payload: last } = await scene.get(lease.runId);
    assert.deepEqual([payload, continuations, last], ["first", 4, null]);
  });

  test("has all of its attempts again, and counts on", async () => {
    const first = await begun();
    await scene.worker.report(release(first, "failed", { failure }));
    scene.clock.advance(PATIENCE_MS);
    const second = await scene.worker.takeOne();
    await scene.worker.report(second.operation("start"));
    let lease = await continued(second, { n: 1 });
    assert.equal(lease.execution.run.attempt_number, 1);
    await scene.worker.report(release(lease, "failed", { failure }));
    const { status, attempt_number: attempt } = await scene.get(lease.runId);
    assert.deepEqual([status, attempt], ["retry_delayed", 3]);
    scene.clock.advance(PATIENCE_MS);
    lease = await scene.worker.takeOne();
    assert.deepEqual([lease.execution.run.attempt_number, lease.execution.run.payload], [2, { n: 1 }]);
    await scene.worker.report(lease.operation("start"), release(lease, "failed", { failure }));
    assert.equal((await scene.get(lease.runId)).status, "failed");
  });

  test("makes more durable calls than one journal holds, whose error says what to do", async () => {
    const fill = async (lease: HeldLease, calls: number): Promise<(number | string)[]> => {
      const operations = Array.from({ length: calls / 100 }, (_, n) =>
        lease.operation("steps", {
          entries: Array.from({ length: 100 }, (_each, index) => step(n * 100 + index + 1, null)),
        }),
      );
      return scene.worker.report(...operations);
    };
    let lease = await begun();
    assert.deepEqual(new Set(await fill(lease, 6_000)), new Set([200]));
    lease = await continued(lease, { n: 1 });
    assert.deepEqual(new Set(await fill(lease, 10_000)), new Set([200]));
    const [{ error }] = await scene.worker.results(lease.operation("steps", { entries: [step(10_001)] }));
    assert.equal(error.code, "payload_too_large");
    assert.match(error.message, /Call ctx\.continueAs\(\) before that/);
  });
});

describe("a payload that cannot be continued with", () => {
  test("does not fit the schema: the run fails and says where", async () => {
    const lease = await begun();
    assert.deepEqual(await scene.worker.report(release(lease, "continued", { payload: { n: "no" } })), [200]);
    const { status, failure: why, continuations } = await scene.get(lease.runId);
    assert.deepEqual([status, why.kind, continuations], ["failed", "payload_invalid", 0]);
    assert.match(
      why.message,
      /^The run cannot continue\. The payload does not fit the schema of "loop": payload\.n /,
    );
  });

  test("is too large: the run fails", async () => {
    const lease = await begun("plain");
    const payload = "x".repeat(512 * 1024);
    assert.deepEqual(await scene.worker.report(release(lease, "continued", { payload })), [200]);
    const { status, failure: why } = await scene.get(lease.runId);
    assert.deepEqual([status, why.kind], ["failed", "payload_invalid"]);
    assert.match(why.message, /payload may be 524288 bytes/);
  });

  test("is of an actor, whose turn has none", async () => {
    await startSession(scene);
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"), release(lease, "continued", { payload: 1 }));
    const { status, failure: why } = await scene.get(lease.runId);
    assert.deepEqual([status, why.kind], ["failed", "payload_invalid"]);
  });
});

describe("what a run that continues leaves behind", () => {
  test("is no wait: the time of an old one settles none at its position", async () => {
    const lease = await begun();
    const old = lease.operation("waits", { waits: [timer(1, "5s")], parked: false });
    await scene.worker.report(old, release(lease, "continued", { payload: { n: 1 } }));
    const next = await goneOn(lease.runId);
    await scene.worker.report(next.operation("waits", { waits: [timer(1, "1h")], parked: true }));
    scene.clock.advance(10_000);
    // A run that was started later and whose time is over now shows that the server has looked.
    const other = await begun("plain");
    await scene.worker.report(other.operation("waits", { waits: [timer(1, "1ms")], parked: true }));
    scene.clock.advance(10);
    await scene.happens(other.runId, "wait.resolved");
    const { status, pending_wait: wait } = await scene.get(lease.runId);
    assert.deepEqual([status, wait.name], ["waiting", "timer"]);
  });

  test("is its children, for which it is the same parent", async () => {
    const lease = await begun("plain");
    const [{ result }] = await scene.worker.results(
      lease.operation("child-runs", { position: 1, task: "loop", payload: { n: 1 } }),
    );
    const childId = result.value.id;
    const wait = { position: 2, name: "loop", kind: "run", run_id: childId };
    await scene.worker.report(lease.operation("waits", { waits: [wait], parked: false }));
    const child = await scene.worker.takeOne();
    assert.equal(child.runId, childId);
    await scene.worker.report(child.operation("start"));
    const next = await continued(lease, "again");
    assert.equal((await scene.get(childId)).status, "running");
    // The end of the child is told to nobody, and the run may ask for it again.
    const again = next.operation("waits", { waits: [{ ...wait, position: 1 }], parked: true });
    await scene.worker.report(again, release(child, "succeeded", { output: 4 }));
    await scene.happens(lease.runId, "wait.resolved");
    await scene.cancel(lease.runId);
    assert.equal((await scene.get(childId)).parent_run_id, lease.runId);
  });
});

describe("who waits for a run", () => {
  test("that continues twice gets its last output", async () => {
    const parent = await begun("plain");
    const [{ result }] = await scene.worker.results(
      parent.operation("child-runs", { position: 1, task: "loop", payload: { n: 0 } }),
    );
    const wait = { position: 2, name: "loop", kind: "run", run_id: result.value.id };
    await scene.worker.report(parent.operation("waits", { waits: [wait], parked: true }));
    let child = await scene.worker.takeOne();
    await scene.worker.report(child.operation("start"));
    child = await continued(child, { n: 1 });
    child = await continued(child, { n: 2 });
    assert.equal((await scene.get(parent.runId)).status, "waiting");
    await scene.worker.report(release(child, "succeeded", { output: "last" }));
    await scene.happens(parent.runId, "wait.resolved");
    const [answer] = await scene.worker.results(parent.operation("waits", { waits: [], parked: false }));
    assert.deepEqual(
      answer.result.waits.map(({ value }: Json) => [value.status, value.output]),
      [["succeeded", "last"]],
    );
  });
});

describe("a cancellation", () => {
  test("that comes before the run continues ends it", async () => {
    const lease = await begun();
    await scene.cancel(lease.runId);
    assert.deepEqual(await scene.worker.report(release(lease, "continued", { payload: { n: 1 } })), [200]);
    const { status, continuations } = await scene.get(lease.runId);
    assert.deepEqual([status, continuations], ["cancelled", 0]);
  });

  test("that comes while it is queued ends it at once", async () => {
    const lease = await begun();
    await scene.worker.report(release(lease, "continued", { payload: { n: 1 } }));
    await scene.cancel(lease.runId);
    assert.equal((await scene.get(lease.runId)).status, "cancelled");
  });
});

describe("a slot", () => {
  test("of a limited queue goes to a run that was started later", async () => {
    const older = await begun("single", null);
    const younger = await scene.start("single");
    await scene.worker.report(release(older, "continued", { payload: 1 }));
    const lease = await scene.worker.takeOne();
    assert.equal(lease.runId, younger.id);
    scene.clock.advance(DELAY_MS);
    await scene.happens(older.runId, "run.queued", "5");
    assert.equal((await scene.get(older.runId)).status_reason.kind, "queue_limit");
    await scene.worker.finish(lease);
    assert.equal((await scene.worker.takeOne()).runId, older.runId);
  });
});

describe("a turn that continues", () => {
  const input = (position: number): object => ({ position, name: "input", kind: "input", stream: "input" });
  const dataOf = ({ result }: Json): unknown[] => result.waits.map(({ value }: Json) => value?.data ?? null);

  test("is the same turn, and has received what it has received", async () => {
    const session = await startSession(scene);
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    for (const data of ["one", "two"]) await send(scene, session, data);
    const [first] = await scene.worker.results(
      lease.operation("waits", { waits: [input(1)], parked: false }),
    );
    assert.deepEqual(dataOf(first), ["one"]);
    await scene.worker.report(
      lease.operation("steps", { entries: [{ position: 1, kind: "wait", name: "input" }] }),
      release(lease, "continued"),
    );
    const next = await goneOn(lease.runId);
    assert.deepEqual([next.execution.run.turn, next.execution.run.session_id], [1, session.id]);
    const [second] = await scene.worker.results(
      next.operation("waits", { waits: [input(1)], parked: false }),
    );
    assert.deepEqual(dataOf(second), ["two"]);
  });

  test("gets input again that a wait has received and its code has not, but for what was withdrawn", async () => {
    const session = await startSession(scene);
    const lease = await scene.worker.takeOne();
    await scene.worker.report(lease.operation("start"));
    for (const data of ["one", "two", "three"]) await send(scene, session, data);
    const withdrawn = await scene.call("DELETE", `/api/sessions/${session.id}/inputs/input/2`);
    assert.equal(withdrawn.status, 200, withdrawn.text);
    const waits = lease.operation("waits", { waits: [input(1), input(2)], parked: false });
    const [received] = await scene.worker.results(waits);
    assert.deepEqual(dataOf(received), ["one", "three"]);
    await scene.worker.report(release(lease, "continued"));
    const next = await goneOn(lease.runId);
    const again = next.operation("waits", { waits: [input(1), input(2)], parked: false });
    assert.deepEqual(dataOf((await scene.worker.results(again))[0]), ["one", "three"]);
  });
});

test("a replay of a run that continued starts with its first payload", async () => {
  const lease = await begun("loop", { n: 3 }, { tags: ["again"] });
  const last = await continued(lease, { n: 4 });
  await scene.worker.report(release(last, "succeeded"));
  const body = { action: "replay", run_ids: [lease.runId] };
  const answer = await scene.call("POST", "/v1/runs/bulk-actions", { body });
  assert.equal(answer.status, 202, answer.text);
  const replayed = await scene.worker.takeOne();
  const { payload, continuations } = replayed.execution.run;
  assert.deepEqual([payload, continuations], [{ n: 3 }, 0]);
  await scene.worker.finish(replayed);
});
