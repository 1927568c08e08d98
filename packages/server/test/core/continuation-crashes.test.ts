// A server dies at each boundary between two statements of the report by which a run continues.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createDeploymentCache } from "../../src/core/entrypoints/deployment-cache.ts";
import { createClaimStarts } from "../../src/core/executions/claim-starts.ts";
import { createKnownRuns } from "../../src/core/executions/known-runs.ts";
import { createLeasePolls } from "../../src/core/executions/lease-polls.ts";
import { createReadyFronts } from "../../src/core/executions/ready-fronts.ts";
import { applyReport } from "../../src/core/leases/apply-report.ts";
import { createRecentLooks } from "../../src/core/leases/recent-looks.ts";
import type { LeasedContent, LeasedOperation } from "../../src/core/leases/report-batch.ts";
import { ADMITTED } from "../../src/core/quotas/run-quota.ts";
import type { Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createUuidGenerator } from "../../src/uuid.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { Killed, killedAt } from "../support/killed-at.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { send, startSession } from "../support/session-scene.ts";

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let database: TestDatabase;
let scene: RunScene;
before(async () => {
  database = await createTestDatabase();
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] }, { database });
});
after(() => scene.stop());

/** A report of the worker, at a server that may die. */
async function report(db: Database, lease: HeldLease, operations: readonly Json[]): Promise<boolean[]> {
  const { clock } = scene;
  const { run_id, environment_id, lease_id, epoch } = lease.fields;
  const key = {
    environmentId: decodeId("env", environment_id) as Uuid<"env">,
    runId: decodeId("run", run_id) as Uuid<"run">,
    leaseId: decodeId("lease", lease_id) as Uuid<"lease">,
    epoch,
  };
  const context = {
    ...{ db, clock: clock.now, newUuid: createUuidGenerator(clock.now), random: () => 0.5 },
    deployments: createDeploymentCache({ db, clock: clock.now }),
    runQuota: ADMITTED,
    storageQuota: { noteAppended: () => undefined } as never,
    masterKey: null as never,
    cell: null,
    ...{ leasePolls: createLeasePolls(), claimStarts: createClaimStarts(), leaseDurationMs: 15_000 },
    readyFronts: createReadyFronts({
      ...{ db, clock: clock.now, knownRuns: createKnownRuns() },
      noteHeld: () => undefined,
    }),
    recentLooks: createRecentLooks({ woken: () => 0 }),
  };
  const leased = operations.map((operation): LeasedOperation => ({
    ...key,
    operation: operation as LeasedContent,
  }));
  const worker = decodeId("wkr", scene.worker.id) as Uuid<"wkr">;
  const { outcomes } = await applyReport(context, worker, leased, null);
  return outcomes.map(({ ok }) => ok);
}

const stored = async ({ runId }: HeldLease): Promise<Json> => {
  const id = decodeId("run", runId);
  const [row] = await scene.server.db.query<Json>(sql`
    SELECT e.status, e.continuations, e.attempts_before, e.journal_sequence, e.wait_count,
      (SELECT count(*) FROM run_journal j WHERE j.run_id = e.run_id) AS entries,
      (SELECT count(*) FROM run_waits w WHERE w.run_id = e.run_id) AS waits,
      (SELECT received_sequence FROM streams s JOIN runs r ON r.session_id = s.session_id WHERE r.id = e.run_id) AS received,
      (SELECT number FROM run_continuations c WHERE c.run_id = e.run_id) AS number
    FROM executions e WHERE e.run_id = ${id}`);
  return row;
};

test("a run continues wholly or not at all, and once, wherever its server dies", async () => {
  let kills = 0;
  for (let at = 0; ; at += 1) {
    const session = await startSession(scene);
    const lease = await scene.worker.takeOne();
    await send(scene, session, "input");
    const entry = { position: 1, kind: "step", name: "before", value: 1 };
    const wait = { position: 2, name: "input", kind: "input", stream: "input" };
    await scene.worker.report(
      lease.operation("start"),
      lease.operation("steps", { entries: [entry] }),
      lease.operation("waits", { waits: [wait], parked: false }),
    );
    const untouched = await stored(lease);
    assert.deepEqual([untouched.entries, untouched.waits, untouched.received], [1, 1, 1]);
    const operations = [
      lease.operation("steps", { entries: [{ ...entry, position: 3 }] }),
      lease.operation("release", { outcome: "continued" }),
    ];
    const isKilled = await report(killedAt(scene.server.db, at).db, lease, operations).then(
      () => false,
      (error: unknown) => {
        if (!(error instanceof Killed)) throw error;
        return true;
      },
    );
    const gone = {
      ...{ status: "queued", continuations: 1, attemptsBefore: 1, journalSequence: 0, waitCount: 0 },
      ...{ entries: 0, waits: 0, received: 0, number: 1 },
    };
    const found = await stored(lease);
    assert.deepEqual(found, found.status === "queued" ? gone : untouched, `after a crash at ${at}`);
    // The worker has no answer, and says it again.
    assert.deepEqual(await report(scene.server.db, lease, operations), [true, true]);
    assert.deepEqual(await stored(lease), gone, `told again after a crash at ${at}`);
    await scene.call("POST", `/api/sessions/${session.id}/cancel`);
    if (!isKilled) break;
    kills += 1;
  }
  console.log(`${kills} crashes`);
  assert.ok(kills >= 20, `${kills} crashes`);
});
