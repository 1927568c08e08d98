import assert from "node:assert/strict";
import { test } from "node:test";
import { createWakeNotifier } from "./wake-notifier.ts";

function collected(): { sent: string[]; notifier: ReturnType<typeof createWakeNotifier> } {
  const sent: string[] = [];
  const notifier = createWakeNotifier({
    replicaId: "me",
    intervalMs: 60_000,
    notify: async (_channel, payload) => void sent.push(payload),
    onError: assert.ifError,
  });
  return { sent, notifier };
}

test("what was woken just before the stop is sent", async () => {
  const { sent, notifier } = collected();
  notifier.add("r:1");
  notifier.add("r:2");
  await notifier.stop();
  assert.deepEqual(sent, ["me r:1 r:2"]);
});

test("a stop with nothing to tell sends nothing", async () => {
  const { sent, notifier } = collected();
  await notifier.stop();
  assert.deepEqual(sent, []);
});
