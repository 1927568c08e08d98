// A transaction that makes runs ready gives them to a worker whose poll is open.

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
import { createLoans, type Loans } from "../../src/core/leases/loans.ts";
import { createRecentLooks } from "../../src/core/leases/recent-looks.ts";
import { sql } from "../../src/db/sql.ts";
import { readyRunsOf, type ReadyRuns } from "../support/ready-runs.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { CLAIM } from "../support/seen-claims.ts";

let scene: RunScene;
let ready: ReadyRuns;
let context: LeaseContext;
let untilOpen: Promise<void>;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  ready = await readyRunsOf(scene);
});
after(() => scene.stop());
beforeEach(() => begin(false));

async function begin(isHeld: boolean): Promise<void> {
  await scene.server.db.query(sql`DELETE FROM executions`);
  const wakes = createWakes(() => undefined);
  const leasePolls = createLeasePolls();
  const opened = Promise.withResolvers<void>();
  untilOpen = opened.promise;
  context = {
    ...ready.begin(isHeld),
    ...{ db: scene.server.db, clock: scene.clock.now, wakes },
    recentLooks: createRecentLooks(wakes, () => 0),
    leasePolls: {
      ...leasePolls,
      open: (poll) => {
        leasePolls.open(poll);
        opened.resolve();
      },
    },
    ...{ leaseDurationMs: 15_000, noteLeased: () => undefined },
  };
}

const lease = (): Promise<LeaseAnswer> => {
  const call = {
    workerId: decodeId("wkr", scene.worker.id) as Uuid<"wkr">,
    workerGroupId: ready.workerGroupId,
    ...{ leaseRequestId: randomUUID(), calledAt: scene.clock.now(), limit: 4, heldChecks: null },
    waitMs: 600_000,
  };
  return leaseExecutions(context, call, new AbortController().signal);
};

const wake = (): void => context.wakes.wake(wakeKeys.work(ready.workerGroupId));
const addOne = (): Promise<void> => ready.add([randomUUID()], 1);

/** A run is ready, which nobody is told of but by the loans of a transaction. */
async function lend(): Promise<Loans> {
  await addOne();
  const loans = createLoans(context);
  await scene.server.db.transaction((tx) => loans.lend(tx, [ready.workerGroupId]));
  return loans;
}

const epochsOf = ({ executions }: LeaseAnswer): number[] => executions.map(({ epoch }) => epoch);

describe("a poll that a transaction takes", () => {
  test("is answered with the run, without a look of its own", async () => {
    const recorded = await recordOwnQueries(async () => {
      const answer = lease();
      await untilOpen;
      (await lend()).deliver();
      assert.deepEqual(epochsOf(await answer), [1]);
    });
    assert.equal(recorded.filter(({ text }) => CLAIM.test(text)).length, 2);
  });

  test("looks for itself when the transaction is undone", async () => {
    const answer = lease();
    await untilOpen;
    await addOne();
    const loans = createLoans(context);
    const undone = new Error("undone");
    const lending = scene.server.db.transaction(async (tx) => {
      await loans.lend(tx, [ready.workerGroupId]);
      throw undone;
    });
    await assert.rejects(lending, (error) => error === undone);
    loans.giveBack();
    assert.deepEqual(epochsOf(await answer), [1]);
  });

  test("finds what it was given when nobody knows whether the transaction is durable", async () => {
    const answer = lease();
    await untilOpen;
    (await lend()).giveBack();
    assert.deepEqual(epochsOf(await answer), [1]);
  });

  test("is followed by one that rests, as the transaction woke nobody else", async () => {
    const first = lease();
    await untilOpen;
    const loans = await lend();
    wake();
    loans.deliver();
    await first;
    const recorded = await recordOwnQueries(async () => {
      const second = lease();
      await addOne();
      wake();
      assert.deepEqual(epochsOf(await second), [1]);
    });
    assert.equal(recorded.filter(({ text }) => CLAIM.test(text)).length, 1);
  });

  test("is not taken while an old snapshot is held", async () => {
    await begin(true);
    const answer = lease();
    await untilOpen;
    (await lend()).deliver();
    const [row] = await scene.server.db.query<{ ready: boolean }>(sql`SELECT ready FROM executions`);
    assert.equal(row?.ready, true);
    wake();
    assert.deepEqual(epochsOf(await answer), [1]);
  });
});
