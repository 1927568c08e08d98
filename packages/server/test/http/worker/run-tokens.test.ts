// The credential that a lease carries: the run's own, in its own environment, while the lease is held.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import { createRunTokens } from "../../../src/core/credentials/run-token.ts";
import { TEST_MASTER_KEY, type Answer, type CallOptions } from "../../support/api-server.ts";
import { newestEvent } from "../../support/audit.ts";
import { createDeployment } from "../../support/deploy.ts";
import { outlastLeases } from "../../support/outlast-leases.ts";
import type { HeldLease } from "../../support/raw-worker.ts";
import { productionOf, startRunScene, type RunScene } from "../../support/run-scene.ts";
import { firstOrganization } from "../../support/tenancy.ts";

const SCHEDULE = { deduplication_key: "nightly", task: "free", cron: "0 0 1 1 *" };
const manifest = {
  tasks: [
    { id: "free" },
    { id: "narrow", permissions: ["runs.read"] },
    { id: "powerless", permissions: [] },
    { id: "minter", permissions: ["public_access_tokens.create", "sessions.read"] },
    { id: "planner", permissions: ["schedules.write", "schedules.read"] },
  ],
  actors: [{ id: "chat" }],
};

let scene: RunScene;
let production: RunScene;
before(async () => {
  scene = await startRunScene(manifest);
  production = await productionOf(scene);
  await production.deploy(manifest);
});
after(() => scene.stop());
afterEach(async () => {
  await scene.cancelAll();
  await production.cancelAll();
});

const tokenOf = (lease: HeldLease): string => lease.execution.run_token;

async function begun(task = "free", of = scene): Promise<HeldLease> {
  await of.start(task);
  const lease = await scene.worker.takeOne();
  assert.deepEqual(await scene.worker.report(lease.operation("start")), [200]);
  return lease;
}

const as = (lease: HeldLease, method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  scene.server.call(method, path, { ...options, as: tokenOf(lease) });

const statusOf = async (lease: HeldLease): Promise<number> => (await as(lease, "GET", "/v1/runs")).status;

async function isRefused(lease: HeldLease): Promise<void> {
  const refused = await as(lease, "GET", "/v1/runs");
  assert.deepEqual([refused.status, refused.body.error?.code], [401, "unauthenticated"]);
  assert.match(refused.body.error.message, /no longer holds the run/);
  assert.match(refused.headers.get("www-authenticate") ?? "", /^Bearer/);
}

describe("the token of a lease", () => {
  test("acts as its run, in its own environment alone", async () => {
    const leases = [await begun("free", scene), await begun("free", production)] as const;
    for (const [lease, foreign] of [leases, leases.toReversed()] as [HeldLease, HeldLease][]) {
      assert.match(tokenOf(lease), /^kl_run_[0-9A-Za-z]{84}$/);
      const { project_id, environment_id } = lease.execution.run;
      const me = await as(lease, "GET", "/api/me");
      assert.deepEqual(
        [me.body.user, me.body.api_key, me.body.run.id, me.body.run.environment_id],
        [null, null, lease.runId, environment_id],
      );
      const listed = await as(lease, "GET", "/v1/runs");
      assert.deepEqual(
        listed.body.runs.map(({ id }: { id: string }) => id),
        [lease.runId],
      );
      assert.equal((await as(lease, "GET", `/v1/runs/${foreign.runId}`)).status, 404);
      const own = `project_id=${project_id}&environment_id=${environment_id}`;
      assert.equal((await as(lease, "GET", `/api/runs?${own}`)).status, 200);
      const elsewhere = `project_id=${project_id}&environment_id=${foreign.execution.run.environment_id}`;
      assert.equal((await as(lease, "GET", `/api/runs?${elsewhere}`)).status, 403);
    }
  });

  test("does what a task needs, and neither reads secrets nor changes code, keys or people", async () => {
    const lease = await begun();
    const { environment_id, project_id } = lease.execution.run;
    const started = await as(lease, "POST", "/v1/tasks/free/start", { body: {} });
    assert.equal(started.status, 201, started.text);
    for (const path of ["/v1/tasks", "/v1/tokens", "/v1/workspaces", "/api/schedules", "/v1/sandboxes"])
      assert.equal((await as(lease, "GET", path)).status, 200, path);
    for (const [method, path, permission] of [
      ["GET", "/v1/secrets", "secrets.read"],
      ["GET", "/v1/deployments", "deployments.read"],
      ["POST", "/api/schedules", "schedules.write"],
    ] as const) {
      const body = method === "POST" ? { body: SCHEDULE } : {};
      const refused = await as(lease, method, path, body);
      assert.deepEqual([refused.status, refused.body.error.details], [403, { permission }], path);
    }
    for (const path of [
      "/api/members",
      "/api/organizations",
      `/api/projects/${project_id}/environments/${environment_id}/api-keys`,
      "/admin/api/v1/users",
      "/capacity/v1/worker-groups",
      "/worker/v1/status",
    ])
      assert.equal((await as(lease, "GET", path)).status, 401, path);
  });

  test("has the permissions that the task declares", async () => {
    const narrow = await begun("narrow");
    assert.equal((await as(narrow, "GET", "/v1/runs")).status, 200);
    const refused = await as(narrow, "POST", "/v1/tasks/free/start", { body: {} });
    assert.deepEqual([refused.status, refused.body.error.details], [403, { permission: "tasks.start" }]);
    const powerless = await begun("powerless");
    assert.equal((await as(powerless, "GET", "/v1/runs")).status, 403);
    assert.deepEqual((await as(powerless, "GET", "/api/me")).body.run.permissions, []);
  });

  test("is the same when the lease call is repeated, and of no use with another's parts", async () => {
    await scene.start("free");
    const requestId = "repeated";
    const { executions } = await scene.worker.lease({ limit: 1, wait: "10s", requestId });
    const repeated = await scene.worker.lease({ limit: 1, requestId });
    const lease = scene.worker.hold(executions[0]);
    assert.equal(repeated.executions[0].run_token, tokenOf(lease));
    assert.equal(await statusOf(lease), 200);
    const { environment_id, id } = lease.execution.run;
    const environmentId = decodeId("env", environment_id) as Uuid<"env">;
    const runId = decodeId("run", id) as Uuid<"run">;
    const made = (key: Buffer, epoch: number): string =>
      createRunTokens(key).make({ environmentId, runId, epoch });
    const { epoch } = lease.fields;
    assert.equal(made(TEST_MASTER_KEY, epoch), tokenOf(lease));
    for (const forged of [made(Buffer.alloc(32, "another"), epoch), made(TEST_MASTER_KEY, epoch + 1)])
      assert.equal((await scene.server.call("GET", "/v1/runs", { as: forged })).status, 401);
    const cut = `${tokenOf(lease).slice(0, -1)}${tokenOf(lease).endsWith("A") ? "B" : "A"}`;
    assert.equal((await scene.server.call("GET", "/v1/runs", { as: cut })).status, 401);
  });
});

describe("the token is valid exactly while its lease is held", () => {
  test("before the attempt has begun and until the run has ended", async () => {
    await scene.start("free");
    const lease = await scene.worker.takeOne();
    assert.equal(await statusOf(lease), 200);
    await scene.worker.finish(lease);
    await isRefused(lease);
  });

  test("while a cancellation is asked for, and not after it", async () => {
    const lease = await begun();
    await scene.cancel(lease.runId);
    assert.equal(await statusOf(lease), 200);
    assert.deepEqual(await scene.worker.report(lease.operation("release", { outcome: "cancelled" })), [200]);
    await isRefused(lease);
  });

  test("until the lease is superseded; the next one has another token", async () => {
    const lease = await begun();
    await outlastLeases(scene);
    await scene.happens(lease.runId, "lease.lost");
    await isRefused(lease);
    scene.clock.advance(60_000);
    const next = await scene.worker.takeOne();
    assert.notEqual(tokenOf(next), tokenOf(lease));
    await isRefused(lease);
    assert.equal(await statusOf(next), 200);
  });

  test("while the run is parked in memory, and not once it is suspended", async () => {
    const lease = await begun();
    const wait = { position: 1, name: "timer", kind: "timer", timeout: "1h" };
    assert.deepEqual(
      await scene.worker.report(lease.operation("waits", { waits: [wait], parked: true })),
      [200],
    );
    assert.equal(await statusOf(lease), 200);
    await scene.worker.report(
      lease.operation("checkpoints/ready"),
      lease.operation("release", { outcome: "suspended" }),
    );
    assert.equal((await scene.get(lease.runId)).status, "waiting");
    await isRefused(lease);
  });
});

describe("what a run does by its token", () => {
  test("says so in the records that it appends", async () => {
    const lease = await begun();
    const { body: session } = await as(lease, "POST", "/v1/sessions", { body: { actor: "chat", input: 1 } });
    const sent = await as(lease, "POST", `/v1/sessions/${session.id}/inputs`, { body: { data: 2 } });
    assert.equal(sent.status, 201, sent.text);
    const { body } = await as(lease, "GET", `/v1/sessions/${session.id}/inputs`);
    assert.deepEqual(
      body.records.map((record: { source: object; run_id: string }) => [record.source, record.run_id]),
      Array.from({ length: 2 }, () => [{ kind: "run", id: lease.runId }, lease.runId]),
    );
  });

  test("says so in the tokens that it completes", async () => {
    const lease = await begun();
    const { body: token } = await as(lease, "POST", "/v1/tokens", { body: {} });
    const completed = await as(lease, "POST", `/v1/tokens/${token.id}/complete`, { body: { data: 1 } });
    assert.deepEqual(completed.body.token.completed_by, { kind: "run", id: lease.runId });
  });

  test("is in the audit log under its name", async () => {
    const lease = await begun("planner");
    const made = await as(lease, "POST", "/api/schedules", { body: SCHEDULE });
    assert.equal(made.status, 201, made.text);
    const event = await newestEvent(scene.server, encodeId("org", await firstOrganization(scene.server)));
    assert.deepEqual(
      [event.action, event.actor, event.credential, event.resource.id, event.environment_id],
      [
        "schedules.put",
        { kind: "run", id: lease.runId },
        { kind: "run_token", id: lease.runId },
        made.body.id,
        lease.execution.run.environment_id,
      ],
    );
  });

  test("gives a browser no more than the run has", async () => {
    const [free, minter] = [await begun(), await begun("minter")];
    const { body: session } = await scene.call("POST", "/v1/sessions", { body: { actor: "chat" } });
    const of = { type: "id", id: session.id };
    const send = { scope: { type: "session.input.send", session: of, stream: "input" } };
    const read = { scope: { type: "session.output.read", session: of, stream: "output" } };
    const mint = (lease: HeldLease, body: object): Promise<Answer> =>
      as(lease, "POST", "/api/public-access-tokens", { body });
    for (const allowed of [mint(free, send), mint(free, read), mint(minter, read)])
      assert.equal((await allowed).status, 201);
    const refused = await mint(minter, send);
    assert.deepEqual([refused.status, refused.body.error.details], [403, { permission: "sessions.write" }]);
  });
});

describe("permissions of a declaration", () => {
  test("may be none that a run never has", async () => {
    const refusals = ["secrets.read", "deployments.create", "api_keys.write", "nonsense"];
    for (const permission of refusals) {
      const declared = { tasks: [{ id: "greedy", permissions: [permission] }] };
      await assert.rejects(createDeployment(scene.server, declared), /manifest\.tasks\.0\.permissions/);
    }
  });

  test("are shown with the deployment", async () => {
    const { body } = await scene.call("GET", "/v1/deployments?limit=1");
    const narrow = body.deployments[0].tasks.find(({ id }: { id: string }) => id === "narrow");
    assert.deepEqual(narrow.permissions, ["runs.read"]);
  });
});

test("the runs of an environment share one request limit, apart from its keys", async () => {
  const limited = await startRunScene(manifest, {
    config: { rateLimits: { credential: 4, address: 0, failures: 0, logins: 0 } },
  });
  try {
    const tokens: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      await limited.start("free");
      tokens.push(tokenOf(await limited.worker.takeOne()));
    }
    const statuses: number[] = [];
    for (let n = 0; n < 42; n += 1)
      statuses.push((await limited.server.call("GET", "/api/me", { as: tokens[n % 2] as string })).status);
    assert.equal(statuses.filter((status) => status === 200).length, 40);
    assert.deepEqual(statuses.slice(40), [429, 429]);
    assert.equal((await limited.call("GET", "/api/me")).status, 200);
  } finally {
    await limited.stop();
  }
});
