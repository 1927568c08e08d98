import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Uuid } from "@keelson/contract";
import { wakeKeys } from "./wake-keys.ts";
import { createWakes } from "./wakes.ts";

describe("wakes", () => {
  it("resolve every waiter of the key and tell the other replicas", async () => {
    const told: string[] = [];
    const wakes = createWakes((key) => told.push(key));
    const waiting = [wakes.wait("k", 10_000), wakes.wait("k", 10_000)];
    wakes.wake("k");
    assert.deepEqual(await Promise.all(waiting), [true, true]);
    assert.deepEqual(told, ["k"]);
    assert.equal(wakes.waiting("k"), false);
  });

  it("resolve false after the timeout and when the signal aborts", async () => {
    const wakes = createWakes(() => undefined);
    assert.equal(await wakes.wait("k", 1), false);
    const controller = new AbortController();
    const waiting = wakes.wait("k", 10_000, controller.signal);
    controller.abort();
    assert.equal(await waiting, false);
    assert.equal(wakes.waiting("k"), false);
  });

  it("remember a worker's own wake until it waits again, and no other key's", async () => {
    const wakes = createWakes(() => undefined);
    wakes.wakeLocal(wakeKeys.worker("w1" as Uuid<"wkr">));
    wakes.wakeLocal(wakeKeys.run("r1" as Uuid<"run">));
    assert.equal(await wakes.wait(wakeKeys.worker("w1" as Uuid<"wkr">), 10_000), true);
    assert.equal(await wakes.wait(wakeKeys.worker("w1" as Uuid<"wkr">), 1), false);
    assert.equal(await wakes.wait(wakeKeys.run("r1" as Uuid<"run">), 1), false);
  });

  it("count the wakes of a key from when it is first asked for, those of a gap too", () => {
    const wakes = createWakes(() => undefined);
    wakes.wake("k");
    assert.equal(wakes.woken("k"), 0);
    wakes.wake("k");
    wakes.wakeLocal("k");
    wakes.wake("other");
    assert.deepEqual([wakes.woken("k"), wakes.woken("other")], [2, 0]);
    wakes.wakeAll();
    assert.deepEqual([wakes.woken("k"), wakes.woken("other")], [3, 1]);
  });
});
