// V8 gives an object that has a getter of its own a shape of its own, which outlives it until the next full collection.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunContext, StepContext } from "@keelson/sdk";
import { declare, outputOf } from "./support/declare.ts";

async function contextOfRun(): Promise<RunContext> {
  const contexts: RunContext[] = [];
  outputOf(await declare((ctx) => void contexts.push(ctx)).ended());
  return contexts[0] as RunContext;
}

test("the contexts of all runs have the same getters", async () => {
  const [one, other] = [await contextOfRun(), await contextOfRun()].map(Object.getOwnPropertyDescriptors);
  const getters = Object.entries(one as object).filter(([, { get }]) => get !== undefined);
  assert.deepEqual(getters.map(([name]) => name).toSorted(), ["client", "workspace"]);
  for (const [name, { get }] of getters) assert.equal(get, other?.[name as "client"].get);
});

test("a context has one client, which is its run's own, however the context is passed on", async () => {
  const [one, other] = [await contextOfRun(), await contextOfRun()];
  assert.notEqual(one.client, other.client);
  const { client } = one;
  const passedOn: RunContext[] = [one, { ...one }, new Proxy(one, {}), Object.create(one) as RunContext];
  for (const context of passedOn) assert.equal(context.client, client);
});

test("the context of a step has values alone", async () => {
  const contexts: StepContext[] = [];
  outputOf(await declare((ctx) => ctx.step("step", (context) => void contexts.push(context))).ended());
  const descriptors = Object.values(Object.getOwnPropertyDescriptors(contexts[0] as StepContext));
  assert.ok(descriptors.every(({ get }) => get === undefined));
});
