// A transaction that makes runs ready gives them to a worker whose poll is open.

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import type { LeaseAnswer } from "../../src/core/leases/lease-executions.ts";
import { createLoans, type Loans } from "../../src/core/leases/loans.ts";
import { sql } from "../../src/db/sql.ts";
import { leaseCallsOf, type LeaseCalls, type LeaseServer } from "../support/lease-calls.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { CLAIM } from "../support/seen-claims.ts";

let scene: RunScene;
let calls: LeaseCalls;
let server: LeaseServer;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  calls = await leaseCallsOf(scene);
});
after(() => scene.stop());
beforeEach(async () => {
  server = await calls.begin();
});

const lease = (): Promise<LeaseAnswer> => server.lease({ limit: 4 });

/** A run is ready, which nobody is told of but by the loans of a transaction. */
async function lend(): Promise<Loans> {
  await server.addOne();
  const loans = createLoans(server.context);
  await scene.server.db.transaction((tx) => loans.lend(tx, [calls.ready.workerGroupId]));
  return loans;
}

const epochsOf = ({ executions }: LeaseAnswer): number[] => executions.map(({ epoch }) => epoch);

async function isReady(): Promise<boolean | undefined> {
  const [row] = await scene.server.db.query<{ ready: boolean }>(sql`SELECT ready FROM executions`);
  return row?.ready;
}

describe("a poll that a transaction takes", () => {
  test("is answered with the run, without a look of its own", async () => {
    const recorded = await recordOwnQueries(async () => {
      const answer = lease();
      await server.untilOpen();
      await (await lend()).deliver();
      assert.deepEqual(epochsOf(await answer), [1]);
    });
    assert.equal(recorded.filter(({ text }) => CLAIM.test(text)).length, 2);
  });

  test("looks for itself when the transaction is undone", async () => {
    const answer = lease();
    await server.untilOpen();
    await server.addOne();
    const loans = createLoans(server.context);
    const undone = new Error("undone");
    const lending = scene.server.db.transaction(async (tx) => {
      await loans.lend(tx, [calls.ready.workerGroupId]);
      throw undone;
    });
    await assert.rejects(lending, (error) => error === undone);
    loans.giveBack();
    assert.deepEqual(epochsOf(await answer), [1]);
  });

  test("finds what it was given when nobody knows whether the transaction is durable", async () => {
    const answer = lease();
    await server.untilOpen();
    (await lend()).giveBack();
    assert.deepEqual(epochsOf(await answer), [1]);
  });

  test("is followed by one that rests, as the transaction woke nobody else", async () => {
    const first = lease();
    await server.untilOpen();
    const loans = await lend();
    server.wake();
    await loans.deliver();
    await first;
    const recorded = await recordOwnQueries(async () => {
      const second = lease();
      await server.addOne();
      server.wake();
      assert.deepEqual(epochsOf(await second), [1]);
    });
    assert.equal(recorded.filter(({ text }) => CLAIM.test(text)).length, 1);
  });

  test("is not taken while an old snapshot is held", async () => {
    server = await calls.begin({ isHeld: true });
    const answer = lease();
    await server.untilOpen();
    await (await lend()).deliver();
    assert.equal(await isReady(), true);
    server.wake();
    assert.deepEqual(epochsOf(await answer), [1]);
  });

  test("gets nothing while somebody drains its worker, whom the transaction does not wait for", async () => {
    const { db } = scene.server;
    const answer = lease();
    await server.untilOpen();
    await db.transaction(async (tx) => {
      await tx.query(sql`SELECT FROM workers WHERE id = ${decodeId("wkr", scene.worker.id)} FOR UPDATE`);
      await (await lend()).deliver();
      assert.equal(await isReady(), true);
    });
    server.wake();
    assert.deepEqual(epochsOf(await answer), [1]);
  });
});
