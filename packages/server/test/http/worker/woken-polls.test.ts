// A poll that is answered with a new run, while its worker is told of something else: the next poll has that at once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";

/** Which comes first is left to the machine: one order of two was lost. */
const ROUNDS = 30;

let scene: RunScene;
before(async () => (scene = await startRunScene({ tasks: [{ id: "parent" }] })));
after(() => scene.stop());

/** A run that waits for a token, its process there. @returns the token's id. */
async function waiting(lease: HeldLease): Promise<string> {
  const token = await scene.call("POST", "/v1/tokens", { body: {} });
  const wait = { position: 1, name: "approval", kind: "token", token_id: token.body.id };
  const started = lease.operation("start");
  const parked = lease.operation("waits", { waits: [wait], parked: true });
  assert.deepEqual(await scene.worker.report(started, parked), [200, 200]);
  return token.body.id as string;
}

test("a settled wait is told by the poll that was open, or by the next one at once", async () => {
  let lateRounds = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await scene.start("parent");
    const lease = await scene.worker.takeOne();
    const token = await waiting(lease);
    const requestId = `both-${round}`;
    const polled = scene.worker.lease({ limit: 1, wait: "20s", requestId });
    await scene.worker.seesRequest(requestId);
    await Promise.all([
      scene.start("parent"),
      scene.call("POST", `/v1/tokens/${token}/complete`, { body: { data: 1 } }),
    ]);
    const first = await polled;
    const answers = [first, await scene.worker.lease({ limit: 0 }), await scene.worker.lease({ limit: 1 })];
    const told = answers.findIndex(({ resumptions }) =>
      resumptions.some(({ lease_id: id }: { lease_id: string }) => id === lease.fields.lease_id),
    );
    assert.notEqual(told, -1, `round ${round}: nobody told of the settled wait`);
    lateRounds += Number(told > 0);
    await scene.worker.releaseAll();
    await scene.cancelAll();
  }
  console.log(`${ROUNDS} rounds, in ${lateRounds} the poll was answered with the run alone`);
});
