// Deployments for tests, checked as by a worker.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import type { TestServer } from "./server.ts";

export type TestWorker = { id: string; token: string };

/** Enrolls, registers and activates a worker of the first worker group, or of the token's. */
export async function addWorker(
  server: TestServer,
  enrollmentToken = server.credentials.enrollment_token,
): Promise<TestWorker> {
  const minted = await server.request("/worker/v1/auth/token", {
    as: null,
    body: {
      enrollment_token: enrollmentToken,
      name: `worker-${randomBytes(4).toString("hex")}`,
      worker_protocol_version: 1,
    },
  });
  assert.ok(minted.status < 300, minted.text);
  const { token, worker } = minted.body;
  const registered = await server.request("/worker/v1/register", {
    as: token,
    body: { capacity: { executions: 10, workspaces: 0 }, worker_protocol_version: 1 },
  });
  assert.equal(registered.status, 200, registered.text);
  const activated = await server.request("/worker/v1/activate", { as: token, method: "POST" });
  assert.equal(activated.status, 200, activated.text);
  return { id: worker.id, token };
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Uploads a bundle of random content and gives its digest. */
export async function uploadBundle(
  server: TestServer,
  as = server.credentials.api_key,
  bytes = randomBytes(64),
): Promise<string> {
  const digest = sha256(bytes);
  const { status, text } = await server.request(`/v1/deployment-bundles/${digest}`, {
    method: "PUT",
    as,
    body: bytes,
    headers: { "content-type": "application/octet-stream" },
  });
  assert.ok(status < 300, text);
  return digest;
}

export const manifestOf = (...ids: string[]): object => ({ tasks: ids.map((id) => ({ id })) });

export async function createDeployment(
  server: TestServer,
  manifest: object,
  as = server.credentials.api_key,
): Promise<any> {
  const digest = await uploadBundle(server, as);
  const { status, body, text } = await server.request("/v1/deployments", {
    as,
    body: { manifest, bundle_digest: digest, bundle_format_version: 1, worker_protocol_version: 1 },
  });
  assert.equal(status, 201, text);
  return body;
}

/** Answers the next check that the worker is given. */
export async function answerCheck(server: TestServer, worker: TestWorker, answer: object): Promise<any> {
  const leased = await server.request("/worker/v1/executions/lease", {
    as: worker.token,
    body: { lease_request_id: randomBytes(8).toString("hex"), limit: 0, wait: "10s" },
  });
  const [check] = leased.body.deployment_checks;
  assert.ok(check, leased.text);
  const { deployment_id, check_id } = check;
  return server.request("/worker/v1/deployments/checked", {
    as: worker.token,
    body: { deployment_id, check_id, ...answer },
  });
}

/** A ready, promoted deployment of tasks. */
export async function deployTasks(
  server: TestServer,
  worker: TestWorker,
  manifest: any,
  as = server.credentials.api_key,
): Promise<any> {
  const deployment = await createDeployment(server, manifest, as);
  const entrypoints = manifest.tasks.map((task: any) => ({ kind: "task", declared_id: task.id }));
  const checked = await answerCheck(server, worker, { status: "ready", entrypoints });
  assert.ok(checked.status < 300, checked.text);
  const promoted = await server.request(`/v1/deployments/${deployment.id}/promote`, { method: "POST", as });
  assert.equal(promoted.status, 200, promoted.text);
  return promoted.body;
}
