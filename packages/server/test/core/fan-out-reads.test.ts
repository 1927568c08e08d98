// What PostgreSQL reads for a run that starts many others, and for their ends, beside many runs that have ended.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { listSessionEndings, lockEndings } from "../../src/core/endings/ending-reads.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { readPlan } from "../support/read-plan.ts";
import { readyRunsOf } from "../support/ready-runs.ts";
import { recordOwnQueries, recordQueries, type RecordedQuery } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { until } from "../support/until.ts";

const CHILDREN = 100;
const RUNS = 3_000;
const ENDED = 20;

let scene: RunScene;
let environmentId: string;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  environmentId = decodeId("env", scene.server.credentials.environment_id) as string;
  const { db } = scene.server;
  await (await readyRunsOf(scene)).add([environmentId], RUNS);
  await db.query(sql`
    INSERT INTO run_results (environment_id, run_id, status, finished_at, epoch, applied_sequence, log_sequence, stdout_bytes,
      stderr_bytes, event_sequence)
    SELECT environment_id, run_id, 'succeeded', now(), 1, 1, 0, 0, 0, 2 FROM executions WHERE ready`);
  await db.query(sql`DELETE FROM executions WHERE ready`);
  // As a vacuum leaves a table that is empty at that moment: PostgreSQL takes it for empty, however much it holds since.
  await db.query(
    rawSql(
      "UPDATE pg_class SET relpages = 1, reltuples = 0 WHERE relname IN ('executions', 'awaited_endings', 'run_results')",
    ),
  );
});
after(() => scene.stop());

/** What one report of so many children sends to PostgreSQL before its transaction and in it. */
async function reportOf(lease: HeldLease, children: number): Promise<RecordedQuery[]> {
  const calls = Array.from({ length: children }, (_, index) =>
    lease.operation("child-runs", { position: index + 1, task: "plain" }),
  );
  const queries = await recordQueries(async () => {
    const answers = await scene.worker.report(...calls);
    assert.deepEqual([...new Set(answers)], [200]);
  });
  return queries.filter(({ text }) => /FROM deployments|organization_id/.test(text));
}

test("a report reads the deployment and the parent of a hundred children as often as of one", async () => {
  const counts: number[] = [];
  for (const children of [1, CHILDREN]) {
    await scene.start("plain");
    const lease = await scene.worker.takeOne();
    const queries = await reportOf(lease, children);
    counts.push(queries.filter(({ text }) => text.includes("version = ")).length);
    const parents = queries.filter(({ text }) => text.includes("r.deployment_version"));
    assert.equal(parents.length, 1);
    const [parent] = parents as [RecordedQuery];
    assert.equal(parent.values.at(-1), `{${decodeId("run", lease.runId)}}`);
    const { read, scans } = await readPlan(scene.server.db, parent);
    assert.ok(read <= 10, `${read} rows: ${scans.join("; ")}`);
  }
  assert.deepEqual(counts, [0, 0]);
});

test("a run that begins to wait for its children writes none of them again", async () => {
  const { db } = scene.server;
  await scene.cancelAll();
  await scene.start("plain");
  const lease = await scene.worker.takeOne();
  const started = await scene.worker.results(
    ...Array.from({ length: 3 }, (_, index) =>
      lease.operation("child-runs", { position: index + 1, task: "plain" }),
    ),
  );
  const ids = started.map(({ result }) => result.value.id as string);
  const places = () =>
    db.query<{ place: string }>(sql`
      SELECT ctid::text AS place FROM executions
      WHERE environment_id = ${environmentId} AND run_id = ANY(${ids.map((id) => decodeId("run", id))}::uuid[]) ORDER BY run_id`);
  const before = await places();
  const waits = ids.map((id, index) => ({ position: index + 4, name: id, kind: "run", run_id: id }));
  assert.deepEqual(await scene.worker.report(lease.operation("waits", { waits, parked: true })), [200]);
  assert.deepEqual(await places(), before);
  assert.equal(before.length, 3);
  const children = await scene.worker.take(3);
  for (const child of children) await scene.worker.finish(child);
  await until("the run was told of each end", 60_000, async () => {
    const { resumptions } = await scene.worker.renew(lease);
    return resumptions[0]?.waits.length === ids.length;
  });
});

test("ends that somebody waits for are looked up by their keys", async () => {
  const { db } = scene.server;
  const now = scene.clock.now();
  /** Transactions in which there are such ends: the server itself, which would tell of them, does not see these. */
  const withEnds: typeof db = {
    ...db,
    transaction: (work, options) =>
      db.transaction(async (tx) => {
        await tx.send(sql`
          INSERT INTO awaited_endings (environment_id, run_id)
          SELECT environment_id, run_id FROM run_results ORDER BY run_id LIMIT ${ENDED}`);
        return work(tx);
      }, options),
  };
  const undone = new Error("undone");
  const queries = await recordOwnQueries(() =>
    assert.rejects(
      withEnds.transaction(async (tx) => {
        assert.equal((await lockEndings(tx, now, 100)).length, ENDED);
        assert.deepEqual(await listSessionEndings(tx, now, 100), []);
        throw undone;
      }),
      undone,
    ),
  );
  const reads = queries.filter(({ text }) => text.includes("FROM awaited_endings"));
  assert.equal(reads.length, 2);
  for (const query of reads) {
    const { read, scans } = await readPlan(withEnds, query);
    assert.ok(read >= ENDED && read <= 4 * ENDED, `${read} rows: ${scans.join("; ")}`);
  }
});

test("a run that lives is read without those that have ended", async () => {
  const { id } = await scene.start("plain");
  const queries = await recordQueries(async () => {
    assert.equal((await scene.call("GET", `/v1/runs/${id}`)).body.status, "queued");
  });
  const facts = queries.find(({ text }) => text.includes("silent_since"));
  assert.ok(facts);
  const { read, scans } = await readPlan(scene.server.db, facts);
  assert.ok(read <= 50, `${read} rows: ${scans.join("; ")}`);
});
