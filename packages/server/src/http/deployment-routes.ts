import {
  CreateDeployment,
  Deployment,
  DEPLOYMENT_STATUSES,
  DeploymentEvent,
  LIMITS,
  Page,
  pageQuery,
  SequenceCursor,
  UploadedBundle,
} from "@keelson/contract";
import { Type } from "typebox";
import { UNAUDITED } from "./audit.ts";
import {
  answerCreate,
  answerCurrent,
  answerEventPage,
  answerItem,
  answerList,
  answerPromote,
  answerUpload,
  deploymentIdOf,
  followEvents,
  requireDeployment,
} from "./deployment-answers.ts";
import {
  EXAMPLE_CREATE_DEPLOYMENT,
  EXAMPLE_DEPLOYMENT,
  EXAMPLE_DEPLOYMENT_EVENT,
  EXAMPLE_DIGEST,
} from "./deployment-examples.ts";
import { followCursor, wantsEventStream } from "./follow.ts";
import { route, type Route } from "./route.ts";
import { operationIn, pathIn, type SharedFamily } from "./shared-route.ts";

/** Deployment routes, once for both families: on /api a user chooses the environment and events can be followed. */

const tag = "Deployments";
const read = { kind: "environment", permission: "deployments.read" } as const;
const create = { kind: "environment", permission: "deployments.create" } as const;
const promote = { kind: "environment", permission: "deployments.promote" } as const;
const DeploymentParams = Type.Object({ id: Type.String() });
const EventPage = Page("events", DeploymentEvent);
const EventPageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMITS.pageMax, description: `Default ${LIMITS.pageDefault}.` }),
  ),
  cursor: Type.Optional(SequenceCursor),
};

const uploadRoute = (family: SharedFamily): Route =>
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
    audit: UNAUDITED.bytes,
    responses: { 200: { description: "The bundle is stored.", schema: UploadedBundle } },
    examples: { response: { digest: EXAMPLE_DIGEST, size_bytes: 48_211 } },
    handle: ({ server, scope, params, body }) => answerUpload(server, scope, params.digest, body),
  });

const createRoute = (family: SharedFamily): Route =>
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
    audit: { action: "deployments.create", resource: "deployment" },
    handle: ({ server, scope, body, request, audited }) =>
      answerCreate(server, scope, body, request, audited),
  });

const listRoute = (family: SharedFamily): Route =>
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
          Type.Array(Type.Enum([...DEPLOYMENT_STATUSES]), {
            maxItems: DEPLOYMENT_STATUSES.length,
            description: "Repeatable.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A page of deployments.", schema: Page("deployments", Deployment) } },
    examples: { response: { deployments: [EXAMPLE_DEPLOYMENT], next_cursor: null } },
    handle: ({ server, scope, query }) => answerList(server, scope, query),
  });

const currentRoute = (family: SharedFamily): Route =>
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
    examples: {
      response: {
        ...EXAMPLE_DEPLOYMENT,
        status: "ready",
        is_current: true,
        promoted_at: "2026-11-20T09:15:04.000Z",
      },
    },
    handle: ({ server, scope }) => answerCurrent(server, scope),
  });

const itemRoute = (family: SharedFamily): Route =>
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

const promoteRoute = (family: SharedFamily): Route =>
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
    examples: {
      response: {
        ...EXAMPLE_DEPLOYMENT,
        status: "ready",
        is_current: true,
        promoted_at: "2026-11-20T09:15:04.000Z",
      },
    },
    audit: { action: "deployments.promote", resource: "deployment" },
    handle: ({ server, scope, params, audited }) =>
      answerPromote(server, scope, deploymentIdOf(params), audited),
  });

/** All but the events, which only /api streams. */
export const deploymentRoutesIn = (family: SharedFamily): Route[] =>
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
  description:
    "Oldest first, a finite page after `cursor`. To follow live, use /api/deployments/{id}/events.",
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
    {
      ...EventPageQuery,
      follow: Type.Optional(Type.Enum(["0", "1"], { description: "1: stream as server-sent events." })),
    },
    { additionalProperties: false },
  ),
  responses: { 200: { description: "A page of events, or a stream.", schema: EventPage } },
  handle: async ({ server, scope, params, query, request }) => {
    const deploymentId = await requireDeployment(server, scope, params);
    if (!wantsEventStream(request, query.follow)) return answerEventPage(server, scope, deploymentId, query);
    return followEvents(server, scope, deploymentId, followCursor(request, query.cursor));
  },
});
