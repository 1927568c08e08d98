// A lease call whose answer was lost is made again, and gets what the first one was given.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { dropOldLeaseRequests } from "../../../src/core/workers/tidy-workers.ts";
import { sql } from "../../../src/db/sql.ts";
import { enrollWorker, heldLease, type HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

test("gives a repeat with the same lease_request_id the leases that are still held", async () => {
  const ids = [(await scene.start("plain")).id, (await scene.start("plain")).id];
  const first = await scene.worker.lease({ limit: 2, requestId: "repeat" });
  assert.deepEqual(
    first.executions.map(({ run }: { run: { id: string } }) => run.id),
    ids,
  );
  assert.deepEqual(await scene.worker.lease({ limit: 2, requestId: "repeat" }), first);
  const [one, two] = first.executions.map(heldLease) as [HeldLease, HeldLease];
  await scene.worker.finish(one);
  const again = await scene.worker.lease({ limit: 2, requestId: "repeat" });
  assert.deepEqual(again.executions, [first.executions[1]]);
  assert.deepEqual((await scene.worker.lease({ limit: 2, requestId: "next" })).executions, []);
  await scene.worker.finish(two);
});

test("gives a repeat its leases although another call has got runs since", async () => {
  await scene.start("plain");
  const first = await scene.worker.lease({ requestId: "first" });
  await scene.start("plain");
  const second = await scene.worker.lease({ requestId: "second" });
  assert.deepEqual(await scene.worker.lease({ requestId: "first" }), first);
  assert.deepEqual(await scene.worker.lease({ requestId: "second" }), second);
  for (const { executions } of [first, second]) await scene.worker.finish(heldLease(executions[0]));
});

test("gives a repeat the leases of a call that a server of the version before answered", async () => {
  await scene.start("plain");
  const first = await scene.worker.lease({ requestId: "older" });
  const lease = heldLease(first.executions[0]);
  const workerId = decodeId("wkr", scene.worker.id);
  const { db } = scene.server;
  await db.query(sql`DELETE FROM lease_requests`);
  await db.query(sql`
    UPDATE workers SET lease_request_id = 'older', leased_lease_ids = ${[decodeId("lease", lease.fields.lease_id)]}::uuid[]
    WHERE id = ${workerId}`);
  assert.deepEqual(await scene.worker.lease({ requestId: "older" }), first);
  await scene.worker.finish(lease);
});

test("remembers the newest calls of each worker that got runs, and no others", async () => {
  const { db } = scene.server;
  const workers = [decodeId("wkr", scene.worker.id), decodeId("wkr", (await enrollWorker(scene.server)).id)];
  await db.query(sql`
    INSERT INTO lease_requests (worker_id, lease_request_id, lease_ids, leased_at)
    SELECT w, 'call ' || n, '{}', now() + n * interval '1 s' FROM unnest(${workers}::uuid[]) AS w, generate_series(1, 100) AS n`);
  await scene.worker.lease({ requestId: "nothing" });
  await dropOldLeaseRequests(db);
  const kept = await db.query<{ calls: number; oldest: string; total: number }>(sql`
    SELECT count(*) AS calls, min(substr(lease_request_id, 6)::integer)::text AS oldest
    FROM lease_requests WHERE lease_request_id LIKE 'call %' GROUP BY worker_id`);
  assert.deepEqual(
    kept.map(({ calls, oldest }) => [calls, oldest]),
    workers.map(() => [64, "37"]),
  );
  const [nothing] = await db.query(
    sql`SELECT 1 AS found FROM lease_requests WHERE lease_request_id = 'nothing'`,
  );
  assert.equal(nothing, undefined);
  await db.query(sql`DELETE FROM lease_requests`);
});

test("gives a repeat the runs that were born leased to its first call, whatever call came between", async () => {
  const first = scene.worker.lease({ wait: "10s", requestId: "born" });
  await scene.worker.seesRequest("born");
  await scene.worker.lease({ requestId: "between" });
  const run = await scene.start("plain");
  const { executions } = await first;
  assert.deepEqual(
    executions.map((execution: { run: { id: string } }) => execution.run.id),
    [run.id],
  );
  assert.deepEqual((await scene.worker.lease({ requestId: "born" })).executions, executions);
  await scene.worker.finish(heldLease(executions[0]));
});

test("gives a repeat what its first call is given while both are open", async () => {
  const first = scene.worker.lease({ wait: "10s", requestId: "twice" });
  await scene.worker.seesRequest("twice");
  const second = scene.worker.lease({ wait: "10s", requestId: "twice" });
  const run = await scene.start("plain");
  const answers = await Promise.all([first, second]);
  for (const { executions } of answers)
    assert.deepEqual(
      executions.map((execution: { run: { id: string } }) => execution.run.id),
      [run.id],
    );
  await scene.worker.finish(heldLease(answers[0].executions[0]));
});
