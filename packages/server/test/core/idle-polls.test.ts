// What a worker's polls ask PostgreSQL while there is nothing for it, and that they miss nothing by asking less.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import type { LeaseAnswer } from "../../src/core/leases/lease-executions.ts";
import { wakeKeys } from "../../src/core/feeds/wake-keys.ts";
import { leaseMaterializations } from "../../src/core/materializations/lease-materializations.ts";
import { createWorkspacePolls } from "../../src/core/processes/workspace-polls.ts";
import { createDeployment } from "../support/deploy.ts";
import { leaseCallsOf, type LeaseCalls, type LeaseServer } from "../support/lease-calls.ts";
import { recordOwnQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { CLAIM } from "../support/seen-claims.ts";
import { workspaceCalls } from "../support/workspaces.ts";

let scene: RunScene;
let calls: LeaseCalls;
const workerId = () => decodeId("wkr", scene.worker.id) as Uuid<"wkr">;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
  calls = await leaseCallsOf(scene);
});
after(() => scene.stop());

describe("a worker that polls again for runs", () => {
  /** What a poll asked until it was open. It waits for a moment, and finds nothing. */
  async function openOnce(server: LeaseServer): Promise<{ asked: number; looks: number }> {
    let answer: Promise<LeaseAnswer> | undefined;
    const asked = await recordOwnQueries(async () => {
      answer = server.lease({ limit: 4, waitMs: 50 });
      await server.untilOpen();
    });
    assert.deepEqual((await answer)?.executions, []);
    return { asked: asked.length, looks: asked.filter(({ text }) => CLAIM.test(text)).length };
  }

  test("asks once whether there is anything, while it is told of nothing", async () => {
    const server = await calls.begin({ nowMs: () => performance.now() });
    assert.deepEqual(await openOnce(server), { asked: 3, looks: 1 });
    for (let again = 0; again < 2; again += 1)
      assert.deepEqual(await openOnce(server), { asked: 1, looks: 0 });
  });

  test("looks when it was told, though nothing is there", async () => {
    const server = await calls.begin({ nowMs: () => performance.now() });
    await openOnce(server);
    server.wake();
    assert.equal((await openOnce(server)).looks, 1);
  });

  test("looks when somebody tells it between its question and its wait", async () => {
    const server = await calls.begin({ nowMs: () => performance.now() });
    await openOnce(server);
    const { wakes } = server.context;
    let isTold = false;
    server.context.wakes = {
      ...wakes,
      wait: (...given) => {
        if (!isTold) server.wake();
        isTold = true;
        return wakes.wait(...given);
      },
    };
    assert.equal((await openOnce(server)).looks, 1);
  });

  test("hears at once what it was told of itself between two calls", async () => {
    const server = await calls.begin({ nowMs: () => performance.now() });
    await openOnce(server);
    server.context.wakes.wakeLocal(wakeKeys.worker(workerId()));
    const asked = await recordOwnQueries(async () => void (await server.lease({ limit: 4, waitMs: 0 })));
    assert.ok(
      asked.some(({ text }) => /status = 'cancel_requested'/.test(text)),
      "nobody looked for that",
    );
  });

  test("gets a run that nobody told of", async () => {
    const server = await calls.begin({ nowMs: () => performance.now() });
    await openOnce(server);
    await server.addOne();
    assert.equal((await server.lease({ limit: 4 })).executions.length, 1);
  });

  test("is open for a run that is started while it waits", async () => {
    const server = await calls.begin({ nowMs: () => performance.now() });
    await openOnce(server);
    const answer = server.lease({ limit: 4 });
    await server.untilOpen();
    await server.addOne();
    server.wake();
    assert.equal((await answer).executions.length, 1);
  });

  test("gets a deployment to check that nobody told of", async () => {
    const server = await calls.begin({ nowMs: () => performance.now() });
    await openOnce(server);
    await createDeployment(scene.server, { tasks: [] });
    assert.equal((await server.lease({ limit: 4 })).deploymentChecks.length, 1);
  });
});

describe("a worker that polls again for workspaces", () => {
  const wakes = createWakes(() => undefined);
  const calling = () => ({
    workerId: workerId(),
    workerGroupId: calls.ready.workerGroupId,
    ...({ calledAt: scene.clock.now(), limit: 1, isolation: "process", held: [], quarantined: [] } as const),
    beginsGiven: true,
  });
  const lease = (waitMs: number) =>
    leaseMaterializations(
      {
        ...{ db: scene.server.db, clock: scene.clock.now, wakes, leaseDurationMs: 15_000 },
        workspacePolls: createWorkspacePolls(),
        liveProcesses: { all: () => null },
      },
      { ...calling(), waitMs },
      new AbortController().signal,
    );

  test("asks once whether there is anything, while it has nothing and is told of nothing", async () => {
    const asked = await recordOwnQueries(async () => {
      const { materializations } = await lease(0);
      assert.deepEqual(materializations, []);
    });
    // The other one says what isolation works there.
    assert.equal(asked.length, 2, asked.map(({ text }) => text).join("\n\n"));
  });

  test("gets a workspace that nobody told of, and again what it does not say that it has", async () => {
    const workspaces = workspaceCalls(scene.server);
    const asked = async (): Promise<string> => {
      const { id } = await workspaces.create();
      const exec = await scene.call("POST", `/api/workspaces/${id}/execs`, { body: { command: ["true"] } });
      assert.equal(exec.status, 201, exec.text);
      return id;
    };
    const first = await asked();
    const given = async (answer: ReturnType<typeof lease>) =>
      (await answer).materializations.map(({ workspaceId }) => encodeId("ws", workspaceId));
    assert.deepEqual(await given(lease(0)), [first]);
    assert.deepEqual(await given(lease(0)), [first]);
    const second = await asked();
    assert.deepEqual((await given(lease(0))).sort(), [first, second].sort());
  });
});
