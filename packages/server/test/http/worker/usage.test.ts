// What the calls of models of runs and sessions used: each report counts once.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { EXAMPLE_IDS, PERMISSIONS } from "@keelson/contract";
import type { HeldLease } from "../../support/raw-worker.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { cancelSessions, send, sessionKnows, startSession } from "../../support/session-scene.ts";
import { addApiKey, addForeignPlace } from "../../support/tenancy.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());
afterEach(() => cancelSessions(scene));

const NOTHING = {
  ...{ calls: 0, input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, reasoning_tokens: 0 },
  cost_usd: null,
};

let sessions = 0;

async function begun(): Promise<{ session: Json; lease: HeldLease }> {
  const session = await startSession(scene, { external_id: `of-${(sessions += 1)}` });
  const lease = await scene.worker.takeOne();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return { session, lease };
}

const used = (lease: HeldLease, ...amounts: object[]): Json => lease.operation("usage", { used: amounts });
const usageOf = async (path: string): Promise<Json> => {
  const answer = await scene.call("GET", `${path}/usage`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};

describe("the usage of a run", () => {
  test("is nothing at first, then the sum of what was said, by model", async () => {
    const { lease } = await begun();
    const path = `/v1/runs/${lease.runId}`;
    assert.deepEqual(await usageOf(path), { ...NOTHING, models: [] });
    const large = { model: "large", input_tokens: 1000, output_tokens: 200, cost_usd: 0.0125 };
    const operations = [
      used(lease, large, { model: "small", input_tokens: 10 }),
      used(lease, { ...large, cached_input_tokens: 800, reasoning_tokens: 50, calls: 2 }),
    ];
    assert.deepEqual(await scene.worker.report(...operations), [200, 200]);
    assert.deepEqual(await scene.worker.report(used(lease, { ...large, cost_usd: 0.1 })), [200]);
    const ofLarge = {
      ...{ calls: 4, input_tokens: 3000, output_tokens: 600, cached_input_tokens: 800, reasoning_tokens: 50 },
      cost_usd: 0.125,
    };
    const ofSmall = { ...NOTHING, calls: 1, input_tokens: 10 };
    const all = { ...ofLarge, calls: 5, input_tokens: 3010 };
    const models = [
      { model: "large", ...ofLarge },
      { model: "small", ...ofSmall },
    ];
    assert.deepEqual(await usageOf(path), { ...all, models });
    assert.deepEqual(await usageOf(`/api/runs/${lease.runId}`), { ...all, models });
  });

  test("counts a report once that is sent again, and none of a lease that is over", async () => {
    const { lease } = await begun();
    const operation = used(lease, { model: "large", cost_usd: 0.000_000_001 });
    for (let time = 0; time < 3; time += 1) assert.deepEqual(await scene.worker.report(operation), [200]);
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    const [late] = await scene.worker.results(used(lease, { model: "late" }));
    assert.equal(late.error.code, "lease_lost");
    const { calls, cost_usd: cost, models } = await usageOf(`/v1/runs/${lease.runId}`);
    assert.deepEqual([calls, cost, models.length], [1, 0.000_000_001, 1]);
  });

  test("refuses what is no usage, and counts nothing of it", async () => {
    const { lease } = await begun();
    for (const amount of [
      { model: "" },
      { model: "m".repeat(201) },
      { model: "m", input_tokens: -1 },
      { model: "m", output_tokens: 0.5 },
      { model: "m", cost_usd: -1 },
      { model: "m", calls: 0 },
      { model: "m", tokens: 1 },
    ]) {
      const answer = await scene.worker.call("POST", "/executions/report", {
        operations: [used(lease, amount)],
      });
      assert.equal(answer.status, 400, JSON.stringify(amount));
    }
    assert.equal((await usageOf(`/v1/runs/${lease.runId}`)).calls, 0);
  });

  test("is a tenant's own, and 404 for a run that is not there", async () => {
    const { lease, session } = await begun();
    const { environmentId } = await addForeignPlace(scene.server);
    const as = await addApiKey(scene.server, PERMISSIONS, { environmentId });
    const paths = [
      `/v1/runs/${lease.runId}`,
      `/v1/sessions/${session.id}`,
      `/v1/sessions/by-external-id`,
    ].map((path) => `${path}/usage${path.endsWith("id") ? `?external_id=${session.external_id}` : ""}`);
    for (const path of paths) assert.equal((await scene.call("GET", path, { as })).status, 404, path);
    for (const path of [`/v1/runs/${EXAMPLE_IDS.run}`, `/v1/sessions/${EXAMPLE_IDS.sess}`])
      assert.equal((await scene.call("GET", `${path}/usage`)).status, 404);
  });
});

describe("the usage of a session", () => {
  test("is that of all its turns, by id and by external id", async () => {
    const { session, lease } = await begun();
    await scene.worker.report(used(lease, { model: "large", input_tokens: 5, cost_usd: 1 }));
    await scene.worker.report(lease.operation("release", { outcome: "succeeded" }));
    await sessionKnows(scene, lease.runId);
    await send(scene, session, "more");
    const next = await scene.worker.takeOne();
    await scene.worker.report(next.operation("start"), used(next, { model: "large", output_tokens: 7 }));
    const usage = await usageOf(`/api/sessions/${session.id}`);
    const { calls, input_tokens: input, output_tokens: output, cost_usd: cost } = usage;
    assert.deepEqual([calls, input, output, cost], [2, 5, 7, 1]);
    const path = `/v1/sessions/by-external-id/usage?external_id=${session.external_id}`;
    assert.deepEqual((await scene.call("GET", path)).body, usage);
  });

  /** A run that the run of the lease has started, at work. */
  async function childOf(parent: HeldLease): Promise<HeldLease> {
    const start = parent.operation("child-runs", { position: 1, task: "plain", payload: null });
    const [started] = await scene.worker.results(start);
    assert.equal(started.status, 200, JSON.stringify(started));
    const child = await scene.worker.takeOne();
    assert.equal(child.runId, started.result.value.id);
    assert.deepEqual(await scene.worker.report(child.operation("start")), [200]);
    return child;
  }

  test("has what runs used that its runs started, and that those started", async () => {
    const { session, lease } = await begun();
    const child = await childOf(lease);
    const grandchild = await childOf(child);
    const other = await begun();
    const alone = await scene.leased();
    await scene.worker.report(alone.operation("start"));
    const amounts = [lease, child, grandchild, other.lease, alone, await childOf(alone)].map((one, at) =>
      used(one, { model: at % 2 === 0 ? "large" : "small", input_tokens: 10 ** at, cost_usd: 10 ** -at }),
    );
    assert.deepEqual(await scene.worker.report(...amounts), [200, 200, 200, 200, 200, 200]);
    assert.deepEqual(await scene.worker.report(used(child, { model: "small", input_tokens: 1000 })), [200]);
    const sums = async (path: string): Promise<unknown[]> => {
      const { calls, input_tokens: input, cost_usd: cost, models } = await usageOf(path);
      return [calls, input, cost, models.map(({ model }: Json) => model).toSorted()];
    };
    assert.deepEqual(await sums(`/v1/sessions/${session.id}`), [4, 1111, 1.11, ["large", "small"]]);
    assert.deepEqual(await sums(`/v1/sessions/${other.session.id}`), [1, 1000, 0.001, ["small"]]);
    assert.deepEqual(await sums(`/v1/runs/${lease.runId}`), [1, 1, 1, ["large"]]);
    assert.deepEqual(await sums(`/v1/runs/${child.runId}`), [2, 1010, 0.1, ["small"]]);
  });
});
