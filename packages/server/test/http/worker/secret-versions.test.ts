// A worker learns which version of each secret a process has, and which of them were replaced.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { encodeId, LIMITS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";

type Held = { environment_id: string; id: string; version: number };

let scene: RunScene;
let production: RunScene;
before(async () => {
  const manifest = { tasks: [{ id: "plain" }, { id: "mailer", secrets: ["KEY", "USER"] }] };
  scene = await startRunScene(manifest);
  production = await productionOf(scene);
  await production.deploy(manifest);
});
after(() => scene.stop());

async function put(place: RunScene, name: string, value: string): Promise<string> {
  const answer = await place.call("PUT", `/api/secrets/${name}`, { body: { value } });
  assert.ok(answer.status < 300, answer.text);
  return answer.body.id as string;
}

async function change(method: string, path: string, body?: object): Promise<void> {
  const answer = await scene.call(method, path, body === undefined ? {} : { body });
  assert.ok(answer.status < 300, answer.text);
}

/** What a worker holds after a run of the task in that environment. */
async function runAndHold(place: RunScene): Promise<Held[]> {
  await place.start("mailer");
  const lease = await scene.worker.takeOne();
  await scene.worker.finish(lease);
  const versions = Object.values(lease.execution.secret_versions) as { id: string; version: number }[];
  return versions.map((version) => ({ environment_id: lease.fields.environment_id, ...version }));
}

async function superseded(held: readonly Held[], worker = scene.worker): Promise<Held[]> {
  const { status, text, body } = await worker.call("POST", "/heartbeat", { held_secrets: held });
  assert.equal(status, 200, text);
  return body.superseded_secrets as Held[];
}

test("a lease says the versions of its secrets and never more than their ids and numbers", async () => {
  const ids = [await put(scene, "KEY", "one"), await put(scene, "USER", "ada")];
  await scene.start("mailer");
  const lease = await scene.worker.takeOne();
  assert.deepEqual(lease.execution.secret_versions, {
    KEY: { id: ids[0], version: 1 },
    USER: { id: ids[1], version: 1 },
  });
  await scene.worker.finish(lease);
  await scene.start("plain");
  const plain = await scene.worker.takeOne();
  assert.deepEqual(plain.execution.secret_versions, {});
  await scene.worker.finish(plain);
});

test("a heartbeat is told which versions were rotated, revoked, revived or deleted, and of no others", async () => {
  const id = await put(scene, "KEY", "two");
  const first = await runAndHold(scene);
  assert.deepEqual(await superseded(first), []);
  assert.deepEqual(await superseded([]), []);
  await change("POST", `/v1/secrets/${id}/rotate`, { value: "three" });
  assert.deepEqual(
    await superseded(first),
    first.filter((held) => held.id === id),
  );
  const second = await runAndHold(scene);
  assert.deepEqual(await superseded(second), []);
  await change("POST", `/v1/secrets/${id}/revoke`);
  assert.deepEqual(
    (await superseded(second)).map((held) => held.id),
    [id],
  );
  await put(scene, "KEY", "four");
  assert.deepEqual(
    (await superseded(second)).map((held) => held.id),
    [id],
  );
  const third = await runAndHold(scene);
  await change("DELETE", "/api/secrets/KEY");
  assert.notEqual(await put(scene, "KEY", "four"), id);
  assert.deepEqual(
    (await superseded(third)).map((held) => held.id),
    [id],
  );
});

test("secrets of one name in two environments are apart", async () => {
  await put(scene, "KEY", "development");
  const id = await put(production, "KEY", "production");
  await put(production, "USER", "ada");
  const [here, there] = [await runAndHold(scene), await runAndHold(production)];
  await production.call("POST", `/v1/secrets/${id}/rotate`, { body: { value: "rotated" } });
  assert.deepEqual(
    await superseded([...here, ...there]),
    there.filter((held) => held.id === id),
  );
});

test("a worker learns nothing of secrets that are not its group's", async () => {
  const own = await runAndHold(scene);
  const [held] = own;
  assert.ok(held !== undefined);
  const madeUp = { ...held, id: encodeId("sec", randomUUID()) };
  const foreign = { ...held, environment_id: encodeId("env", randomUUID()) };
  assert.deepEqual(await superseded([madeUp, foreign]), [madeUp, foreign]);
  const group = randomUUID();
  await scene.server.db.transaction(async (tx) => {
    await tx.query(sql`
      INSERT INTO worker_groups (id, name) VALUES (${group}, 'elsewhere')`);
    await tx.query(sql`UPDATE environments SET worker_group_id = ${group} WHERE slug = 'development'`);
  });
  assert.deepEqual(await superseded(own), own);
});

test("a heartbeat asks about a bounded number of versions", async () => {
  const held = {
    environment_id: encodeId("env", randomUUID()),
    id: encodeId("sec", randomUUID()),
    version: 1,
  };
  const most = Array.from({ length: LIMITS.heldSecrets }, () => held);
  assert.equal((await superseded(most)).length, LIMITS.heldSecrets);
  const answer = await scene.worker.call("POST", "/heartbeat", { held_secrets: [...most, held] });
  assert.equal(answer.status, 400);
});
