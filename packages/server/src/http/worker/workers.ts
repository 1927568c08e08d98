import { randomBytes } from "node:crypto";
import {
  decodeId,
  DEPLOYMENT_STATUSES,
  DeploymentChecked,
  encodeId,
  Id,
  MintedWorkerToken,
  MintWorkerToken,
  RegisterWorker,
  Worker,
  WorkerHeartbeat,
} from "@keelson/contract";
import { Type } from "typebox";
import { groupHasBundle } from "../../core/bundles/bundle-reads.ts";
import type { CheckAnswer } from "../../core/deployments/deployment.ts";
import { settleCheck } from "../../core/deployments/settle-check.ts";
import { wakeKeys } from "../../core/feeds/wakes.ts";
import { changeWorker, type WorkerChange } from "../../core/workers/change-worker.ts";
import { mintWorkerToken } from "../../core/workers/mint-worker-token.ts";
import { registerWorker } from "../../core/workers/register-worker.ts";
import { decideActivate, decideDrain } from "../../core/workers/worker.ts";
import { findWorker } from "../../core/workers/worker-reads.ts";
import { invalidRequest, notFound } from "../../domain-error.ts";
import type { ServerContext } from "../../server-context.ts";
import { UNAUDITED } from "../audit.ts";
import type { Reply, Route, WorkerScope } from "../route.ts";
import { toTimestamp } from "../wire/time.ts";
import { toWorker } from "../wire/worker.ts";
import { bothMounts } from "./mounts.ts";

const tag = "workers";
const worker = { kind: "worker" } as const;

const EXAMPLE_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const EXAMPLE_WORKER = {
  id: "wkr_01kahw0c4kf0z8k1n4t2q7m3xv",
  name: "build-3",
  worker_group_id: "wgrp_01kahvn09zf5h9c5b7n2d8r6ta",
  status: "registered",
  capacity: { executions: 16, workspaces: 0 },
  in_use: { executions: 0, workspaces: 0 },
  labels: { zone: "a" },
  protocol_version: 1,
  version: "0.1.0",
  last_seen_at: "2026-11-20T09:15:00.123Z",
  created_at: "2026-11-20T09:15:00.123Z",
  updated_at: "2026-11-20T09:15:00.123Z",
};
const EXAMPLE_ACTIVE = { ...EXAMPLE_WORKER, status: "active" };

/** Random bytes of a credential; more than its 32 digits need, because some are skipped. */
const CREDENTIAL_BYTES = 96;

async function change(
  server: ServerContext,
  { workerId }: WorkerScope,
  request: WorkerChange,
): Promise<Reply> {
  const now = server.clock();
  const row = await server.db.transaction((tx) => changeWorker(tx, workerId, request, now));
  return { status: 200, body: toWorker(row, now) };
}

/** A boot that went well says what was registered: without it, missing entrypoints could not be told. */
function answerOf(body: DeploymentChecked): CheckAnswer {
  if (body.status === "failed") {
    const { message = "The bundle could not be booted; the worker gave no reason.", stack = null } =
      body.error ?? {};
    return { status: "failed", error: { message, stack } };
  }
  if (body.entrypoints === undefined) {
    throw invalidRequest([
      { path: "entrypoints", message: "is required with status ready; list what the bundle registered" },
    ]);
  }
  return {
    status: "ready",
    entrypoints: body.entrypoints.map(({ kind, declared_id: declaredId }) => ({ kind, declaredId })),
  };
}

async function settle(server: ServerContext, scope: WorkerScope, body: DeploymentChecked): Promise<Reply> {
  const deploymentId = decodeId("dep", body.deployment_id);
  if (deploymentId === null) throw notFound();
  const check = {
    ...scope,
    deploymentId,
    checkId: body.check_id,
    answer: answerOf(body),
    now: server.clock(),
  };
  const { status } = await server.db.transaction((tx) => settleCheck(tx, check));
  server.wakes.wake(wakeKeys.deployment(deploymentId));
  return { status: 200, body: { deployment_id: encodeId("dep", deploymentId), status } };
}

async function sendBundle(
  server: ServerContext,
  { workerGroupId }: WorkerScope,
  digest: string,
): Promise<Reply> {
  const known =
    /^[0-9a-f]{64}$/.test(digest) &&
    (await groupHasBundle(server.db, workerGroupId, Buffer.from(digest, "hex")));
  if (!known) throw notFound();
  const blob = await server.blobs.read(digest);
  if (blob === null) throw new Error(`The bytes of bundle ${digest} are not in the blob store.`);
  return {
    status: 200,
    bytes: blob.bytes,
    contentType: "application/octet-stream",
    headers: {
      "content-length": String(blob.sizeBytes),
      etag: `"${digest}"`,
      "cache-control": "private, max-age=31536000, immutable",
    },
  };
}

export const workerRoutes: Route[] = [
  ...bothMounts(tag, {
    method: "POST",
    path: "/auth/token",
    operationId: "mintWorkerToken",
    summary: "Mint a worker's bearer token",
    description:
      "With an enrollment token: makes a worker of the token's group. With a worker's id and its present token: renews; the present token " +
      "stays valid for its own hour. The token is shown only here and is valid for one hour.",
    access: { kind: "public" },
    audit: UNAUDITED.enrollment,
    signIn: "mint",
    body: MintWorkerToken,
    responses: { 200: { description: "The token and its worker.", schema: MintedWorkerToken } },
    examples: {
      request: { enrollment_token: "kl_enr_…", name: "build-3", worker_protocol_version: 1 },
      response: { token: "kl_wkr_…", expires_at: "2026-11-20T10:15:00.123Z", worker: EXAMPLE_WORKER },
    },
    handle: async ({ server, body }) => {
      const now = server.clock();
      const context = { newUuid: server.newUuid, random: randomBytes(CREDENTIAL_BYTES), now };
      const minted = await server.db.transaction((tx) => mintWorkerToken(tx, body, context));
      return {
        status: 200,
        body: {
          token: minted.token,
          expires_at: toTimestamp(minted.expiresAt),
          worker: toWorker(minted.worker, now),
        },
      };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/register",
    operationId: "registerWorker",
    summary: "Register a worker process",
    description:
      "Says what the worker is and can hold. It gets work once it has activated. Registering again begins anew.",
    access: worker,
    body: RegisterWorker,
    responses: { 200: { description: "The worker, registered.", schema: Worker } },
    examples: {
      request: {
        name: "build-3",
        capacity: { executions: 16, workspaces: 0 },
        labels: { zone: "a" },
        version: "0.1.0",
        worker_protocol_version: 1,
      },
      response: EXAMPLE_WORKER,
    },
    handle: async ({ server, scope, body }) => {
      const now = server.clock();
      const row = await server.db.transaction((tx) => registerWorker(tx, scope.workerId, body, now));
      return { status: 200, body: toWorker(row, now) };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/activate",
    operationId: "activateWorker",
    summary: "Activate the worker",
    description:
      "From here on the worker may lease executions. Activating again changes nothing; a draining worker registers first.",
    access: worker,
    responses: { 200: { description: "The worker, active.", schema: Worker } },
    examples: { response: EXAMPLE_ACTIVE },
    handle: ({ server, scope }) => change(server, scope, { decide: decideActivate, inUse: null }),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/drain",
    operationId: "drainWorker",
    summary: "Drain the worker",
    description:
      "The worker gets no more executions. It is `draining` while it holds a lease, then `drained`: see its heartbeat's answer.",
    access: worker,
    responses: { 200: { description: "The worker, draining or drained.", schema: Worker } },
    examples: { response: { ...EXAMPLE_WORKER, status: "draining" } },
    handle: async ({ server, scope }) => {
      const reply = await change(server, scope, { decide: decideDrain, inUse: null });
      // A long poll that waits for work looks again.
      server.wakes.wake(wakeKeys.worker(scope.workerId));
      return reply;
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/heartbeat",
    operationId: "heartbeatWorker",
    summary: "Say that the worker lives",
    description:
      "To be sent at least every 5 s when nothing else is; after 15 s of silence the worker is shown as `lost` until it is heard again.",
    access: worker,
    body: WorkerHeartbeat,
    responses: { 200: { description: "The worker.", schema: Worker } },
    examples: {
      request: { in_use: { executions: 3, workspaces: 0 } },
      response: { ...EXAMPLE_ACTIVE, in_use: { executions: 3, workspaces: 0 } },
    },
    handle: ({ server, scope, body }) =>
      change(server, scope, { decide: () => ({ kind: "none" }), inUse: body.in_use ?? null }),
  }),
  ...bothMounts(tag, {
    method: "GET",
    path: "/status",
    operationId: "getWorkerStatus",
    summary: "Get the worker",
    description: "The worker of the token, as the control plane sees it.",
    access: worker,
    responses: { 200: { description: "The worker.", schema: Worker } },
    examples: { response: EXAMPLE_ACTIVE },
    handle: async ({ server, scope }) => {
      const row = await findWorker(server.db, scope.workerId);
      if (row === null) throw notFound();
      return { status: 200, body: toWorker(row, server.clock()) };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/deployments/checked",
    operationId: "answerDeploymentCheck",
    summary: "Answer a deployment check",
    description:
      "What booting the bundle showed. `ready` lists what was registered; an entrypoint of the manifest that is missing fails the deployment. " +
      "A repeat changes nothing; a check that another one replaced is 409 `invalid_state`.",
    access: worker,
    body: DeploymentChecked,
    responses: {
      200: {
        description: "The deployment's status now.",
        schema: Type.Object({ deployment_id: Id("dep"), status: Type.Enum([...DEPLOYMENT_STATUSES]) }),
      },
    },
    examples: {
      request: {
        deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d",
        check_id: "0c9a3a52-6f3f-4f0e-9d39-0f0bd8a5b7a1",
        status: "ready",
        entrypoints: [{ kind: "task", declared_id: "send-report" }],
      },
      response: { deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d", status: "ready" },
    },
    handle: ({ server, scope, body }) => settle(server, scope, body),
  }),
  ...bothMounts(tag, {
    method: "GET",
    path: "/bundles/:digest",
    operationId: "getBundle",
    summary: "Download a bundle",
    description: `The bytes with that SHA-256, for example ${EXAMPLE_DIGEST}, when an environment that the worker's group serves has uploaded them.`,
    access: worker,
    params: Type.Object({ digest: Type.String() }),
    responses: { 200: { description: "The bundle.", mediaType: "application/octet-stream" } },
    handle: ({ server, scope, params }) => sendBundle(server, scope, params.digest),
  }),
];
