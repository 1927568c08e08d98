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

test("who is alone tells nobody, until somebody is heard", async () => {
  const { sent, notifier } = collected();
  notifier.listening(1);
  notifier.add("r:1");
  assert.deepEqual(notifier.read("other here"), ["here"]);
  notifier.add("r:2");
  await notifier.stop();
  assert.deepEqual(sent, ["me r:2"]);
});

test("who is not alone, or does not see whether, tells all", async () => {
  const { sent, notifier } = collected();
  for (const count of [2, 0]) {
    notifier.listening(1);
    notifier.listening(count);
    notifier.add(`r:${count}`);
  }
  await notifier.stop();
  assert.deepEqual(sent, ["me r:2 r:0"]);
});

test("who is alone greets nevertheless, and is not told of itself", async () => {
  const { sent, notifier } = collected();
  notifier.listening(1);
  notifier.greet();
  await notifier.stop();
  assert.deepEqual(sent, ["me here"]);
  notifier.read("me here");
  notifier.add("r:1");
  await notifier.stop();
  assert.equal(sent.length, 1);
});
