import {
  CreateDeployment,
  Deployment,
  DeploymentEvent,
  encodeId,
  LIMITS,
  ListDeployments,
  Page,
  requirementOf,
  SequencePage,
  UploadedBundle,
  type Uuid,
} from "@keelson/contract";
import { Type } from "typebox";
import { readArchive } from "../../../core/bundles/read-archive.ts";
import { renewUpload } from "../../../core/bundles/renew-upload.ts";
import { uploadBundle } from "../../../core/bundles/upload-bundle.ts";
import { checkManifest } from "../../../core/deployments/check-manifest.ts";
import { createDeployment } from "../../../core/deployments/create-deployment.ts";
import {
  findCurrentDeployment,
  findDeployment,
  findDeploymentStatus,
  listDeployments,
  type DeploymentRow,
} from "../../../core/deployments/deployment-reads.ts";
import { findUnable } from "../../../core/workers/requirement-reads.ts";
import { promoteDeployment } from "../../../core/deployments/promote-deployment.ts";
import type { Queryable } from "../../../db/queryable.ts";
import { DomainError, invalidRequest, notFound } from "../../../domain-error.ts";
import { UNAUDITED } from "../../edge/audit.ts";
import { followCursor, wantsEventStream } from "../../edge/follow.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id, Text } from "../../edge/params.ts";
import { bytesOf } from "../../edge/raw-body.ts";
import { route, type EnvironmentScope, type Reply, type RouteDefinition } from "../../edge/route.ts";
import { eventPage, followEvents } from "./deployment-feed.ts";
import {
  EXAMPLE_CREATE_DEPLOYMENT,
  EXAMPLE_DEPLOYMENT,
  EXAMPLE_DEPLOYMENT_EVENT,
  EXAMPLE_DIGEST,
} from "./examples.ts";
import { toDeployment } from "./wire.ts";

/** Deployment routes, once for both families: on /api a user chooses the environment and events can be followed. */

const tag = "Deployments";
const read = { kind: "environment", permission: "deployments.read" } as const;
const create = { kind: "environment", permission: "deployments.create" } as const;
const promote = { kind: "environment", permission: "deployments.promote" } as const;
const DeploymentParams = { id: Id("dep") };
const EventPage = Page("events", DeploymentEvent);
const DIGEST = /^[0-9a-f]{64}$/;

function deploymentReply(row: DeploymentRow | null, status = 200): Reply {
  if (row === null) throw notFound();
  return { status, body: toDeployment(row) };
}

/** @throws DomainError `invalid_request` */
function requireDigest(digest: string): void {
  const message = "must be the SHA-256 of the bundle in 64 lower-case hexadecimal digits";
  if (!DIGEST.test(digest)) throw invalidRequest([{ path: "digest", message }]);
}

/** @throws DomainError `not_found` */
async function requireDeployment(
  db: Queryable,
  { environmentId }: EnvironmentScope,
  deploymentId: Uuid<"dep">,
): Promise<void> {
  if ((await findDeploymentStatus(db, environmentId, deploymentId)) === null) throw notFound();
}

const uploadRoute = route({
  in: ["v1", "api"],
  method: "PUT",
  path: "/deployment-bundles/:digest",
  name: "uploadDeploymentBundle",
  summary: "Upload a bundle",
  description:
    "The bytes of a bundle under their SHA-256, before the deployment that uses them: one module, or the index of an archive and each of " +
    "its files. The digest is verified; a repeat is harmless. " +
    "Bytes with another digest are 400 `invalid_request`. More than 64 MiB are 413 `payload_too_large`.",
  tag,
  access: create,
  params: { digest: Text() },
  rawBody: { bodyLimitBytes: LIMITS.bundleBytes, mediaType: "application/octet-stream" },
  audit: UNAUDITED.bytes,
  responses: { 200: { description: "The bundle is stored.", schema: UploadedBundle } },
  examples: { response: { digest: EXAMPLE_DIGEST, size_bytes: 48_211 } },
  handle: async ({ server, scope: { environmentId }, params: { digest }, body }) => {
    requireDigest(digest);
    const bytes = bytesOf(body);
    await server.storageQuota.admit(environmentId);
    const { sizeBytes } = await uploadBundle(server, { environmentId, digest, bytes });
    server.storageQuota.noteStored(environmentId, sizeBytes);
    return { status: 200, body: { digest, size_bytes: sizeBytes } satisfies UploadedBundle };
  },
});

const createRoute = route({
  in: ["v1", "api"],
  method: "POST",
  path: "/deployments",
  name: "createDeployment",
  summary: "Create a deployment",
  description:
    "Creates an immutable version from an uploaded bundle and its manifest. It is `pending` until a worker has booted the bundle once, then " +
    "`ready` or `failed`. Creating does not promote. When parts of the bundle are not uploaded, the answer is 409 `bundle_missing`: " +
    "`details.missing` lists their digests, and `details.no_worker` says why no active worker can run an archive, or is null. A payload schema " +
    "that cannot be compiled, is over 64 KiB or has a pattern over 256 characters is 400 `invalid_request`.",
  tag,
  access: create,
  body: CreateDeployment,
  transaction: "required",
  idempotency: { stored: "deployments.create" },
  responses: { 201: { description: "The pending deployment.", schema: Deployment } },
  examples: { request: EXAMPLE_CREATE_DEPLOYMENT, response: EXAMPLE_DEPLOYMENT },
  audit: { action: "deployments.create", resource: "deployment" },
  prepare: async ({ server, scope, body }) => {
    await checkManifest(body);
    if (body.bundle_format_version === 1) return null;
    const { node_version: node, platform = null, bundle_digest: digest } = body;
    const findNoWorker = async (): Promise<string | null> =>
      node === undefined
        ? null
        : findUnable(
            server.db,
            scope.environmentId,
            requirementOf({ node_version: node, platform }),
            server.clock(),
          );
    const { db, blobs } = server;
    const archive = await readArchive(db, blobs, scope.environmentId, digest, findNoWorker);
    await renewUpload(db, scope.environmentId, digest, archive, server.clock());
    return archive;
  },
  handle: async ({ tx, server, scope, body, request, prepared: archive, audit }) => {
    const { clientVersion, cliVersion, sdkVersion } = request;
    const creation = { request: body, archive, clientVersion, cliVersion, sdkVersion, now: server.clock() };
    const created = await createDeployment(tx, server.newUuid, scope, creation);
    const details = { version: created.version, bundle_digest: body.bundle_digest };
    audit({ id: encodeId("dep", created.id), details });
    return deploymentReply(created, 201);
  },
});

const deploymentList = listRoute({
  in: ["v1", "api"],
  path: "/deployments",
  name: "listDeployments",
  summary: "List deployments",
  description: "All versions of the environment, newest first. `is_current` marks the version of new runs.",
  tag,
  access: read,
  items: "deployments",
  resource: Deployment,
  example: EXAMPLE_DEPLOYMENT,
  query: ListDeployments,
  filter: ({ status }) => status ?? [],
  read: ({ server, scope }, { filter, after, limit }) =>
    listDeployments(server.db, scope.environmentId, filter, after, limit),
  toWire: (row) => toDeployment(row),
});

const currentRoute = route({
  in: ["v1", "api"],
  method: "GET",
  path: "/deployments/current",
  name: "getCurrentDeployment",
  summary: "Get the current deployment",
  description: "The deployment that new runs use. 404 `not_found` before the first promotion.",
  tag,
  access: read,
  responses: { 200: { description: "The current deployment.", schema: Deployment } },
  refusals: [404],
  examples: {
    response: {
      ...EXAMPLE_DEPLOYMENT,
      status: "ready",
      is_current: true,
      promoted_at: "2026-11-20T09:15:04.000Z",
    },
  },
  handle: async ({ server, scope }) => {
    const current = await findCurrentDeployment(server.db, scope.environmentId);
    if (current === null)
      throw new DomainError(
        "not_found",
        "This environment has no current deployment. Create a deployment and promote it.",
      );
    return deploymentReply(current);
  },
});

const itemRoute = route({
  in: ["v1", "api"],
  method: "GET",
  path: "/deployments/:id",
  name: "getDeployment",
  summary: "Get a deployment",
  description: "`error` says why a failed one could not be used.",
  tag,
  access: read,
  params: DeploymentParams,
  responses: { 200: { description: "The deployment.", schema: Deployment } },
  examples: { response: EXAMPLE_DEPLOYMENT },
  handle: async ({ server, scope, params }) =>
    deploymentReply(await findDeployment(server.db, scope.environmentId, params.id)),
});

const promoteRoute = route({
  in: ["v1", "api"],
  method: "POST",
  path: "/deployments/:id/promote",
  name: "promoteDeployment",
  summary: "Promote a deployment",
  description:
    "Makes a ready deployment the current one, with its queue limits, in one transaction; runs that have started keep their version. " +
    "Promote an older deployment to roll back. Promoting the current one changes nothing. A deployment that is not ready is 409 `invalid_state`.",
  tag,
  access: promote,
  params: DeploymentParams,
  responses: { 200: { description: "The deployment, now current.", schema: Deployment } },
  examples: {
    response: {
      ...EXAMPLE_DEPLOYMENT,
      status: "ready",
      is_current: true,
      promoted_at: "2026-11-20T09:15:04.000Z",
    },
  },
  audit: { action: "deployments.promote", resource: "deployment" },
  transaction: "required",
  handle: async ({ tx, server, scope: { environmentId }, params: { id }, audit, onCommit }) => {
    const isChanged = await promoteDeployment(tx, server.newUuid, environmentId, id, server.clock());
    audit(isChanged ? { id: encodeId("dep", id) } : null);
    onCommit(() => server.deployments.forget(environmentId));
    return deploymentReply(await findDeployment(tx, environmentId, id));
  },
});

const events = {
  method: "GET",
  tag,
  access: read,
  params: DeploymentParams,
  examples: { response: { events: [EXAMPLE_DEPLOYMENT_EVENT], next_cursor: null } },
} as const;

const eventPageRoute = route({
  ...events,
  in: ["v1"],
  path: "/deployments/:id/events",
  name: "listDeploymentEvents",
  summary: "List a deployment's events",
  description:
    "Oldest first, a finite page after `cursor`. To follow live, use /api/deployments/{id}/events.",
  query: Type.Object(SequencePage, { additionalProperties: false }),
  responses: { 200: { description: "A page of events.", schema: EventPage } },
  handle: async ({ server: { db }, scope, params, query }) => {
    await requireDeployment(db, scope, params.id);
    return eventPage(db, scope, params.id, query);
  },
});

const eventFollowRoute = route({
  ...events,
  in: ["api"],
  path: "/deployments/:id/events",
  name: "apiListDeploymentEvents",
  summary: "List or follow a deployment's events",
  description:
    "A page after `cursor`; with `follow=1` or `Accept: text/event-stream` a stream of `deployment_event`, whose ids are the cursor. " +
    "Continue with `Last-Event-ID` or `cursor`. The stream of a failed deployment ends with `end`; a ready one can be promoted at any " +
    "time, so its stream stays open.",
  query: Type.Object(
    {
      ...SequencePage,
      follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
    },
    { additionalProperties: false },
  ),
  responses: { 200: { description: "A page of events, or a stream.", schema: EventPage } },
  handle: async ({ server: { db }, scope, params, query, request }) => {
    await requireDeployment(db, scope, params.id);
    if (!wantsEventStream(request, query.follow)) return eventPage(db, scope, params.id, query);
    return followEvents(db, scope, params.id, followCursor(request, query.cursor));
  },
});

export const deploymentRoutes: RouteDefinition[] = [
  uploadRoute,
  createRoute,
  deploymentList,
  currentRoute,
  itemRoute,
  promoteRoute,
  eventPageRoute,
  eventFollowRoute,
];
