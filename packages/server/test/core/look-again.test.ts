// A lease call that was told of a run and did not get it looks again by itself, soon after.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createLeasePolls } from "../../src/core/executions/lease-polls.ts";
import { wakeKeys } from "../../src/core/feeds/wake-keys.ts";
import { createWakes, type Wakes } from "../../src/core/feeds/wakes.ts";
import {
  leaseExecutions,
  type LeaseAnswer,
  type LeaseContext,
} from "../../src/core/leases/lease-executions.ts";
import { createRecentLooks } from "../../src/core/leases/recent-looks.ts";
import { sql } from "../../src/db/sql.ts";
import { readyRunsOf, type ReadyRuns } from "../support/ready-runs.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { untilClaimed } from "../support/seen-claims.ts";

/** A poll looks this often whatever happens. Here it never does, so that nothing else can find the run. */
const SAFETY_POLL_MS = 5_000;

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

const withoutSafetyPoll = (wakes: Wakes): Wakes => ({
  ...wakes,
  wait: (key, timeoutMs, signal) => wakes.wait(key, timeoutMs < SAFETY_POLL_MS ? timeoutMs : 2 ** 30, signal),
});

for (const isHeld of [false, true])
  describe(`a lease call ${isHeld ? "while an old snapshot is held" : "as ever"}`, () => {
    let context: LeaseContext;
    beforeEach(() => {
      context = {
        ...ready.begin(isHeld),
        db: scene.server.db,
        clock: scene.clock.now,
        wakes: withoutSafetyPoll(createWakes(() => undefined)),
        leasePolls: createLeasePolls(),
        recentLooks: createRecentLooks({ woken: () => 0 }),
        leaseDurationMs: 15_000,
        noteLeased: () => undefined,
      };
    });

    /** Resolves when it has looked for runs once. */
    async function open(): Promise<{ answer: Promise<LeaseAnswer> }> {
      const leaseRequestId = randomUUID();
      const call = {
        workerId: decodeId("wkr", scene.worker.id) as Uuid<"wkr">,
        workerGroupId: ready.workerGroupId,
        ...{ leaseRequestId, calledAt: scene.clock.now(), limit: 1, heldChecks: null, waitMs: 600_000 },
      };
      const answer = leaseExecutions(context, call, new AbortController().signal);
      await untilClaimed(leaseRequestId);
      return { answer };
    }

    test("gets a run whose row somebody held when it looked", async () => {
      await ready.add([randomUUID()], 1);
      let answer: Promise<LeaseAnswer> | undefined;
      await scene.server.db.transaction(async (tx) => {
        await tx.query(sql`SELECT FROM executions FOR UPDATE`);
        ({ answer } = await open());
      });
      assert.equal((await answer)?.executions.length, 1);
    });

    test("gets a run that becomes ready with an id before those that it looks at", async () => {
      const environments = [randomUUID()];
      await ready.add(environments, 1);
      assert.equal((await (await open()).answer).executions.length, 1);
      const { answer } = await open();
      scene.clock.advance(-3_600_000);
      await ready.add(environments, 1);
      scene.clock.advance(3_600_000);
      context.wakes.wake(wakeKeys.work(ready.workerGroupId));
      assert.equal((await answer).executions.length, 1);
    });
  });
