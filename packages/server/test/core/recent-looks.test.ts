// A worker that was given all that there was does not look for more before somebody says that there is.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { createLeasePolls } from "../../src/core/executions/lease-polls.ts";
import { wakeKeys } from "../../src/core/feeds/wake-keys.ts";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import {
  leaseExecutions,
  type LeaseAnswer,
  type LeaseContext,
} from "../../src/core/leases/lease-executions.ts";
import { createRecentLooks } from "../../src/core/leases/recent-looks.ts";
import { sql } from "../../src/db/sql.ts";
import { readyRunsOf, type ReadyRuns } from "../support/ready-runs.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { CLAIM, untilClaimed } from "../support/seen-claims.ts";

let scene: RunScene;
let ready: ReadyRuns;
let context: LeaseContext;
let nowMs: number;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  ready = await readyRunsOf(scene);
});
after(() => scene.stop());
beforeEach(async () => {
  await scene.server.db.query(sql`DELETE FROM executions`);
  nowMs = 0;
  const wakes = createWakes(() => undefined);
  context = {
    ...ready.begin(false),
    ...{ db: scene.server.db, clock: scene.clock.now, wakes },
    recentLooks: createRecentLooks(wakes, () => nowMs),
    leasePolls: createLeasePolls(),
    ...{ leaseDurationMs: 15_000, noteLeased: () => undefined },
  };
});

const lease = (limit: number, leaseRequestId: string = randomUUID()): Promise<LeaseAnswer> => {
  const call = {
    workerId: decodeId("wkr", scene.worker.id) as Uuid<"wkr">,
    workerGroupId: ready.workerGroupId,
    ...{ leaseRequestId, calledAt: scene.clock.now(), limit, heldChecks: null, waitMs: 600_000 },
  };
  return leaseExecutions(context, call, new AbortController().signal);
};

const wake = (): void => context.wakes.wake(wakeKeys.work(ready.workerGroupId));

/** How many runs it was given, and how often it looked for them. */
async function leased(
  limit: number,
  meanwhile?: () => Promise<void>,
): Promise<{ runs: number; looks: number }> {
  let runs = 0;
  const recorded = await recordOwnQueries(async () => {
    const answer = lease(limit);
    await meanwhile?.();
    runs = (await answer).executions.length;
  });
  return { runs, looks: recorded.filter(({ text }) => CLAIM.test(text)).length };
}

const addOne = (): Promise<void> => ready.add([randomUUID()], 1);

describe("a worker that polls again", () => {
  test("does not look before it is told of a run", async () => {
    await addOne();
    assert.deepEqual(await leased(4), { runs: 1, looks: 1 });
    const added = async (): Promise<void> => {
      await addOne();
      wake();
    };
    assert.deepEqual(await leased(4, added), { runs: 1, looks: 1 });
  });

  test("looks when it was told between the two", async () => {
    await addOne();
    await leased(4);
    await addOne();
    wake();
    assert.deepEqual(await leased(4), { runs: 1, looks: 1 });
  });

  test("looks after a moment for what nobody told of", async () => {
    await addOne();
    await leased(4);
    await addOne();
    const id = randomUUID();
    const answer = lease(4, id);
    nowMs += 25;
    assert.equal((await answer).executions.length, 1);
    await untilClaimed(id);
  });

  test("looks at once when it had no room for more", async () => {
    const environments = [randomUUID()];
    await ready.add(environments, 2);
    assert.deepEqual(await leased(1), { runs: 1, looks: 1 });
    assert.deepEqual(await leased(1), { runs: 1, looks: 1 });
  });

  test("is answered at once when it does not wait", async () => {
    await addOne();
    await leased(4);
    await addOne();
    const call = {
      workerId: decodeId("wkr", scene.worker.id) as Uuid<"wkr">,
      workerGroupId: ready.workerGroupId,
      ...{ leaseRequestId: randomUUID(), calledAt: scene.clock.now(), limit: 4, heldChecks: null, waitMs: 0 },
    };
    const answer = await leaseExecutions(context, call, new AbortController().signal);
    assert.equal(answer.executions.length, 1);
  });
});
