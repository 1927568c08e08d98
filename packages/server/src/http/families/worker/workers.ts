import {
  decodeId,
  DEPLOYMENT_STATUSES,
  DeploymentChecked,
  encodeId,
  EXAMPLE_IDS,
  formatDuration,
  Id,
  MintedWorkerToken,
  MintWorkerToken,
  RegisterWorker,
  Worker,
  WorkerHeard,
  WorkerHeartbeat,
  type HeldSecret,
} from "@keelson/contract";
import { Type } from "typebox";
import { groupHasBundle } from "../../../core/bundles/bundle-reads.ts";
import type { CheckAnswer } from "../../../core/deployments/deployment.ts";
import { settleCheck } from "../../../core/deployments/settle-check.ts";
import { changeWorker, hearWorker } from "../../../core/workers/change-worker.ts";
import { mintWorkerToken } from "../../../core/workers/mint-worker-token.ts";
import { registerWorker } from "../../../core/workers/register-worker.ts";
import { listCurrentVersions, type HeldVersion } from "../../../core/secrets/secret-reads.ts";
import type { Watch } from "../../../core/workers/silence-reads.ts";
import { decideActivate, decideDrain } from "../../../core/workers/worker.ts";
import { findWorker } from "../../../core/workers/worker-reads.ts";
import type { Tx } from "../../../db/queryable.ts";
import { invalidRequest, notFound } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import { UNAUDITED } from "../../edge/audit.ts";
import { Text } from "../../edge/params.ts";
import type { ChangeCall, Reply, RouteDefinition, WorkerScope } from "../../edge/route.ts";
import { toTimestamp } from "../../edge/time.ts";
import { toWorker } from "../../resources/workers/wire.ts";
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
  node_version: "24.21.0",
  platform: { os: "linux", arch: "x64", libc: "glibc" },
  isolation: null,
  isolation_problem: null,
  task_isolation: "process",
  task_isolation_problem: "bubblewrap is not installed.",
  last_seen_at: "2026-11-20T09:15:00.123Z",
  created_at: "2026-11-20T09:15:00.123Z",
  updated_at: "2026-11-20T09:15:00.123Z",
};
const EXAMPLE_HELD = { environment_id: EXAMPLE_IDS.env, id: EXAMPLE_IDS.sec, version: 3 };
const EXAMPLE_ACTIVE = { ...EXAMPLE_WORKER, status: "active" };

/** Random bytes of a credential; more than its 32 digits need, because some are skipped. */

type WorkerCall = Pick<ChangeCall<typeof worker>, "tx" | "server" | "scope">;

const watchOf = ({ clock, leaseDurationMs }: ServerContext): Watch => ({ now: clock(), leaseDurationMs });

async function change({ tx, server, scope }: WorkerCall, decide: Parameters<typeof changeWorker>[2]) {
  const watch = watchOf(server);
  return { status: 200, body: toWorker(await changeWorker(tx, scope.workerId, decide, watch), watch.now) };
}

/** Those that no new run is given, whoever's they are: nothing is told of secrets that are not the group's. */
async function findSuperseded(
  tx: Tx,
  { workerGroupId }: WorkerScope,
  held: readonly HeldSecret[],
): Promise<HeldSecret[]> {
  const asked = held.flatMap((wire) => {
    const environmentId = decodeId("env", wire.environment_id);
    const secretId = decodeId("sec", wire.id);
    return environmentId === null || secretId === null
      ? []
      : [{ environmentId, secretId, version: wire.version, wire }];
  });
  if (asked.length === 0) return [];
  const keyOf = ({ environmentId, secretId, version }: HeldVersion): string =>
    `${environmentId} ${secretId} ${version}`;
  const current = new Set((await listCurrentVersions(tx, workerGroupId, asked)).map(keyOf));
  return asked.flatMap((version) => (current.has(keyOf(version)) ? [] : [version.wire]));
}

/** A boot that went well says what was registered: without it, missing entrypoints could not be told. */
function answerOf(body: DeploymentChecked): CheckAnswer {
  if (body.status !== "ready") {
    const { message = "The bundle could not be booted; the worker gave no reason.", stack = null } =
      body.error ?? {};
    return { status: body.status, error: { message, stack } };
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

async function settle({ tx, server, scope }: WorkerCall, body: DeploymentChecked): Promise<Reply> {
  const deploymentId = decodeId("dep", body.deployment_id);
  if (deploymentId === null) throw notFound();
  const check = {
    ...scope,
    deploymentId,
    checkId: body.check_id,
    answer: answerOf(body),
    now: server.clock(),
  };
  const { status } = await settleCheck(tx, check);
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
    },
  };
}

export const workerRoutes: RouteDefinition[] = [
  ...bothMounts(tag, {
    method: "POST",
    path: "/auth/token",
    name: "mintWorkerToken",
    summary: "Mint a worker's bearer token",
    description:
      "With an enrollment token: makes a worker of the token's group. With a worker's id and its present token: renews; the present token " +
      "stays valid for its own hour. With all three: renews also after that hour, for 30 days, if the enrollment token is of the worker's " +
      "group, so that a machine that slept stays the same worker. The token is shown only here and is valid for one hour. Behind a router of " +
      "several cells, send the enrollment token, or else the worker's token, as the bearer credential too: the router reads no body.",
    access: { kind: "public" },
    audit: UNAUDITED.enrollment,
    signIn: "mint",
    body: MintWorkerToken,
    responses: { 200: { description: "The token and its worker.", schema: MintedWorkerToken } },
    refusals: [401],
    examples: {
      request: { enrollment_token: "kl_enr_…", name: "build-3", worker_protocol_version: 1 },
      response: {
        token: "kl_wkr_…",
        expires_at: "2026-11-20T10:15:00.123Z",
        expires_in: "1h",
        worker: EXAMPLE_WORKER,
      },
    },
    transaction: "required",
    handle: async ({ tx, server, body }) => {
      const watch = watchOf(server);
      const { newUuid, makeCredential } = server;
      const context = { newUuid, makeCredential, ...watch };
      const minted = await mintWorkerToken(tx, body, context);
      return {
        status: 200,
        body: {
          token: minted.token,
          expires_at: toTimestamp(minted.expiresAt),
          expires_in: formatDuration(minted.expiresAt - watch.now),
          worker: toWorker(minted.worker, watch.now),
        },
      };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/register",
    name: "registerWorker",
    summary: "Register a worker process",
    description:
      "Describes the worker and its capacity. The worker gets work after it activates. Registering again restarts the worker's life cycle.",
    access: worker,
    body: RegisterWorker,
    responses: { 200: { description: "The worker, registered.", schema: Worker } },
    examples: {
      request: {
        name: "build-3",
        capacity: { executions: 16, workspaces: 0 },
        labels: { zone: "a" },
        version: "0.1.0",
        node_version: "24.21.0",
        platform: { os: "linux", arch: "x64", libc: "glibc" },
        worker_protocol_version: 1,
      },
      response: EXAMPLE_WORKER,
    },
    transaction: "required",
    handle: async ({ tx, server, scope, body }) => {
      const watch = watchOf(server);
      const row = await registerWorker(tx, scope.workerId, body, watch);
      return { status: 200, body: toWorker(row, watch.now) };
    },
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/activate",
    name: "activateWorker",
    summary: "Activate the worker",
    description:
      "The worker may now lease executions. Activating again changes nothing. A draining worker must register first.",
    access: worker,
    responses: { 200: { description: "The worker, active.", schema: Worker } },
    examples: { response: EXAMPLE_ACTIVE },
    transaction: "required",
    handle: (call) => change(call, decideActivate),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/drain",
    name: "drainWorker",
    summary: "Drain the worker",
    description:
      "The worker gets no more executions. It is `draining` while it holds a lease, then `drained`: see its heartbeat's answer.",
    access: worker,
    responses: { 200: { description: "The worker, draining or drained.", schema: Worker } },
    examples: { response: { ...EXAMPLE_WORKER, status: "draining" } },
    transaction: "required",
    handle: (call) => change(call, decideDrain),
  }),
  ...bothMounts(tag, {
    method: "POST",
    path: "/heartbeat",
    name: "heartbeatWorker",
    summary: "Say that the worker lives",
    description:
      "To be sent every third of a lease (5 s by default), also while another call waits. After 15 s of silence the worker is shown as `lost` " +
      "until it is heard again; what it has is kept until another active worker of its group has been heard for as long as a lease lasts. " +
      "The answer names the secret versions of `held_secrets` that were replaced, so that no process keeps them.",
    access: worker,
    keepsAlive: true,
    body: WorkerHeartbeat,
    responses: {
      200: {
        description: "The worker, and the secret versions that its processes must not keep.",
        schema: WorkerHeard,
      },
    },
    examples: {
      request: { in_use: { executions: 3, workspaces: 0 }, held_secrets: [EXAMPLE_HELD] },
      response: {
        ...EXAMPLE_ACTIVE,
        in_use: { executions: 3, workspaces: 0 },
        superseded_secrets: [EXAMPLE_HELD],
      },
    },
    transaction: "required",
    handle: async ({ body, tx, server, scope }) => {
      const watch = watchOf(server);
      const row = await hearWorker(tx, scope.workerId, body.in_use ?? null, watch);
      const superseded_secrets = await findSuperseded(tx, scope, body.held_secrets ?? []);
      return { status: 200, body: { ...toWorker(row, watch.now), superseded_secrets } };
    },
  }),
  ...bothMounts(tag, {
    method: "GET",
    path: "/status",
    name: "getWorkerStatus",
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
    name: "answerDeploymentCheck",
    summary: "Answer a deployment check",
    description:
      "The result of booting the bundle. `ready` lists the registered entrypoints; a missing entrypoint of the manifest fails the deployment. After" +
      " `interrupted` the deployment stays pending and is checked again; the eighth time it fails. Repeating the call changes nothing. An answer " +
      "counts however late it is, until another check replaced this one: then it is 409 `invalid_state`.",
    access: worker,
    body: DeploymentChecked,
    responses: {
      200: {
        description: "The deployment's status now.",
        schema: Type.Object({ deployment_id: Id("dep"), status: Type.Enum([...DEPLOYMENT_STATUSES]) }),
      },
    },
    refusals: [404],
    examples: {
      request: {
        deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d",
        check_id: "0c9a3a52-6f3f-4f0e-9d39-0f0bd8a5b7a1",
        status: "ready",
        entrypoints: [{ kind: "task", declared_id: "send-report" }],
      },
      response: { deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d", status: "ready" },
    },
    transaction: "required",
    handle: ({ body, ...call }) => settle(call, body),
  }),
  ...bothMounts(tag, {
    method: "GET",
    path: "/bundles/:digest",
    name: "getBundle",
    summary: "Download a bundle",
    description: `The bytes with that SHA-256, for example ${EXAMPLE_DIGEST}, when an environment that the worker's group serves has uploaded them.`,
    access: worker,
    params: { digest: Text() },
    responses: { 200: { description: "The bundle.", mediaType: "application/octet-stream" } },
    handle: ({ server, scope, params }) => sendBundle(server, scope, params.digest),
  }),
];
