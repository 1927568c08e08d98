import {
  decodeId,
  encodeId,
  HEADERS,
  sseFrame,
  type CreateDeployment,
  type Deployment,
  type DeploymentStatus,
  type UploadedBundle,
} from "@keelson/contract";
import { uploadBundle } from "../core/bundles/upload-bundle.ts";
import { checkManifest } from "../core/deployments/check-manifest.ts";
import { createDeployment } from "../core/deployments/create-deployment.ts";
import {
  findCurrentDeployment,
  findDeployment,
  findDeploymentStatus,
  listDeploymentEvents,
  listDeployments,
} from "../core/deployments/deployment-reads.ts";
import { promoteDeployment } from "../core/deployments/promote-deployment.ts";
import type { FeedPage } from "../core/feeds/feed.ts";
import { wakeKeys } from "../core/feeds/wakes.ts";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../core/idempotency/with-idempotency.ts";
import { DomainError, invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import type { Audited, AuditTarget } from "./audit.ts";
import { decodeCursor, encodeCursor, pageLimit, sequenceCursor, toPage } from "./page.ts";
import type { EnvironmentScope, Reply, RequestFacts } from "./route.ts";
import { toDeployment, toDeploymentEvent } from "./wire/deployment.ts";

/** What the deployment routes of both families answer. */

const LIST = "deployments";

export function deploymentIdOf({ id: text }: { id: string }): string {
  const id = decodeId("dep", text);
  if (id === null) throw notFound();
  return id;
}

/** An upload without a body is an upload of nothing. */
function bytesOf(body: unknown): AsyncIterable<Uint8Array> {
  if (body === undefined || body === null) return (async function* () {})();
  if (typeof body === "object" && Symbol.asyncIterator in body) return body as AsyncIterable<Uint8Array>;
  throw new DomainError(
    "unsupported_media_type",
    "Send the bundle's bytes with Content-Type: application/octet-stream.",
  );
}

export async function answerUpload(
  server: ServerContext,
  scope: EnvironmentScope,
  digest: string,
  body: unknown,
): Promise<Reply> {
  if (!/^[0-9a-f]{64}$/.test(digest)) {
    throw invalidRequest([
      { path: "digest", message: "must be the SHA-256 of the bundle in 64 lower-case hexadecimal digits" },
    ]);
  }
  await server.storageQuota.admit(scope.environmentId);
  const { sizeBytes } = await uploadBundle(server.db, server.blobs, {
    environmentId: scope.environmentId,
    digest,
    bytes: bytesOf(body),
  });
  server.storageQuota.noteStored(scope.environmentId, sizeBytes);
  return { status: 200, body: { digest, size_bytes: sizeBytes } satisfies UploadedBundle };
}

const creationOf = ({ id, version, bundle }: Deployment): AuditTarget => ({
  id,
  details: { version, bundle_digest: bundle.digest },
});

export async function answerCreate(
  server: ServerContext,
  scope: EnvironmentScope,
  body: CreateDeployment,
  request: RequestFacts,
  audited: Audited,
): Promise<Reply> {
  await checkManifest(body);
  const { environmentId, projectId } = scope;
  const { clientVersion, cliVersion, sdkVersion } = request;
  const now = server.clock();
  const expiresAt = idempotencyExpiry(body.idempotency_key_ttl, now);
  const keyed = {
    environmentId,
    scope: "deployments.create",
    key: request.idempotencyKey,
    body,
    expiresAt,
    now,
  };
  const creation = {
    environmentId,
    projectId,
    request: body,
    clientVersion,
    cliVersion,
    sdkVersion,
    now,
  };
  const answer = await audited(
    (tx) =>
      withIdempotency(tx, keyed, async () => {
        const created = await createDeployment(tx, server.newUuid, creation);
        return { status: 201, body: JSON.stringify(toDeployment(created)) };
      }),
    ({ replayed, body: text }) => (replayed ? null : creationOf(JSON.parse(text) as Deployment)),
  );
  if (!answer.replayed) server.wakes.wake(wakeKeys.work(scope.workerGroupId));
  return {
    status: answer.status,
    json: answer.body,
    ...(answer.replayed ? { headers: { [HEADERS.idempotencyReplayed]: "true" } } : {}),
  };
}

export async function answerItem(
  server: ServerContext,
  scope: EnvironmentScope,
  deploymentId: string,
): Promise<Reply> {
  const deployment = await findDeployment(server.db, scope.environmentId, deploymentId);
  if (deployment === null) throw notFound();
  return { status: 200, body: toDeployment(deployment) };
}

export async function answerCurrent(server: ServerContext, scope: EnvironmentScope): Promise<Reply> {
  const deployment = await findCurrentDeployment(server.db, scope.environmentId);
  if (deployment === null) {
    throw new DomainError(
      "not_found",
      "This environment has no current deployment. Create a deployment and promote it.",
    );
  }
  return { status: 200, body: toDeployment(deployment) };
}

export async function answerList(
  server: ServerContext,
  scope: EnvironmentScope,
  query: { limit?: number; cursor?: string; status?: DeploymentStatus[] },
): Promise<Reply> {
  const { environmentId } = scope;
  const limit = pageLimit(query.limit);
  const before = decodeCursor(LIST, environmentId, query.cursor);
  const rows = await listDeployments(server.db, environmentId, query.status ?? [], before, limit + 1);
  const page = toPage(rows, limit, (row) => encodeCursor(LIST, environmentId, row.id));
  return { status: 200, body: { deployments: page.rows.map(toDeployment), next_cursor: page.nextCursor } };
}

export async function answerPromote(
  server: ServerContext,
  scope: EnvironmentScope,
  deploymentId: string,
  audited: Audited,
): Promise<Reply> {
  const { environmentId } = scope;
  const promotion = await audited(
    (tx) => promoteDeployment(tx, server.newUuid, environmentId, deploymentId, server.clock()),
    ({ changedDeploymentIds: [changed] }) =>
      changed === undefined ? null : { id: encodeId("dep", deploymentId) },
  );
  server.deployments.forget(environmentId);
  for (const id of promotion.changedDeploymentIds) server.wakes.wake(wakeKeys.deployment(id));
  if (promotion.admittedRuns > 0) server.wakes.wake(wakeKeys.work(promotion.workerGroupId));
  return answerItem(server, scope, deploymentId);
}

export async function requireDeployment(
  server: ServerContext,
  scope: EnvironmentScope,
  params: { id: string },
): Promise<string> {
  const deploymentId = deploymentIdOf(params);
  if ((await findDeploymentStatus(server.db, scope.environmentId, deploymentId)) === null) throw notFound();
  return deploymentId;
}

export async function answerEventPage(
  server: ServerContext,
  scope: EnvironmentScope,
  deploymentId: string,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const rows = await listDeploymentEvents(
    server.db,
    scope.environmentId,
    deploymentId,
    sequenceCursor(query.cursor),
    limit + 1,
  );
  const page = toPage(rows, limit, (row) => String(row.sequence));
  return {
    status: 200,
    body: {
      events: page.rows.map((row) => toDeploymentEvent(deploymentId, row)),
      next_cursor: page.nextCursor,
    },
  };
}

/** Events a follower takes in one read. */
const EVENTS_PER_READ = 200;

/**
 * Follows the events of a deployment. One that failed will never have another, so its stream ends; the status is read
 * before the events, because the transaction that fails a deployment writes its last event too.
 */
export function followEvents(
  server: ServerContext,
  scope: EnvironmentScope,
  deploymentId: string,
  after: number,
): Reply {
  const { environmentId } = scope;
  const readPage = async (cursor: number): Promise<FeedPage<string>> => {
    const status = await findDeploymentStatus(server.db, environmentId, deploymentId);
    if (status === null) throw notFound();
    const rows = await listDeploymentEvents(server.db, environmentId, deploymentId, cursor, EVENTS_PER_READ);
    const frames = rows.map((row) =>
      sseFrame(
        "deployment_event",
        String(row.sequence),
        JSON.stringify(toDeploymentEvent(deploymentId, row)),
      ),
    );
    const ended = status === "failed" && rows.length < EVENTS_PER_READ;
    return {
      batch: frames.length === 0 ? null : frames.join(""),
      cursor: rows.at(-1)?.sequence ?? cursor,
      end: ended ? { deployment_id: encodeId("dep", deploymentId), status } : undefined,
    };
  };
  const feed = {
    key: `deployment ${deploymentId}`,
    wakeKey: wakeKeys.deployment(deploymentId),
    read: readPage,
  };
  return { status: 200, events: { feed, after } };
}
