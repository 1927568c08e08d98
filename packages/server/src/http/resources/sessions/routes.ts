import {
  encodeId,
  CloseSession,
  CreateSession,
  ListSessions,
  pageQuery,
  Run,
  Session,
  StartAndWait,
  StartedAndWaited,
  Stream,
  UpdateSession,
  type Uuid,
} from "@keelson/contract";
import { ALL_RUNS } from "../../../core/runs/run-filter.ts";
import { listRuns } from "../../../core/runs/run-list-reads.ts";
import { cancelSession } from "../../../core/sessions/cancel-session.ts";
import { closeSession } from "../../../core/sessions/close-session.ts";
import { listSessions } from "../../../core/sessions/session-reads.ts";
import { updateSession } from "../../../core/sessions/update-session.ts";
import { listStreams } from "../../../core/streams/stream-reads.ts";
import { listRoute } from "../../edge/list-route.ts";
import { route, type ChangeCall, type Reply, type RouteDefinition } from "../../edge/route.ts";
import { runJson } from "../runs/wire.ts";
import { toStream } from "../streams/wire.ts";
import { describeSession, requireSession } from "./describe-session.ts";
import {
  EXAMPLE_CANCELLED_SESSION,
  EXAMPLE_CLOSED_SESSION,
  EXAMPLE_CREATE_SESSION,
  EXAMPLE_RUN,
  EXAMPLE_SESSION,
  EXAMPLE_STREAM,
} from "./examples.ts";
import { NAMINGS, queryOf, type Naming } from "./naming.ts";
import { startAndWait, startSession } from "./start-session.ts";
import { sessionJson } from "./wire.ts";

/** Session routes, each item once for both ways to name a session. */

const tag = "Sessions";
const read = { kind: "environment", permission: "sessions.read" } as const;
const write = { kind: "environment", permission: "sessions.write" } as const;

const createRoute = route({
  in: ["v1", "api"],
  method: "POST",
  path: "/sessions",
  name: "createSession",
  summary: "Create a session",
  description:
    "Creates a session of a task or an actor with its first run, and with `input` as the first record of stream `input`, in one step. " +
    "With the `external_id` of an open session the answer is 200 and that session as it is; when it runs another entrypoint, " +
    "409 `session_conflict`.",
  tag,
  access: write,
  body: CreateSession,
  idempotency: "own",
  responses: {
    201: { description: "The session as it was created.", schema: Session },
    200: { description: "The open session that has the external id.", schema: Session },
  },
  refusals: [404],
  examples: { request: EXAMPLE_CREATE_SESSION, response: { ...EXAMPLE_SESSION, activity: "queued" } },
  handle: ({ server, scope, body, request }) => startSession(server, scope, body, request),
});

const startAndWaitRoute = route({
  in: ["v1", "api"],
  method: "POST",
  path: "/sessions/start-and-wait",
  name: "startSessionAndWait",
  summary: "Create a session and wait for its run",
  description:
    "As creating one, then waits for the end of the run for up to `timeout`. Hanging up cancels nothing: the same request with the same " +
    "`external_id` or idempotency key waits for the same run again. After `timeout` the answer is 200 with `timed_out` true.",
  tag,
  access: write,
  body: StartAndWait,
  idempotency: "own",
  responses: { 200: { description: "The session and the run.", schema: StartedAndWaited } },
  refusals: [404],
  examples: {
    request: { ...EXAMPLE_CREATE_SESSION, timeout: "30s" },
    response: {
      session: { ...EXAMPLE_SESSION, activity: "idle" },
      run: {
        ...EXAMPLE_RUN,
        status: "succeeded",
        attempt_number: 1,
        output: { answered: true },
        started_at: "2026-11-20T09:15:00.125Z",
        finished_at: "2026-11-20T09:15:04.250Z",
      },
      timed_out: false,
    },
  },
  handle: ({ server, scope, body, request }) => startAndWait(server, scope, body, request),
});

const sessionList = listRoute({
  in: ["v1", "api"],
  tag,
  access: read,
  path: "/sessions",
  name: "listSessions",
  summary: "List sessions",
  description: "Newest first. A result must match all filters.",
  items: "sessions",
  resource: Session,
  example: EXAMPLE_SESSION,
  query: ListSessions,
  filter: ({ external_id, status, task, actor, tag: tags }) => ({
    externalId: external_id ?? null,
    statuses: status ?? [],
    task: task ?? null,
    actor: actor ?? null,
    tags: tags ?? [],
  }),
  read: ({ server, scope }, { filter, after, limit }) =>
    listSessions(server.db, scope.environmentId, filter, after, limit),
  toJson: (session) => sessionJson(session, null),
});

/** Runs an operation on the session that a call names, and shows the session as it is then. */
async function change(
  { tx, server, scope }: Pick<ChangeCall, "tx" | "server" | "scope">,
  naming: Naming,
  call: { params: unknown; query: unknown },
  operation: (sessionId: Uuid<"sess">) => Promise<unknown>,
): Promise<Reply> {
  const id = await naming.idOf(tx, scope, call);
  await operation(id);
  return { status: 200, json: await describeSession(tx, scope, id, server.clock()) };
}

/** The audit event of a session that was ended, if it was. */
const leave =
  (audit: ChangeCall["audit"], sessionId: Uuid<"sess">) =>
  (isChanged: boolean): void =>
    audit(isChanged ? { id: encodeId("sess", sessionId) } : null);

const itemRoute = (naming: Naming) =>
  route({
    in: ["v1", "api"],
    method: "GET",
    path: naming.item,
    name: naming.name("getSession"),
    summary: "Get a session",
    description: `\`activity\` is the state of its newest run, and \`status_reason\` says why that run is not running.${naming.note}`,
    tag,
    access: read,
    params: naming.params,
    query: queryOf(naming),
    responses: { 200: { description: "The session.", schema: Session } },
    examples: { response: EXAMPLE_SESSION },
    handle: async ({ server, scope, params, query }) => {
      const id = await naming.idOf(server.db, scope, { params, query });
      return { status: 200, json: await describeSession(server.db, scope, id, server.clock()) };
    },
  });

const updateRoute = (naming: Naming) =>
  route({
    in: ["v1", "api"],
    method: "PATCH",
    path: naming.item,
    name: naming.name("updateSession"),
    summary: "Update a session",
    description: `Replaces \`metadata\`, \`tags\` or \`expires_at\`; later runs carry the new tags.${naming.note}`,
    tag,
    access: write,
    params: naming.params,
    query: queryOf(naming),
    body: UpdateSession,
    responses: { 200: { description: "The session as it is now.", schema: Session } },
    examples: { request: { tags: ["support", "escalated"] }, response: EXAMPLE_SESSION },
    transaction: "required",
    handle: ({ tx, server, scope, params, query, body }) =>
      change({ tx, server, scope }, naming, { params, query }, (sessionId) =>
        updateSession(tx, scope.environmentId, sessionId, body, server.clock()),
      ),
  });

const closeRoute = (naming: Naming) =>
  route({
    in: ["v1", "api"],
    method: "POST",
    path: `${naming.item}/close`,
    name: naming.name("closeSession"),
    summary: "Close a session",
    description:
      "Ends its input: a run that waits for input learns that there will be none, and a running one finishes. Closing again changes nothing; " +
      `a session that has ended in another way is 409 \`invalid_state\`.${naming.note}`,
    tag,
    access: { kind: "environment", permission: "sessions.close" },
    params: naming.params,
    query: queryOf(naming),
    body: CloseSession,
    responses: { 200: { description: "The session as it is now.", schema: Session } },
    examples: { request: { reason: "The customer left." }, response: EXAMPLE_CLOSED_SESSION },
    transaction: "required",
    audit: { action: "sessions.close", resource: "session", by: "people" },
    handle: ({ tx, server, scope, params, query, body, audit }) =>
      change({ tx, server, scope }, naming, { params, query }, (sessionId) =>
        closeSession(tx, scope.environmentId, sessionId, body.reason ?? null, server.clock()).then(
          leave(audit, sessionId),
        ),
      ),
  });

const cancelRoute = (naming: Naming) =>
  route({
    in: ["v1", "api"],
    method: "POST",
    path: `${naming.item}/cancel`,
    name: naming.name("cancelSession"),
    summary: "Cancel a session",
    description:
      "Ends it and asks for the end of its live run. Cancelling again changes nothing; a session that has ended in another way is 409 " +
      `\`invalid_state\`.${naming.note}`,
    tag,
    access: { kind: "environment", permission: "sessions.cancel" },
    params: naming.params,
    query: queryOf(naming),
    responses: { 200: { description: "The session as it is now.", schema: Session } },
    examples: { response: EXAMPLE_CANCELLED_SESSION },
    transaction: "required",
    audit: { action: "sessions.cancel", resource: "session", by: "people" },
    handle: ({ tx, server, scope, params, query, audit }) =>
      change({ tx, server, scope }, naming, { params, query }, (sessionId) =>
        cancelSession(tx, scope.environmentId, sessionId, server.clock()).then(leave(audit, sessionId)),
      ),
  });

const runsRoute = (naming: Naming) =>
  listRoute({
    in: ["v1", "api"],
    tag,
    access: { kind: "environment", permission: "runs.read" },
    path: `${naming.item}/runs`,
    name: naming.name("listSessionRuns"),
    summary: "List a session's runs",
    description: `The newest turn first.${naming.note}`,
    params: naming.params,
    items: "runs",
    resource: Run,
    example: EXAMPLE_RUN,
    query: queryOf(naming, pageQuery()),
    within: async ({ server, scope, params, query }) =>
      (await requireSession(server.db, scope, await naming.idOf(server.db, scope, { params, query }))).id,
    read: ({ server, scope }, { within, after, limit }) =>
      listRuns(server.db, scope.environmentId, { ...ALL_RUNS, sessionId: within }, after, limit),
    toJson: (run) => runJson(run, null),
  });

const streamsRoute = (naming: Naming) =>
  listRoute({
    in: ["v1", "api"],
    tag,
    access: read,
    path: `${naming.item}/streams`,
    name: naming.name("listSessionStreams"),
    summary: "List a session's streams",
    description: `The one first used last at the top.${naming.note}`,
    params: naming.params,
    items: "streams",
    resource: Stream,
    example: EXAMPLE_STREAM,
    query: queryOf(naming, pageQuery()),
    within: async ({ server, scope, params, query }) =>
      (await requireSession(server.db, scope, await naming.idOf(server.db, scope, { params, query }))).id,
    read: ({ server, scope }, { within, after, limit }) =>
      listStreams(server.db, scope.environmentId, within, after, limit),
    toWire: (stream) => toStream(stream),
  });

export const sessionRoutes: RouteDefinition[] = [
  createRoute,
  startAndWaitRoute,
  sessionList,
  ...[itemRoute, updateRoute, closeRoute, cancelRoute, runsRoute, streamsRoute].flatMap((make) =>
    NAMINGS.map(make),
  ),
];
