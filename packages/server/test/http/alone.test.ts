// A server tells others what it woke, and nobody while it is alone: each NOTIFY is a commit.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { WAKE_CHANNEL } from "../../src/core/feeds/wake-notifier.ts";
import { recordQueries } from "../support/record-queries.ts";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { letPass, until } from "../support/until.ts";

/** Time for two looks at who listens. */
const LOOKS_MS = 5_000;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }] });
});
after(() => scene.stop());

/** Whether a run that is started is told of. */
async function isTold(): Promise<boolean> {
  const { id } = await scene.start("plain");
  const recorded = await recordQueries(async () => {
    await scene.cancel(id);
    await letPass(500, "others are told a moment later");
  });
  return recorded.some(
    ({ text, values }) => text.includes("pg_notify") && values[0] === WAKE_CHANNEL && sayRun(values[1]),
  );
}

const sayRun = (payload: unknown): boolean => / r:/.test(String(payload));

test("a server tells nobody while it is alone, and others as long as they are there", async () => {
  const isQuiet = (): Promise<void> =>
    until("the server to tell nobody", 60_000, async () => !(await isTold()));
  await isQuiet();
  const other = await scene.server.startReplica();
  try {
    await until("the server to tell the other one", 60_000, isTold);
    // It is not the greeting alone: each look sees the other one.
    for (const begun = performance.now(); performance.now() - begun < LOOKS_MS;)
      assert.equal(await isTold(), true);
  } finally {
    await other.stop();
  }
  await isQuiet();
});
