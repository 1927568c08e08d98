// What a renewal reads grows with the leases, not with their square.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId, encodeId } from "@keelson/contract";
import { rawSql } from "../../src/db/sql.ts";
import type { LeasedExecution } from "../../src/core/executions/execution.ts";
import { readPlan } from "../support/read-plan.ts";
import { readyRunsOf } from "../support/ready-runs.ts";
import { recordQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

const LEASES = 2_000;
const CLAIM = 500;
/** Rows that are read for a lease: to lock it, to find it again, and to change it. */
const MOST_ROWS = 4;
/** Blocks of the table and of its key, again and again the same ones. */
const MOST_BLOCKS = 40;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());

test("a renewal of 2,000 leases looks each of them up, and tells those that are lost", async () => {
  const { db, credentials } = scene.server;
  const runs = await readyRunsOf(scene);
  const context = runs.begin(false);
  await runs.add([decodeId("env", credentials.environment_id) ?? ""], LEASES);
  // As a vacuum of the empty table leaves it: PostgreSQL takes it for empty, however much it holds since.
  await db.query(rawSql("UPDATE pg_class SET relpages = 1, reltuples = 0 WHERE relname = 'executions'"));
  const leased: LeasedExecution[] = [];
  while (leased.length < LEASES) leased.push(...(await runs.claim(context, CLAIM)));
  const leases = leased.map(({ environmentId, runId, leaseId, epoch }) => ({
    environment_id: encodeId("env", environmentId),
    run_id: encodeId("run", runId),
    lease_id: encodeId("lease", leaseId),
    epoch,
  }));
  const [superseded, ...held] = leases.map((lease, index) =>
    index === 0 ? { ...lease, epoch: lease.epoch + 1 } : lease,
  );
  assert.ok(superseded);
  const queries = await recordQueries(async () => {
    // In any order: the server locks in its own.
    const body = { leases: [...held].reverse().concat(superseded) };
    const answer = await scene.worker.call("POST", "/executions/renew", body);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([answer.body.renewed.length, answer.body.lost], [held.length, [superseded.lease_id]]);
  });
  const ofLeases = queries.filter(({ text }) => text.includes("lease_id") && text.includes("unnest("));
  assert.equal(ofLeases.length, 2);
  for (const query of ofLeases) {
    const { read, blocks, scans } = await readPlan(db, query);
    assert.ok(read <= MOST_ROWS * LEASES, `${read} rows: ${scans.join("; ")}`);
    assert.ok(blocks <= MOST_BLOCKS * LEASES, `${blocks} blocks`);
  }
});
