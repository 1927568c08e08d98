// A worker that drains while it is being given a run: it hears of what it is given, whichever comes first.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { enrollWorker, type RawWorker } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { untilBlocked } from "../../support/until-blocked.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const drain = async (worker: RawWorker): Promise<string> => (await worker.call("POST", "/drain")).body.status;

/** Asks for a drain while `give`, which gives the worker a run under that request id, is in its statement. */
async function drainsAfter<T>(worker: RawWorker, requestId: string, give: () => Promise<T>): Promise<T> {
  const { db } = scene.server;
  const asked: { given?: Promise<T>; drained?: Promise<string> } = {};
  const undone = new Error("undone");
  const holding = db.transaction(async (tx) => {
    // The row must be there before the run is given: it is waited for, and not only sent.
    await tx.query(sql`
      INSERT INTO lease_requests (worker_id, lease_request_id, lease_ids, leased_at)
      VALUES (${decodeId("wkr", worker.id)}, ${requestId}, '{}', now())`);
    asked.given = give();
    await untilBlocked(db, 1);
    asked.drained = drain(worker);
    await Promise.race([untilBlocked(db, 2), asked.drained]);
    throw undone;
  });
  await assert.rejects(holding, (error) => error === undone);
  assert.equal(await asked.drained, "draining");
  return asked.given as Promise<T>;
}

/** The ids of the runs that the repeat of a lease call tells, without asking for more. */
async function toldAgain(worker: RawWorker, requestId: string): Promise<string[]> {
  const { executions } = await worker.lease({ requestId, limit: 0 });
  return executions.map(({ run }: { run: { id: string } }) => run.id);
}

describe("a worker that drains", () => {
  test("is drained after a claim for it that is under way, and is told of its run", async () => {
    const worker = await enrollWorker(scene.server);
    const run = await scene.start("plain");
    // One look passes over a row that somebody holds just then; the call looks again.
    await drainsAfter(worker, "claim", () => worker.lease({ requestId: "claim", wait: "60s" }));
    assert.deepEqual(await toldAgain(worker, "claim"), [run.id]);
  });

  test("is drained after a start that leases a run to it, and is told of it", async () => {
    const worker = await enrollWorker(scene.server);
    const polling = worker.lease({ requestId: "born", wait: "60s" });
    await worker.seesRequest("born");
    const run = await drainsAfter(worker, "born", () => scene.start("plain"));
    assert.deepEqual(await toldAgain(worker, "born"), [run.id]);
    await polling;
  });

  test("is given no run by a start that finds its poll still open", async () => {
    const { db } = scene.server;
    const worker = await enrollWorker(scene.server);
    const polling = worker.lease({ requestId: "open", wait: "60s" });
    await worker.seesRequest("open");
    // As by another server, whose word has not come yet.
    await db.query(sql`UPDATE workers SET status = 'draining' WHERE id = ${decodeId("wkr", worker.id)}`);
    const { id, status } = await scene.start("plain", { tags: ["kept"], idempotency_key: "once" });
    assert.deepEqual([status, (await scene.get(id)).status], ["queued", "queued"]);
    const { executions, draining } = await polling;
    assert.deepEqual([executions, draining], [[], true]);
  });
});
