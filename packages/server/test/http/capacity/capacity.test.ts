import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, encodeId, parseDuration } from "@keelson/contract";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { asAdmin, newestEvent } from "../../support/audit.ts";
import { createReadyDeployment, promote, startWorker } from "../../support/deploy.ts";
import { enrollWorker, type RawWorker } from "../../support/raw-worker.ts";

let server: ApiServer;
let group: string;
let workers: RawWorker[];

/** What was asked last, by the capacity key. */
const capacity = async (method: string, path: string, body?: object) => {
  const answer = await server.call(method, `/capacity/v1/${path}`, {
    as: server.credentials.capacity_key,
    ...(body === undefined ? {} : { body }),
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};
const load = () => capacity("GET", `worker-groups/${group}`);
const drain = async (count: number): Promise<string[]> =>
  (await capacity("POST", `worker-groups/${group}/drain`, { count })).workers.map(
    ({ id }: { id: string }) => id,
  );
const start = async (count: number, extra: object = {}): Promise<void> => {
  const starts = Array.from({ length: count }, () => ({ task: "report", ...extra }));
  const answer = await server.call("POST", "/v1/tasks/start-batch", { body: { starts } });
  assert.equal(answer.status, 200, answer.text);
};

before(async () => {
  // It stands still, so that no worker looks lost which says nothing for a while.
  const now = Date.now();
  server = await startApiServer({ clock: () => now });
  const checker = await startWorker(server);
  const deployment = await createReadyDeployment(server, checker, {
    tasks: [{ id: "report" }],
    queues: [{ name: "narrow", concurrency_limit: 1 }],
  });
  await promote(server, deployment.id);
  const status = await server.call("GET", "/worker/v1/status", { as: checker });
  group = status.body.worker_group_id;
  await asAdmin(server)("POST", `workers/${status.body.id}/drain`);
  workers = [await enrollWorker(server), await enrollWorker(server), await enrollWorker(server)];
});
after(() => server.stop());

describe("a group's load", () => {
  test("counts what a free slot would take, and what has one", async () => {
    const idle = await load();
    assert.deepEqual(
      [idle.queued, idle.running, idle.oldest_queued_age, idle.recommended_workers],
      [0, 0, null, 0],
    );
    assert.deepEqual(
      [idle.slots, idle.free_slots],
      [
        { executions: 300, workspaces: 0 },
        { executions: 300, workspaces: 0 },
      ],
    );
    assert.deepEqual(idle.workers, { registered: 0, active: 3, draining: 0, drained: 1, lost: 0 });
    await start(250);
    await start(5, { delay: "1h" });
    await start(5, { queue: "narrow" });
    const busy = await load();
    // Of the limited queue one run could go on; what is delayed wants no worker yet.
    assert.deepEqual([busy.queued, busy.running, busy.recommended_workers], [251, 0, 3]);
    assert.ok((parseDuration(busy.oldest_queued_age) ?? -1) >= 0);
    const held = await Promise.all(workers.map((worker, index) => worker.take([60, 10, 30][index])));
    const taken = await load();
    assert.deepEqual([taken.queued, taken.running, taken.recommended_workers], [151, 100, 3]);
    assert.deepEqual(taken.free_slots, { executions: 200, workspaces: 0 });
    assert.equal(held.flat().length, 100);
  });

  test("is in the list of groups", async () => {
    const listed = (await capacity("GET", "worker-groups")).worker_groups;
    const { at: _, oldest_queued_age: __, ...expected } = await load();
    const {
      at: ___,
      oldest_queued_age: ____,
      ...found
    } = listed.find(({ id }: { id: string }) => id === group);
    assert.deepEqual(found, expected);
  });

  test("of a group that there is not is not told", async () => {
    const missing = encodeId("wgrp", "00000000-0000-7000-8000-000000000000");
    const { status } = await server.call("GET", `/capacity/v1/worker-groups/${missing}`, {
      as: server.credentials.capacity_key,
    });
    assert.equal(status, 404);
  });

  test("is told to the admin key, too, and to no API key", async () => {
    const path = `/capacity/v1/worker-groups/${group}`;
    const as = async (credential: string) => (await server.call("GET", path, { as: credential })).status;
    assert.equal(await as(server.credentials.admin_key), 200);
    assert.equal(await as(server.credentials.api_key), 401);
  });
});

describe("a drain", () => {
  test("takes the least busy workers, which hand back and are drained", async () => {
    const [most, least, middle] = workers as [RawWorker, RawWorker, RawWorker];
    assert.deepEqual(await drain(2), [least.id, middle.id]);
    const event = await newestEvent(server, null);
    assert.deepEqual(
      [event.action, event.actor.kind, event.resource, event.details],
      [
        "workers.drain",
        "capacity_key",
        { kind: "worker_group", id: group },
        { workers: [least.id, middle.id] },
      ],
    );
    assert.deepEqual((await load()).workers, { registered: 0, active: 1, draining: 2, drained: 1, lost: 0 });
    assert.deepEqual((await least.lease({ limit: 5 })).executions, []);
    await least.releaseAll();
    const { body } = await least.call("POST", "/heartbeat", {});
    assert.equal(body.status, "drained");
    // What is left of the others counts as before.
    const { slots, free_slots } = await load();
    assert.deepEqual([slots.executions, free_slots.executions], [100, 40]);
    const listed = (await capacity("GET", `workers?status=draining&worker_group_id=${group}`)).workers;
    assert.deepEqual(
      listed.map(({ id }: { id: string }) => id),
      [middle.id],
    );
    assert.equal((await load()).workers.active, 1);
    await most.releaseAll();
    await middle.releaseAll();
  });

  test("by two at once takes different workers, and no more than there are", async () => {
    await Promise.all(Array.from({ length: 5 }, () => enrollWorker(server)));
    const { active } = (await load()).workers;
    const drained = (await Promise.all([drain(3), drain(3), drain(3)])).flat();
    assert.equal(drained.length, active);
    assert.equal(new Set(drained).size, active);
    assert.deepEqual(await drain(1), []);
    assert.ok(decodeId("wkr", drained[0] as string));
  });
});
