// Deployments as a test needs them: uploaded, created, and checked by a worker that only says so.

import assert from "node:assert/strict";
import { platformOf } from "@keelson/contract";
import { digestOf, type Answer, type ApiServer } from "./api-server.ts";

export const BUNDLE = new TextEncoder().encode("export const keelson = {};\n");

export interface Manifest {
  tasks: object[];
  actors?: object[];
  queues?: object[];
  schedules?: object[];
  sandboxes?: object[];
}

export const createBody = (manifest: Manifest, extra: object = {}): object => ({
  manifest,
  bundle_digest: digestOf(BUNDLE),
  bundle_format_version: 1,
  worker_protocol_version: 1,
  ...extra,
});

export async function uploadBundle(server: ApiServer): Promise<void> {
  const answer = await server.call("PUT", `/v1/deployment-bundles/${digestOf(BUNDLE)}`, { bytes: BUNDLE });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

/** @returns the pending deployment. */
export async function createDeployment(server: ApiServer, manifest: Manifest): Promise<Answer["body"]> {
  await uploadBundle(server);
  const answer = await server.call("POST", "/v1/deployments", { body: createBody(manifest) });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

/** @returns the bearer token of an active worker of the default group. */
export async function startWorker(server: ApiServer, name = "tester"): Promise<string> {
  const minted = await server.call("POST", "/worker/v1/auth/token", {
    as: null,
    body: { enrollment_token: server.credentials.enrollment_token, name, worker_protocol_version: 1 },
  });
  assert.equal(minted.status, 200, JSON.stringify(minted.body));
  const as = minted.body.token as string;
  const capacity = { executions: 4, workspaces: 0 };
  const registered = await server.call("POST", "/worker/v1/register", {
    as,
    body: {
      capacity,
      worker_protocol_version: 1,
      node_version: process.versions.node,
      platform: platformOf(process),
    },
  });
  assert.equal(registered.status, 200, JSON.stringify(registered.body));
  assert.equal((await server.call("POST", "/worker/v1/activate", { as })).status, 200);
  return as;
}

let leaseRequests = 0;

/** One look for deployments to check, without waiting. */
export async function leaseCheck(server: ApiServer, worker: string): Promise<Answer["body"]> {
  leaseRequests += 1;
  const answer = await server.call("POST", "/worker/v1/executions/lease", {
    as: worker,
    body: { lease_request_id: `check-${leaseRequests}`, limit: 0, wait: "0s" },
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.deployment_checks[0] ?? null;
}

/** Creates a deployment and has a worker find it ready. */
export async function createReadyDeployment(
  server: ApiServer,
  worker: string,
  manifest: Manifest,
): Promise<Answer["body"]> {
  const deployment = await createDeployment(server, manifest);
  const check = await leaseCheck(server, worker);
  assert.equal(check?.deployment_id, deployment.id);
  const of = (kind: string, declared: object[]): object[] =>
    declared.map((entrypoint) => ({ kind, declared_id: (entrypoint as { id: string }).id }));
  const entrypoints = [...of("task", manifest.tasks), ...of("actor", manifest.actors ?? [])];
  const { deployment_id, check_id } = check;
  const settled = await server.call("POST", "/worker/v1/deployments/checked", {
    as: worker,
    body: { deployment_id, check_id, status: "ready", entrypoints },
  });
  assert.deepEqual([settled.status, settled.body.status], [200, "ready"], JSON.stringify(settled.body));
  return deployment;
}

export async function promote(server: ApiServer, deploymentId: string): Promise<Answer["body"]> {
  const answer = await server.call("POST", `/v1/deployments/${deploymentId}/promote`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}
