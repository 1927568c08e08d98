import assert from "node:assert/strict";
import { before, test } from "node:test";
import { actor, Client, ConflictError, NotFoundError, task } from "@keelson/sdk";
import { keelson } from "@keelson/sdk/runtime";
import type { ApiServer } from "../../server/test/support/api-server.ts";
import { declareActor, outputOf, runOf } from "./support/declare.ts";
import { testWorker } from "./support/test-worker.ts";

let server: ApiServer;
before(async () => {
  ({ server } = await testWorker());
});
const client = (): Client => new Client({ url: server.url, apiKey: server.credentials.api_key });

test("a secret is set, rotated, revoked, listed and deleted, and never shown", async () => {
  const { secrets } = client();
  const created = await secrets.set("A", "the-value");
  assert.partialDeepStrictEqual(created, { name: "A", status: "active", version: 1 });
  assert.equal((await secrets.set("A", "the-value-2")).version, 2);
  assert.equal((await secrets.rotate(created.id, "the-value-3")).version, 3);
  const shown = await secrets.get("A");
  assert.deepEqual([shown.id, shown.version], [created.id, 3]);
  assert.ok(!JSON.stringify(shown).includes("the-value"));
  assert.equal((await secrets.rotate({ name: "A" }, "the-value-4")).version, 4);
  assert.equal((await secrets.revoke({ name: "A" })).status, "revoked");
  assert.equal((await secrets.revoke(created.id)).status, "revoked");
  await assert.rejects(secrets.rotate(created.id, "x"), ConflictError);
  await secrets.set("B", "x");
  const names: string[] = [];
  for await (const { name } of secrets.list({ limit: 1 })) names.push(name);
  assert.deepEqual(names, ["B", "A"]);
  assert.equal(await secrets.delete("A"), undefined);
  await assert.rejects(secrets.get("A"), NotFoundError);
});

test("tasks and actors declare secrets, by names that there can be", () => {
  const run = (): number => 1;
  task({ id: "needs-secrets", secrets: ["KEY"], run });
  actor({ id: "needs-secrets", secrets: ["KEY", "OTHER"], run });
  const { tasks, actors = [] } = keelson.manifest();
  const secretsOf = (declared: typeof tasks): unknown =>
    declared.find(({ id }) => id === "needs-secrets")?.secrets;
  assert.deepEqual([secretsOf(tasks), secretsOf(actors)], [["KEY"], ["KEY", "OTHER"]]);
  const refused = { id: "refused", secrets: ["NOT-A-NAME"], run };
  for (const make of [() => task(refused), () => actor(refused)])
    assert.throws(make, /"refused" declares "NOT-A-NAME"/);
});

test("a run has its secrets again when it is replayed, and an actor has them too", async () => {
  await client().secrets.set("KEY", "swordfish");
  const secrets = { KEY: "swordfish" };
  const { id } = task({
    id: "reads-secrets",
    secrets: ["KEY"],
    run: async (_payload, ctx) => {
      await ctx.wait.for("1h");
      return ctx.secrets;
    },
  });
  const { run, start } = runOf({ kind: "task", id });
  const first = start();
  await first.parked();
  assert.equal(first.suspend(), true);
  await first.ended;
  await run.passWait(1);
  assert.deepEqual(outputOf(await start().ended), secrets);
  const acting = declareActor((_session, ctx) => [ctx.secrets, Object.isFrozen(ctx.secrets)], {
    secrets: ["KEY"],
  });
  assert.deepEqual(outputOf(await acting.ended()), [secrets, true]);
});
