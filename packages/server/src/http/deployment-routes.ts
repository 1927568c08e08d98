import {
  CreateDeployment,
  decodeId,
  Deployment,
  DEPLOYMENT_STATUSES,
  DeploymentEvent,
  encodeId,
  HEADERS,
  LIMITS,
  Page,
  pageQuery,
  SequenceCursor,
  sseFrame,
  UploadedBundle,
  type DeploymentStatus,
} from "@keelson/contract";
import { Type } from "typebox";
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
import type { FeedPage } from "../core/feeds/follow-feed.ts";
import { wakeKeys } from "../core/feeds/wakes.ts";
import { idempotencyExpiry } from "../core/idempotency/idempotency-expiry.ts";
import { withIdempotency } from "../core/idempotency/with-idempotency.ts";
import { DomainError, invalidRequest, notFound } from "../domain-error.ts";
import type { ServerContext } from "../server-context.ts";
import { EXAMPLE_CREATE_DEPLOYMENT, EXAMPLE_DEPLOYMENT, EXAMPLE_DEPLOYMENT_EVENT, EXAMPLE_DIGEST } from "./deployment-examples.ts";
import { feedFrames, followCursor, wantsEventStream } from "./follow.ts";
import { decodeCursor, encodeCursor, pageLimit, sequenceCursor, toPage } from "./page.ts";
import { route, type EnvironmentScope, type Reply, type RequestFacts, type Route } from "./route.ts";
import { toDeployment, toDeploymentEvent } from "./wire/deployment.ts";

/** Deployment routes, once for both families: on /api a user chooses the environment and events can be followed. */

const LIST = "deployments";
const tag = "Deployments";
const read = { kind: "environment", permission: "deployments.read" } as const;
const create = { kind: "environment", permission: "deployments.create" } as const;
const promote = { kind: "environment", permission: "deployments.promote" } as const;
const DeploymentParams = Type.Object({ id: Type.String() });
const EventPage = Page("events", DeploymentEvent);
const EventPageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: `Default ${LIMITS.pageDefault}.` })),
  cursor: Type.Optional(SequenceCursor),
};

function deploymentIdOf({ id: text }: { id: string }): string {
  const id = decodeId("dep", text);
  if (id === null) throw notFound();
  return id;
}

/** An upload without a body is an upload of nothing. */
function bytesOf(body: unknown): AsyncIterable<Uint8Array> {
  if (body === undefined || body === null) return (async function* () {})();
  if (typeof body === "object" && Symbol.asyncIterator in body) return body as AsyncIterable<Uint8Array>;
  throw new DomainError("unsupported_media_type", "Send the bundle's bytes with Content-Type: application/octet-stream.");
}

async function answerUpload(server: ServerContext, scope: EnvironmentScope, digest: string, body: unknown): Promise<Reply> {
  if (!/^[0-9a-f]{64}$/.test(digest)) {
    throw invalidRequest([{ path: "digest", message: "must be the SHA-256 of the bundle in 64 lower-case hexadecimal digits" }]);
  }
  const { sizeBytes } = await uploadBundle(server.db, server.blobs, { environmentId: scope.environmentId, digest, bytes: bytesOf(body) });
  return { status: 200, body: { digest, size_bytes: sizeBytes } satisfies UploadedBundle };
}

async function answerCreate(server: ServerContext, scope: EnvironmentScope, body: CreateDeployment, request: RequestFacts): Promise<Reply> {
  await checkManifest(body);
  const { environmentId, projectId } = scope;
  const { clientVersion, cliVersion, sdkVersion } = request;
  const now = server.clock();
  const expiresAt = idempotencyExpiry(body.idempotency_key_ttl, now);
  const keyed = { environmentId, scope: "deployments.create", key: request.idempotencyKey, body, expiresAt, now };
  const answer = await server.db.transaction((tx) =>
    withIdempotency(tx, keyed, async () => {
      const creation = { environmentId, projectId, request: body, clientVersion, cliVersion, sdkVersion, now };
      return { status: 201, body: JSON.stringify(toDeployment(await createDeployment(tx, server.newUuid, creation))) };
    }),
  );
  if (!answer.replayed) server.wakes.wake(wakeKeys.work(scope.workerGroupId));
  return {
    status: answer.status,
    json: answer.body,
    ...(answer.replayed ? { headers: { [HEADERS.idempotencyReplayed]: "true" } } : {}),
  };
}

async function answerItem(server: ServerContext, scope: EnvironmentScope, deploymentId: string): Promise<Reply> {
  const deployment = await findDeployment(server.db, scope.environmentId, deploymentId);
  if (deployment === null) throw notFound();
  return { status: 200, body: toDeployment(deployment) };
}

async function answerCurrent(server: ServerContext, scope: EnvironmentScope): Promise<Reply> {
  const deployment = await findCurrentDeployment(server.db, scope.environmentId);
  if (deployment === null) {
    throw new DomainError("not_found", "This environment has no current deployment. Create a deployment and promote it.");
  }
  return { status: 200, body: toDeployment(deployment) };
}

async function answerList(
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

async function answerPromote(server: ServerContext, scope: EnvironmentScope, deploymentId: string): Promise<Reply> {
  const { environmentId } = scope;
  const promotion = await server.db.transaction((tx) => promoteDeployment(tx, environmentId, deploymentId, server.clock()));
  server.deployments.forget(environmentId);
  for (const id of promotion.changedDeploymentIds) server.wakes.wake(wakeKeys.deployment(id));
  if (promotion.admittedRuns > 0) server.wakes.wake(wakeKeys.work(promotion.workerGroupId));
  return answerItem(server, scope, deploymentId);
}

async function requireDeployment(server: ServerContext, scope: EnvironmentScope, params: { id: string }): Promise<string> {
  const deploymentId = deploymentIdOf(params);
  if ((await findDeploymentStatus(server.db, scope.environmentId, deploymentId)) === null) throw notFound();
  return deploymentId;
}

async function answerEventPage(
  server: ServerContext,
  scope: EnvironmentScope,
  deploymentId: string,
  query: { limit?: number; cursor?: string },
): Promise<Reply> {
  const limit = pageLimit(query.limit);
  const rows = await listDeploymentEvents(server.db, scope.environmentId, deploymentId, sequenceCursor(query.cursor), limit + 1);
  const page = toPage(rows, limit, (row) => String(row.sequence));
  return {
    status: 200,
    body: { events: page.rows.map((row) => toDeploymentEvent(deploymentId, row)), next_cursor: page.nextCursor },
  };
}

/** Events a follower takes in one read. */
const EVENTS_PER_READ = 200;

/**
 * Follows the events of a deployment. One that failed will never have another, so its stream ends; the status is read
 * before the events, because the transaction that fails a deployment writes its last event too.
 */
function followEvents(server: ServerContext, scope: EnvironmentScope, deploymentId: string, after: number, signal: AbortSignal): Reply {
  const { environmentId } = scope;
  const readPage = async (cursor: number): Promise<FeedPage<string>> => {
    const status = await findDeploymentStatus(server.db, environmentId, deploymentId);
    if (status === null) throw notFound();
    const rows = await listDeploymentEvents(server.db, environmentId, deploymentId, cursor, EVENTS_PER_READ);
    const frames = rows.map((row) =>
      sseFrame("deployment_event", String(row.sequence), JSON.stringify(toDeploymentEvent(deploymentId, row))),
    );
    const ended = status === "failed" && rows.length < EVENTS_PER_READ;
    return {
      batch: frames.length === 0 ? null : frames.join(""),
      cursor: rows.at(-1)?.sequence ?? cursor,
      end: ended ? { deployment_id: encodeId("dep", deploymentId), status } : undefined,
    };
  };
  const feed = {
    wakeKey: wakeKeys.deployment(deploymentId),
    read: (cursor: number) => server.shareFeedRead(`deployment ${deploymentId} ${cursor}`, () => readPage(cursor)),
  };
  return { status: 200, events: feedFrames(server.wakes, feed, after, signal) };
}

type Family = "v1" | "api";

const pathIn = (family: Family, path: string): string => `/${family}${path}`;
const operationIn = (family: Family, name: string): string =>
  family === "v1" ? name : `api${name.charAt(0).toUpperCase()}${name.slice(1)}`;

const uploadRoute = (family: Family): Route =>
  route({
    family,
    method: "PUT",
    path: pathIn(family, "/deployment-bundles/:digest"),
    operationId: operationIn(family, "uploadDeploymentBundle"),
    summary: "Upload a bundle",
    description:
      "The bytes of a bundle under their SHA-256, before the deployment that uses them. The digest is verified; a repeat is harmless. " +
      "Other bytes are 400 `invalid_request`, more than 64 MiB 413 `payload_too_large`.",
    tag,
    access: create,
    params: Type.Object({ digest: Type.String() }),
    rawBody: { bodyLimitBytes: LIMITS.bundleBytes, mediaType: "application/octet-stream" },
    responses: { 200: { description: "The bundle is stored.", schema: UploadedBundle } },
    examples: { response: { digest: EXAMPLE_DIGEST, size_bytes: 48_211 } },
    handle: ({ server, scope, params, body }) => answerUpload(server, scope, params.digest, body),
  });

const createRoute = (family: Family): Route =>
  route({
    family,
    method: "POST",
    path: pathIn(family, "/deployments"),
    operationId: operationIn(family, "createDeployment"),
    summary: "Create a deployment",
    description:
      "Creates an immutable version from an uploaded bundle and its manifest. It is `pending` until a worker has booted the bundle once, " +
      "then `ready` or `failed`. Creating does not promote. An unknown bundle is 409 `bundle_missing`; a payload schema that cannot be " +
      "compiled, is over 64 KiB or has a pattern over 256 characters is 400 `invalid_request`.",
    tag,
    access: create,
    body: CreateDeployment,
    idempotency: "own",
    responses: { 201: { description: "The pending deployment.", schema: Deployment } },
    examples: { request: EXAMPLE_CREATE_DEPLOYMENT, response: EXAMPLE_DEPLOYMENT },
    handle: ({ server, scope, body, request }) => answerCreate(server, scope, body, request),
  });

const listRoute = (family: Family): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/deployments"),
    operationId: operationIn(family, "listDeployments"),
    summary: "List deployments",
    description: "Newest first.",
    tag,
    access: read,
    query: Type.Object(
      {
        ...pageQuery(),
        status: Type.Optional(
          Type.Array(Type.Enum([...DEPLOYMENT_STATUSES]), { maxItems: DEPLOYMENT_STATUSES.length, description: "Repeatable." }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A page of deployments.", schema: Page("deployments", Deployment) } },
    examples: { response: { deployments: [EXAMPLE_DEPLOYMENT], next_cursor: null } },
    handle: ({ server, scope, query }) => answerList(server, scope, query),
  });

const currentRoute = (family: Family): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/deployments/current"),
    operationId: operationIn(family, "getCurrentDeployment"),
    summary: "Get the current deployment",
    description: "The deployment that starts use. 404 `not_found` while none has been promoted.",
    tag,
    access: read,
    responses: { 200: { description: "The current deployment.", schema: Deployment } },
    examples: { response: { ...EXAMPLE_DEPLOYMENT, status: "ready", is_current: true, promoted_at: "2026-11-20T09:15:04.000Z" } },
    handle: ({ server, scope }) => answerCurrent(server, scope),
  });

const itemRoute = (family: Family): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/deployments/:id"),
    operationId: operationIn(family, "getDeployment"),
    summary: "Get a deployment",
    description: "`error` says why a failed one could not be used.",
    tag,
    access: read,
    params: DeploymentParams,
    responses: { 200: { description: "The deployment.", schema: Deployment } },
    examples: { response: EXAMPLE_DEPLOYMENT },
    handle: ({ server, scope, params }) => answerItem(server, scope, deploymentIdOf(params)),
  });

const promoteRoute = (family: Family): Route =>
  route({
    family,
    method: "POST",
    path: pathIn(family, "/deployments/:id/promote"),
    operationId: operationIn(family, "promoteDeployment"),
    summary: "Promote a deployment",
    description:
      "Makes a ready deployment the current one, with its queue limits, in one transaction; runs that have started keep their version. " +
      "Promoting an older deployment is the rollback; promoting the current one changes nothing. One that is not ready is 409 `invalid_state`.",
    tag,
    access: promote,
    params: DeploymentParams,
    responses: { 200: { description: "The deployment, now current.", schema: Deployment } },
    examples: { response: { ...EXAMPLE_DEPLOYMENT, status: "ready", is_current: true, promoted_at: "2026-11-20T09:15:04.000Z" } },
    handle: ({ server, scope, params }) => answerPromote(server, scope, deploymentIdOf(params)),
  });

/** All but the events, which only /api streams. */
export const deploymentRoutesIn = (family: Family): Route[] =>
  [uploadRoute, createRoute, listRoute, currentRoute, itemRoute, promoteRoute].map((make) => make(family));

const events = {
  method: "GET",
  tag,
  access: read,
  params: DeploymentParams,
  examples: { response: { events: [EXAMPLE_DEPLOYMENT_EVENT], next_cursor: null } },
} as const;

export const eventPageRoute: Route = route({
  ...events,
  family: "v1",
  path: "/v1/deployments/:id/events",
  operationId: "listDeploymentEvents",
  summary: "List a deployment's events",
  description: "Oldest first, a finite page after `cursor`. To follow live, use /api/deployments/{id}/events.",
  query: Type.Object(EventPageQuery, { additionalProperties: false }),
  responses: { 200: { description: "A page of events.", schema: EventPage } },
  handle: async ({ server, scope, params, query }) =>
    answerEventPage(server, scope, await requireDeployment(server, scope, params), query),
});

export const eventFollowRoute: Route = route({
  ...events,
  family: "api",
  path: "/api/deployments/:id/events",
  operationId: "apiListDeploymentEvents",
  summary: "List or follow a deployment's events",
  description:
    "A page after `cursor`; with `follow=1` or `Accept: text/event-stream` a stream of `deployment_event`, whose ids are the cursor. " +
    "Continue with `Last-Event-ID` or `cursor`. The stream of a failed deployment ends with `end`; a ready one can be promoted at any " +
    "time, so its stream stays open.",
  query: Type.Object(
    { ...EventPageQuery, follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })) },
    { additionalProperties: false },
  ),
  responses: { 200: { description: "A page of events, or a stream.", schema: EventPage } },
  handle: async ({ server, scope, params, query, request }) => {
    const deploymentId = await requireDeployment(server, scope, params);
    if (!wantsEventStream(request, query.follow)) return answerEventPage(server, scope, deploymentId, query);
    return followEvents(server, scope, deploymentId, followCursor(request, query.cursor), request.signal);
  },
});
