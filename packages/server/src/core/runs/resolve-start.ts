import { decodeId, LIMITS, parseDuration, whileBusyOf, type StartTask, type Uuid } from "@keelson/contract";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type {
  CachedDeployment,
  CachedEntrypoint,
  DeploymentLookups,
} from "../entrypoints/deployment-cache.ts";
import { canonicalDigest } from "../idempotency/canonical-json.ts";
import { idempotencyExpiry } from "../idempotency/idempotency-expiry.ts";
import type { EntrypointKind } from "../entrypoints/entrypoint-reads.ts";
import type { AdmitRun } from "../quotas/run-quota.ts";
import { NO_LINKS, type NewRun } from "./new-run.ts";
import { MAX_DELAY_MS, resolveRetry, type ResolvedRetry } from "./retry-policy.ts";
import type { RunLinks } from "./run.ts";

/** Who starts, with what, and when: everything but the deployment. */
export type StartRequest = {
  organizationId: Uuid<"org">;
  projectId: Uuid<"proj">;
  environmentId: Uuid<"env">;
  workerGroupId: Uuid<"wgrp">;
  kind: EntrypointKind;
  /** The declared id. */
  entrypoint: string;
  body: StartTask;
  links?: RunLinks;
  idempotencyKey: string | null;
  clientVersion: string | null;
  cliVersion: string | null;
  sdkVersion: string | null;
};

/** What a start is resolved from: a later turn of a session has no caller who brings the place's facts. */
type ResolvableStart = Omit<StartRequest, "organizationId" | "workerGroupId"> & {
  workerGroupId?: Uuid<"wgrp">;
};

/** Where what is declared is looked up, and who says whether there may be another run. */
export type StartSources = { deployments: DeploymentLookups; admit: AdmitRun };

const DEFAULT_QUEUE = "default";

/**
 * Turns a start into the run to insert: deployment, declaration, payload, limits and times are checked here.
 *
 * @throws DomainError `not_found` for an unknown task or version, `invalid_payload`, `payload_too_large`, `invalid_request`,
 * `rate_limited` when the environment has as many live runs as it may.
 */
export async function resolveStart(
  { deployments, admit }: StartSources,
  request: ResolvableStart,
  newUuid: NewUuid,
  now: number,
): Promise<NewRun> {
  const { body } = request;
  const deployment = await findDeployment(deployments, request);
  const declared = request.kind === "task" ? deployment.tasks : deployment.actors;
  const entrypoint = declared.get(request.entrypoint);
  if (entrypoint === undefined) throw unknownEntrypoint(request, deployment);
  const { declaration } = entrypoint;
  // The payload is the first turn's: a later one has input instead.
  const payload = (request.links?.turn ?? 1) > 1 ? null : checkPayload(entrypoint, body.payload);
  const metadata =
    body.metadata === undefined
      ? null
      : sized("metadata", JSON.stringify(body.metadata), LIMITS.metadataBytes);
  const queue = body.queue ?? declaration.queue ?? DEFAULT_QUEUE;
  const concurrencyKey = body.concurrency_key ?? null;
  const startAt = startTime(body, now);
  const ttl = body.ttl ?? declaration.ttl ?? null;
  const maxDuration = body.max_duration ?? declaration.max_duration ?? null;
  const { retry, retryText } = retryOf(entrypoint, body);
  const maxDurationMs = maxDuration === null ? null : positive("max_duration", maxDuration);
  const expiresAt = ttl === null ? null : Math.max(startAt ?? now, now) + positive("ttl", ttl);
  const idempotency =
    request.idempotencyKey === null ? null : idempotencyOf(request, request.idempotencyKey, now);
  // Last, so that what is refused for another reason is not counted.
  const admitted = admit(request.environmentId);
  if (admitted !== undefined) await admitted;
  return {
    id: newUuid(),
    environmentId: request.environmentId,
    projectId: request.projectId,
    workerGroupId: request.workerGroupId ?? deployment.workerGroupId,
    entrypointKind: request.kind,
    entrypoint: request.entrypoint,
    deploymentId: deployment.id,
    deploymentVersion: deployment.version,
    requirement: deployment.requirement,
    pinned: body.deployment_version !== undefined,
    payload,
    metadata,
    tags: body.tags ?? [],
    queue,
    concurrencyKey,
    priority: body.priority ?? 0,
    retry,
    retryText,
    maxDurationMs,
    startAt,
    expiresAt,
    requiredIsolation: declaration.isolation === "namespace" ? "namespace" : null,
    whileBusy: whileBusyOf(declaration),
    limited: concurrencyKey !== null || (deployment.queues.get(queue)?.concurrency_limit ?? null) !== null,
    clientVersion: request.clientVersion,
    cliVersion: request.cliVersion,
    sdkVersion: request.sdkVersion,
    createdAt: now,
    links: linksOf(request, declaration.sandbox ?? null, newUuid),
    idempotency,
  };
}

/** A run whose task declares a sandbox has a workspace, which is made when a worker takes the run up. */
function linksOf({ body, links }: ResolvableStart, sandbox: string | null, newUuid: NewUuid): RunLinks {
  const named = body.workspace_id === undefined ? null : decodeId("ws", body.workspace_id);
  const workspaceId = links?.workspaceId ?? named ?? (sandbox === null ? null : newUuid());
  if (workspaceId === null) return links ?? NO_LINKS;
  return { ...(links ?? NO_LINKS), workspaceId };
}

async function findDeployment(
  deployments: DeploymentLookups,
  { environmentId, body, kind, entrypoint }: ResolvableStart,
): Promise<CachedDeployment> {
  if (body.deployment_version !== undefined) {
    const pinned = await deployments.byVersion(environmentId, body.deployment_version);
    if (pinned !== null) return pinned;
    throw new DomainError(
      "not_found",
      `There is no ready deployment with version ${body.deployment_version} in this environment; see GET /v1/deployments.`,
    );
  }
  const current = await deployments.current(environmentId);
  if (current !== null) return current;
  throw new DomainError(
    "not_found",
    `There is no ${kind} "${entrypoint}": nothing is deployed in this environment yet. Run \`keelson deploy\`.`,
  );
}

function unknownEntrypoint({ kind, entrypoint }: ResolvableStart, deployment: CachedDeployment): DomainError {
  const known = [...(kind === "task" ? deployment.tasks : deployment.actors).keys()].sort();
  return new DomainError(
    "not_found",
    `There is no ${kind} "${entrypoint}" in deployment ${deployment.version}. Declared there: ${known.slice(0, 20).join(", ") || `no ${kind}`}. Deploy the ${kind}, or check its id.`,
    { [kind]: entrypoint, deployment_version: deployment.version },
  );
}

/**
 * What a task is given, as JSON text; null for none.
 *
 * @throws DomainError `invalid_payload`, `payload_too_large`.
 */
export function checkPayload(entrypoint: CachedEntrypoint, payload: unknown): string | null {
  // The size first: the schema is not run over more than is taken.
  const text = payload === undefined ? null : sized("payload", JSON.stringify(payload), LIMITS.payloadBytes);
  const issues = entrypoint.validate?.(payload ?? null) ?? [];
  if (issues.length > 0) {
    const shown = issues.slice(0, 20);
    throw new DomainError(
      "invalid_payload",
      `The payload does not fit the schema of "${entrypoint.declaration.id}": ${shown.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
      { issues: shown },
    );
  }
  return text;
}

function sized(field: string, text: string, limit: number): string {
  if (text.length > limit || Buffer.byteLength(text) > limit) {
    throw new DomainError(
      "payload_too_large",
      `${field} may be ${limit} bytes of JSON; store larger data elsewhere and pass a reference.`,
      {
        field,
        limit_bytes: limit,
      },
    );
  }
  return text;
}

/** A duration that must be more than nothing. */
function positive(path: string, duration: string): number {
  const ms = parseDuration(duration);
  if (ms === null || ms === 0 || ms > MAX_DELAY_MS)
    throw invalidRequest([{ path, message: "must be a duration from 1ms to 3650d, such as 30s or 15m" }]);
  return ms;
}

function startTime(body: StartTask, now: number): number | null {
  if (body.delay !== undefined && body.start_at !== undefined) {
    throw invalidRequest([{ path: "start_at", message: "send either delay or start_at" }]);
  }
  if (body.start_at !== undefined) {
    const at = Date.parse(body.start_at);
    if (Number.isNaN(at) || at - now > MAX_DELAY_MS)
      throw invalidRequest([{ path: "start_at", message: "must be a time within the next ten years" }]);
    return at;
  }
  if (body.delay === undefined) return null;
  const ms = parseDuration(body.delay);
  if (ms === null || ms > MAX_DELAY_MS)
    throw invalidRequest([{ path: "delay", message: "must be a duration up to 3650d, such as 10m" }]);
  return now + ms;
}

type Retry = { retry: ResolvedRetry; retryText: string };
const declaredRetries = new WeakMap<CachedEntrypoint, Retry>();

/** The declared policy is resolved once: nearly all starts use it as it is. */
function retryOf(entrypoint: CachedEntrypoint, body: StartTask): Retry {
  const known = body.retry === undefined ? declaredRetries.get(entrypoint) : undefined;
  if (known !== undefined) return known;
  for (const field of ["initial_delay", "max_delay"] as const) {
    const text = body.retry?.[field];
    const ms = text === undefined ? 0 : parseDuration(text);
    if (ms === null || ms > MAX_DELAY_MS) {
      throw invalidRequest([
        { path: `retry.${field}`, message: "must be a duration up to 3650d, such as 10s" },
      ]);
    }
  }
  const retry = resolveRetry(body.retry, entrypoint.declaration.retry);
  const resolved = { retry, retryText: JSON.stringify(retry) };
  if (body.retry === undefined) declaredRetries.set(entrypoint, resolved);
  return resolved;
}

/**
 * The key of a start and what tells its request from another one.
 *
 * @throws DomainError `invalid_request` when it would be kept for more than 30 days.
 */
export function idempotencyOf(
  { kind, entrypoint, body }: ResolvableStart,
  key: string,
  now: number,
): NonNullable<NewRun["idempotency"]> {
  const { idempotency_key: _key, idempotency_key_ttl: ttl, ...content } = body;
  const expiresAt = idempotencyExpiry(ttl, now);
  return { scope: `${kind}s.start:${entrypoint}`, key, digest: canonicalDigest(content), expiresAt };
}
