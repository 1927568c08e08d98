// A worker that was given all that there was does not look for more before somebody says that there is.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { leaseCallsOf, type LeaseCalls, type LeaseServer } from "../support/lease-calls.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { CLAIM, untilClaimed } from "../support/seen-claims.ts";

let scene: RunScene;
let calls: LeaseCalls;
let server: LeaseServer;
let nowMs: number;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  calls = await leaseCallsOf(scene);
});
after(() => scene.stop());
beforeEach(async () => {
  nowMs = 0;
  server = await calls.begin({ nowMs: () => nowMs });
});

/** How many runs it was given, and how often it looked for them. */
async function leased(
  limit: number,
  meanwhile?: () => Promise<void>,
): Promise<{ runs: number; looks: number }> {
  let runs = 0;
  const recorded = await recordOwnQueries(async () => {
    const answer = server.lease({ limit });
    await meanwhile?.();
    runs = (await answer).executions.length;
  });
  return { runs, looks: recorded.filter(({ text }) => CLAIM.test(text)).length };
}

describe("a worker that polls again", () => {
  test("does not look before it is told of a run", async () => {
    await server.addOne();
    assert.deepEqual(await leased(4), { runs: 1, looks: 1 });
    const added = async (): Promise<void> => {
      await server.addOne();
      server.wake();
    };
    assert.deepEqual(await leased(4, added), { runs: 1, looks: 1 });
  });

  test("looks when it was told between the two", async () => {
    await server.addOne();
    await leased(4);
    await server.addOne();
    server.wake();
    assert.deepEqual(await leased(4), { runs: 1, looks: 1 });
  });

  test("looks after a moment for what nobody told of", async () => {
    await server.addOne();
    await leased(4);
    await server.addOne();
    const requestId = randomUUID();
    const answer = server.lease({ limit: 4, requestId });
    nowMs += 25;
    assert.equal((await answer).executions.length, 1);
    await untilClaimed(requestId);
  });

  test("looks at once when it had no room for more", async () => {
    await calls.ready.add([randomUUID()], 2);
    assert.deepEqual(await leased(1), { runs: 1, looks: 1 });
    assert.deepEqual(await leased(1), { runs: 1, looks: 1 });
  });

  test("is answered at once when it does not wait", async () => {
    await server.addOne();
    await leased(4);
    await server.addOne();
    const answer = await server.lease({ limit: 4, waitMs: 0 });
    assert.equal(answer.executions.length, 1);
  });
});
