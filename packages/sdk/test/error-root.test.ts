import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "@keelson/sdk";
import * as browser from "@keelson/sdk/browser";
import * as client from "@keelson/sdk/client";
import { declare, outputOf } from "./support/declare.ts";

type ErrorClass = (abstract new (...args: never[]) => Error) & { name: string };

const isErrorClass = (value: unknown): value is ErrorClass =>
  typeof value === "function" && value.prototype instanceof Error;

test("every error class of every entry extends KeelsonError", () => {
  let classes = 0;
  for (const entry of [sdk, browser, client])
    for (const [name, value] of Object.entries(entry)) {
      if (!isErrorClass(value)) continue;
      classes += 1;
      assert.ok(value === sdk.KeelsonError || value.prototype instanceof sdk.KeelsonError, name);
    }
  assert.equal(classes > 30, true, String(classes));
  assert.equal(sdk.KeelsonError, client.KeelsonError);
});

test("what is used wrongly throws a KeelsonError that says so by its class", async () => {
  const wrong: (() => unknown)[] = [
    () => sdk.now(),
    () => sdk.task({ id: "has space", run: () => 1 }),
    () => sdk.queue({ name: "" }),
    () => new sdk.Client({ url: "ftp://x", apiKey: "x" }),
    () => new sdk.RetryAfterError("later", "soon" as never),
  ];
  for (const call of wrong) assert.throws(call, isUsageError);
  const { ended } = declare(async ({ step, wait, metadata }) => {
    assert.throws(() => metadata.set("n", 1n), isUsageError);
    await assert.rejects(
      step("", () => 1),
      isUsageError,
    );
    await step("inside", () => assert.rejects(wait.for("1s"), isUsageError));
    await assert.rejects(wait.for("1 second" as never), isUsageError);
  });
  outputOf(await ended());
});

const isUsageError = (error: unknown): boolean =>
  error instanceof sdk.KeelsonError && error instanceof sdk.UsageError && error.name === "UsageError";

test("an error of the API is a KeelsonError with its status and code", async () => {
  const unreachable = new sdk.Client({ url: "http://127.0.0.1:1", apiKey: "x", maxRetries: 0 });
  const error: unknown = await unreachable.runs.get("run_1").catch((thrown: unknown) => thrown);
  assert.ok(error instanceof sdk.ConnectionError);
  assert.ok(error instanceof sdk.ApiError);
  assert.ok(error instanceof sdk.KeelsonError);
  assert.equal(error.code, "connection_error");
});
