import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { digestOf, startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createBody, promote } from "../../support/deploy.ts";

type Machine = { node_version: string; platform: object } | Record<string, never>;

const X64 = { os: "linux", arch: "x64", libc: "glibc" };
const ARM = { os: "linux", arch: "arm64", libc: "glibc" };
const CODE = new TextEncoder().encode("export const keelson = {};");

describe("deployments that not every worker can run", () => {
  let server: ApiServer;
  before(async () => {
    server = await startApiServer();
  });
  after(() => server.stop());

  async function startWorkerOn(machine: Machine): Promise<{ as: string; drain(): Promise<void> }> {
    const minted = await server.call("POST", "/worker/v1/auth/token", {
      as: null,
      body: { enrollment_token: server.credentials.enrollment_token, name: "w", worker_protocol_version: 1 },
    });
    const as = minted.body.token as string;
    const capacity = { executions: 4, workspaces: 0 };
    const body = { capacity, worker_protocol_version: 1, ...machine };
    const registered = await server.call("POST", "/worker/v1/register", { as, body });
    assert.equal(registered.status, 200, JSON.stringify(registered.body));
    assert.deepEqual(registered.body.platform, machine.platform ?? null);
    assert.equal((await server.call("POST", "/worker/v1/activate", { as })).status, 200);
    return { as, drain: async () => void (await server.call("POST", "/worker/v1/drain", { as })) };
  }

  let requests = 0;
  async function lease(as: string, wait = "0s") {
    requests += 1;
    const body = { lease_request_id: `platforms-${requests}`, limit: 1, wait };
    const answer = await server.call("POST", "/worker/v1/executions/lease", { as, body });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body as {
      executions: { run: { id: string }; lease_id: string; epoch: number; bundle_format_version: number }[];
      deployment_checks: { deployment_id: string; check_id: string }[];
    };
  }

  async function upload(bytes: Uint8Array): Promise<void> {
    await server.call("PUT", `/v1/deployment-bundles/${digestOf(bytes)}`, { bytes });
  }

  async function create(platform: object | null, node = "24.1.0") {
    const file = { path: "bundle.mjs", digest: digestOf(CODE), size_bytes: CODE.length, executable: false };
    const archive = { format_version: 2, entry: "bundle.mjs", node_version: node, platform, files: [file] };
    const index = new TextEncoder().encode(JSON.stringify(archive));
    await upload(index);
    await upload(CODE);
    const made = await server.call("POST", "/v1/deployments", {
      body: createBody(
        { tasks: [{ id: "work" }] },
        { bundle_digest: digestOf(index), bundle_format_version: 2 },
      ),
    });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body;
  }

  async function makeCurrent(deployment: { id: string }, as: string): Promise<void> {
    const [check] = (await lease(as)).deployment_checks;
    assert.ok(check !== undefined);
    assert.equal(check.deployment_id, deployment.id);
    const { status } = await server.call("POST", "/worker/v1/deployments/checked", {
      as,
      body: {
        deployment_id: check.deployment_id,
        check_id: check.check_id,
        status: "ready",
        entrypoints: [{ kind: "task", declared_id: "work" }],
      },
    });
    assert.equal(status, 200);
    await promote(server, deployment.id);
  }

  const start = async (): Promise<string> => {
    const answer = await server.call("POST", "/v1/tasks/work/start", { body: {} });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return answer.body.id as string;
  };
  const cancel = (id: string) => server.call("POST", `/v1/runs/${id}/cancel`);
  const reasonOf = async (id: string) => (await server.call("GET", `/v1/runs/${id}`)).body.status_reason;

  test("only a worker on its platform checks it and leases its runs, and the reason says so", async () => {
    const arm = await startWorkerOn({ node_version: "24.21.0", platform: ARM });
    const silent = await startWorkerOn({});
    const deployment = await create(X64);
    assert.match(deployment.error.message, /needs a worker on linux-x64-glibc with Node\.js 24/);
    for (const { as } of [arm, silent]) assert.deepEqual((await lease(as)).deployment_checks, []);
    const x64 = await startWorkerOn({ node_version: "24.0.0", platform: X64 });
    await makeCurrent(deployment, x64.as);
    const queued = await start();
    for (const { as } of [arm, silent]) assert.deepEqual((await lease(as)).executions, []);
    const [leased] = (await lease(x64.as)).executions;
    assert.deepEqual([leased?.run.id, leased?.bundle_format_version], [queued, 2]);
    // A waiting poll of another platform is not given a run that is just born.
    const polls = [lease(arm.as, "2s"), lease(x64.as, "2s")] as const;
    const born = await start();
    assert.deepEqual(
      (await polls[1]).executions.map(({ run }) => run.id),
      [born],
    );
    assert.deepEqual((await polls[0]).executions, []);
    await x64.drain();
    const waiting = await start();
    const reason = await reasonOf(waiting);
    assert.equal(reason.kind, "no_worker");
    assert.match(
      reason.message,
      /needs a worker on linux-x64-glibc with Node\.js 24\. All 2 active workers are different/,
    );
    assert.equal(reason.details.requirement, "linux-x64-glibc-node24");
    await cancel(waiting);
    await Promise.all([arm.drain(), silent.drain()]);
  });

  test("JavaScript runs on every platform, with its Node.js or a later one", async () => {
    const later = await startWorkerOn({ node_version: "26.0.0", platform: ARM });
    const deployment = await create(null, "24.5.0");
    assert.equal(deployment.error, null);
    await makeCurrent(deployment, later.as);
    const run = await start();
    assert.deepEqual(
      (await lease(later.as)).executions.map((leased) => leased.run.id),
      [run],
    );
    const newer = await create(null, "27.0.0");
    assert.match(
      newer.error.message,
      /needs a worker on Node\.js 27 or later\. The active worker is different/,
    );
    assert.deepEqual((await lease(later.as)).deployment_checks, []);
  });
});
