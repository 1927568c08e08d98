// A server dies at each boundary between two statements of the report by which a run continues.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { Killed, killedAt } from "../support/killed-at.ts";
import type { HeldLease } from "../support/raw-worker.ts";
import { reportServer } from "../support/report-server.ts";
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
    const isKilled = await reportServer(scene, { db: killedAt(scene.server.db, at).db })
      .report(...operations)
      .then(
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
    assert.deepEqual(await reportServer(scene).report(...operations), [true, true]);
    assert.deepEqual(await stored(lease), gone, `told again after a crash at ${at}`);
    await scene.call("POST", `/api/sessions/${session.id}/cancel`);
    if (!isKilled) break;
    kills += 1;
  }
  console.log(`${kills} crashes`);
  assert.ok(kills >= 20, `${kills} crashes`);
});
