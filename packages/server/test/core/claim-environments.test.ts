// A claim costs what it takes, however many environments have runs, and each environment has its turn.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import type { Uuid } from "@keelson/contract";
import type { ClaimContext } from "../../src/core/executions/claim-executions.ts";
import { sql } from "../../src/db/sql.ts";
import { readPlan } from "../support/read-plan.ts";
import { readyRunsOf, type ReadyRuns } from "../support/ready-runs.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";

let scene: RunScene;
let ready: ReadyRuns;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  ready = await readyRunsOf(scene);
});
after(() => scene.stop());
afterEach(async () => {
  await scene.server.db.query(sql`DELETE FROM executions`);
});

/** In order. */
const newEnvironments = (count: number): string[] =>
  Array.from({ length: count }, () => randomUUID()).toSorted();

for (const { name, isHeld } of [
  { name: "a claim that looks for itself", isHeld: false },
  { name: "a claim where runs are known to begin", isHeld: true },
])
  describe(name, () => {
    let context: ClaimContext;
    const fill = async (ids: readonly string[], runs: number): Promise<void> => {
      await ready.add(ids, runs);
      context = ready.begin(isHeld);
    };
    const claim = async (limit: number): Promise<string[]> =>
      (await ready.claim(context, limit)).map(({ environmentId }) => environmentId);

    for (const count of [1, 10, 400])
      test(`of 16 locks and reads as much with ${count} environments as with few`, async () => {
        await fill(newEnvironments(count), 20);
        const claims = await ready.recordClaim(context, 16);
        assert.equal(claims.length, 1);
        const { locked, read, scans } = await readPlan(scene.server.db, claims[0] as (typeof claims)[number]);
        assert.ok(locked >= 16 && locked <= 80, `${locked} rows locked`);
        assert.ok(read <= 400, `${read} rows read: ${scans.join("; ")}`);
      });

    test("of one gives each environment its turn", async () => {
      const ids = newEnvironments(30);
      await fill(ids, 3);
      for (let round = 0; round < 3; round += 1) {
        const given: string[] = [];
        for (const _ of ids) given.push(...(await claim(1)));
        assert.deepEqual(given.toSorted(), ids);
      }
      assert.deepEqual(await claim(1), []);
    });

    test("that is too large for equal shares begins with another environment each time", async () => {
      const ids = newEnvironments(3);
      await fill(ids, 8);
      const given = new Map(ids.map((id) => [id, 0]));
      for (let round = 0; round < 6; round += 1)
        for (const id of await claim(4)) given.set(id, (given.get(id) ?? 0) + 1);
      assert.deepEqual([...given.values()], [8, 8, 8]);
    });

    test("is full where one environment has the backlog and the others have a run each", async () => {
      const few = newEnvironments(15);
      const many = newEnvironments(1);
      await fill(few, 1);
      await fill(many, 200);
      const given = await claim(16);
      assert.deepEqual(given.toSorted(), [...few, ...many].toSorted());
    });

    test("finds what there is behind environments with nothing for the worker", async () => {
      const barren = newEnvironments(200);
      await fill(barren, 1);
      await scene.server.db.query(sql`UPDATE executions SET expires_at = to_timestamp(1)`);
      for (const start of [barren[150], barren[0]]) {
        const last = newEnvironments(1);
        await fill(last, 1);
        context.claimStarts.moveTo(`anywhere ${ready.workerGroupId}`, start as Uuid<"env">);
        assert.deepEqual(await claim(1), last);
      }
      assert.deepEqual(await claim(1), []);
    });

    test("finds what there is beside runs that another claim takes in this moment", async () => {
      const ids = newEnvironments(5);
      await fill(ids, 1);
      await scene.server.db.transaction(async (tx) => {
        await tx.query(
          sql`SELECT FROM executions WHERE environment_id = ANY(${ids.slice(0, 3)}::uuid[]) FOR UPDATE`,
        );
        assert.deepEqual(await claim(1), [ids[3]]);
      });
      assert.deepEqual((await claim(16)).toSorted(), [...ids.slice(0, 3), ids[4]]);
    });
  });

test("a claim says that it took all, and not while an environment may have more than its share", async () => {
  const claimed = async (context: ClaimContext, limit: number): Promise<unknown> => {
    const { executions, isAll } = await ready.claimed(context, limit);
    return { count: executions.length, isAll };
  };
  const [backlog = "", ...barren] = newEnvironments(8);
  await ready.add([backlog, ...barren], 1);
  await scene.server.db.query(sql`UPDATE executions SET expires_at = to_timestamp(1)`);
  await ready.add([backlog], 7);
  const context = ready.begin(false);
  // Of eight environments each gives half of the claim at most.
  assert.deepEqual(await claimed(context, 10), { count: 5, isAll: false });
  assert.deepEqual(await claimed(context, 2), { count: 2, isAll: false });
  await ready.add([backlog], 3);
  assert.deepEqual(await claimed(context, 10), { count: 3, isAll: true });
  assert.deepEqual(await claimed(context, 10), { count: 0, isAll: true });
  assert.deepEqual(await claimed(ready.begin(true), 10), { count: 0, isAll: false });
});
