import assert from "node:assert/strict";
import path from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { createDiskBlobs } from "../../src/adapters/disk-blobs.ts";
import { collectBlobs } from "../../src/core/blobs/collect-blobs.ts";
import { sql } from "../../src/db/sql.ts";
import { checkInvariants } from "../crash/support/invariants.ts";
import { digestOf } from "../support/api-server.ts";
import { openDrops, type Drops } from "../support/drop-in.ts";
import { readEvents } from "../support/read-events.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { emit, send, sessionKnows, startSession } from "../support/session-scene.ts";

const DAY_MS = 86_400_000;

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

describe("what was kept long enough with its session", () => {
  let scene: RunScene;
  let drops: Drops;
  before(async () => {
    scene = await startRunScene({ tasks: [{ id: "work" }], actors: [{ id: "chat" }] });
  });
  after(() => scene.stop());
  beforeEach(async () => {
    await scene.cancelAll();
    drops = openDrops(scene);
  });

  const dropIn: Drops["dropIn"] = (days, policy) => drops.dropIn(days, policy);
  const status = async (path: string): Promise<number> => (await scene.call("GET", path)).status;
  const rowsOf = async (runId: string): Promise<number> => {
    const id = decodeId("run", runId);
    const [row] = await scene.server.db.query<{ count: number }>(sql`
      SELECT (SELECT count(*) FROM runs WHERE id = ${id}) + (SELECT count(*) FROM run_usage WHERE run_id = ${id}) AS count`);
    return row?.count ?? 0;
  };

  test("of ended sessions are first the records, then the session, then its runs", async () => {
    const session = await startSession(scene);
    for (let n = 0; n < 3; n += 1) await emit(scene, session, { n });
    const open = await startSession(scene);
    await emit(scene, open, "stays");
    await scene.cancelAll();
    await scene.call("POST", `/api/sessions/${session.id}/close`);
    const policy = { runsMs: DAY_MS, recordsMs: 10 * DAY_MS, sessionsMs: 20 * DAY_MS };
    const output = `/api/sessions/${session.id}/outputs/output`;
    const { runs } = (await scene.call("GET", `/api/sessions/${session.id}/runs`)).body;
    await sessionKnows(scene, runs[0].id);

    await dropIn(9, policy);
    assert.equal((await scene.call("GET", output)).body.records.length, 3);
    await dropIn(11, policy);
    assert.equal(drops.dropped["records"], 3);
    const page = await scene.call("GET", output);
    assert.deepEqual([page.body.records, page.body.ended], [[], true]);
    const expired = await scene.call("GET", `${output}?cursor=2`);
    assert.deepEqual([expired.status, expired.body.error.details], [410, { earliest_cursor: "3" }]);
    const told = await readEvents(scene.server, `${output}/read?follow=1&cursor=1`, {
      as: scene.server.credentials.api_key,
      until: ({ event }) => event === "end",
    });
    assert.deepEqual(
      told.map(({ event }) => event),
      ["gap", "end"],
    );
    await checkInvariants(scene.server.db, "after the records went");

    await dropIn(21, policy);
    assert.equal(await status(`/api/sessions/${session.id}`), 404);
    assert.equal(await status(output), 404);
    assert.equal(await status(`/v1/runs/${runs[0].id}`), 404);
    assert.equal((await scene.call("GET", `/api/sessions/${open.id}/outputs/output`)).body.records.length, 1);
    await checkInvariants(scene.server.db, "after the session went");
  });

  test("of runs that a session's runs had started goes, and the sum of the session keeps what they used", async () => {
    const session = await startSession(scene);
    const policy = { runsMs: DAY_MS, sessionsMs: 20 * DAY_MS };
    const usage = async (): Promise<Json> =>
      (await scene.call("GET", `/v1/sessions/${session.id}/usage`)).body;
    for (const [turn, cost_usd] of [
      [1, 0.5],
      [2, undefined],
      [3, 0.25],
    ] as const) {
      if (turn > 1) await send(scene, session, turn);
      const lease = await scene.worker.takeOne();
      const [, started] = await scene.worker.results(
        lease.operation("start"),
        lease.operation("child-runs", { position: 1, task: "work", payload: null }),
        lease.operation("usage", { used: [{ model: "large", input_tokens: 1 }] }),
      );
      const child = await scene.worker.takeOne();
      assert.equal(child.runId, started.result.value.id);
      const amount = { model: "large", input_tokens: 10, ...(cost_usd !== undefined && { cost_usd }) };
      await scene.worker.report(child.operation("start"), child.operation("usage", { used: [amount] }));
      for (const one of [child, lease])
        assert.deepEqual(
          await scene.worker.report(one.operation("release", { outcome: "succeeded" })),
          [200],
        );
      await sessionKnows(scene, lease.runId);
      const before = await usage();
      assert.deepEqual([before.calls, before.input_tokens], [2 * turn, 11 * turn]);
      await dropIn(2, policy);
      assert.deepEqual([await status(`/v1/runs/${child.runId}`), await rowsOf(child.runId)], [404, 0]);
      assert.equal(await status(`/v1/runs/${lease.runId}`), 200);
      assert.deepEqual(await usage(), before);
    }
    assert.equal((await usage()).cost_usd, 0.75);
    await scene.call("POST", `/api/sessions/${session.id}/close`);
    await dropIn(21, policy);
    assert.equal(await status(`/api/sessions/${session.id}`), 404);
    const left = await scene.server.db.query(sql`
      SELECT FROM session_usage WHERE session_id = ${decodeId("sess", session.id)}
      UNION ALL SELECT FROM run_usage WHERE session_id = ${decodeId("sess", session.id)}`);
    assert.deepEqual(left, []);
  });

  test("of ended sessions are files: their bytes go when no session, workspace and log needs them", async () => {
    const [ended, open] = [await startSession(scene), await startSession(scene)];
    const [mine, shared] = [Buffer.from("mine alone"), Buffer.from("of both")];
    const upload = async ({ id }: Json, bytes: Buffer): Promise<string> => {
      const answer = await scene.call("PUT", `/api/sessions/${id}/files/${digestOf(bytes)}`, { bytes });
      assert.equal(answer.status, 201, answer.text);
      return answer.body.id;
    };
    await upload(ended, mine);
    await upload(ended, shared);
    const kept = await upload(open, shared);
    await scene.call("POST", `/api/sessions/${ended.id}/cancel`);
    await sessionKnows(scene, ended.current_run_id);
    const store = createDiskBlobs(
      path.join(scene.server.dataDir, "workspaces", decodeId("env", ended.environment_id) as string),
    );
    const isStored = (): Promise<boolean[]> =>
      Promise.all([mine, shared].map((bytes) => store.has(digestOf(bytes))));
    const collectIn = (days: number) =>
      collectBlobs({
        db: scene.server.db,
        clock: () => scene.clock.now() + days * DAY_MS,
        workspaceBlobs: () => store,
        noteLoopFailure: () => undefined,
      });

    await dropIn(19, { sessionsMs: 20 * DAY_MS });
    await collectIn(19);
    assert.deepEqual(await isStored(), [true, true], "an ended session has its files as long as it is kept");
    await dropIn(21, { sessionsMs: 20 * DAY_MS });
    assert.equal(await status(`/api/sessions/${ended.id}`), 404);
    await collectIn(21);
    assert.deepEqual(await isStored(), [true, true], "until the grace is over");
    await collectIn(23);
    assert.deepEqual(await isStored(), [false, true]);
    const content = await scene.call("GET", `/api/sessions/${open.id}/files/${kept}/content`);
    assert.equal(content.text, "of both");
    await collectIn(60);
    assert.deepEqual(await isStored(), [false, true]);
  });
});
