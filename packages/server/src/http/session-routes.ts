import {
  CloseSession,
  CreateSession,
  DeclaredId,
  ExternalId,
  Page,
  pageQuery,
  Run,
  Session,
  SESSION_STATUSES,
  StartAndWait,
  StartedAndWaited,
  Stream,
  UpdateSession,
} from "@keelson/contract";
import { Type, type TProperties } from "typebox";
import { route, type Route } from "./route.ts";
import { operationIn, type SharedFamily } from "./shared-route.ts";
import {
  answerSessionCancel,
  answerSessionClose,
  answerSessionCreate,
  answerSessionItem,
  answerSessionList,
  answerSessionRuns,
  answerSessionStreams,
  answerSessionUpdate,
  answerStartAndWait,
  type SessionAddress,
} from "./session-answers.ts";
import {
  EXAMPLE_CANCELLED_SESSION,
  EXAMPLE_CLOSED_SESSION,
  EXAMPLE_CREATE_SESSION,
  EXAMPLE_RUN,
  EXAMPLE_RUNS,
  EXAMPLE_SESSION,
  EXAMPLE_SESSIONS,
  EXAMPLE_STREAMS,
} from "./session-examples.ts";

/**
 * Session routes, once for both families and both ways to name a session: `{id}` is always a session's id, and beside
 * each item route stands one under `by-external-id` that takes `external_id` as a query parameter.
 */

/** A way to name a session in a path. */
export type Naming = {
  family: SharedFamily;
  /** The path of the item, to which a route adds its own. */
  item: string;
  operation: (name: string) => string;
  params: ReturnType<typeof Type.Object>;
  /** What the query of each of its routes has. */
  query: TProperties;
  note: string;
  addressOf: (call: { params: unknown; query: unknown }) => SessionAddress;
};

const byId = (family: SharedFamily): Naming => ({
  family,
  item: `/${family}/sessions/:id`,
  operation: (name) => operationIn(family, name),
  params: Type.Object({ id: Type.String() }),
  query: {},
  note: "",
  addressOf: ({ params }) => ({ id: (params as { id: string }).id }),
});

const byExternalId = (family: SharedFamily): Naming => ({
  family,
  item: `/${family}/sessions/by-external-id`,
  operation: (name) => operationIn(family, `${name}ByExternalId`),
  params: Type.Object({}),
  query: { external_id: ExternalId },
  note: " The session is the open one with that `external_id`, else the newest that had it.",
  addressOf: ({ query }) => ({ externalId: (query as { external_id: string }).external_id }),
});

export const namingsIn = (family: SharedFamily): Naming[] => [byId(family), byExternalId(family)];

/** A query of the route's own fields and those that name the session. */
export const queryOf = ({ query }: Naming, own: TProperties = {}) =>
  Type.Object({ ...query, ...own }, { additionalProperties: false });

const tag = "Sessions";
const read = { kind: "environment", permission: "sessions.read" } as const;
const write = { kind: "environment", permission: "sessions.write" } as const;

type PageQuery = { limit?: number; cursor?: string };

const createRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "POST",
    path: `/${family}/sessions`,
    operationId: operationIn(family, "createSession"),
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
    examples: { request: EXAMPLE_CREATE_SESSION, response: { ...EXAMPLE_SESSION, activity: "queued" } },
    handle: ({ server, scope, body, request }) => answerSessionCreate(server, scope, body, request),
  });

const startAndWaitRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "POST",
    path: `/${family}/sessions/start-and-wait`,
    operationId: operationIn(family, "startSessionAndWait"),
    summary: "Create a session and wait for its run",
    description:
      "As creating one, then waits for the end of the run for up to `timeout`. Hanging up cancels nothing: the same request with the same " +
      "`external_id` or idempotency key waits for the same run again. After `timeout` the answer is 200 with `timed_out` true.",
    tag,
    access: write,
    body: StartAndWait,
    idempotency: "own",
    responses: { 200: { description: "The session and the run.", schema: StartedAndWaited } },
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
    handle: ({ server, scope, body, request }) => answerStartAndWait(server, scope, body, request),
  });

const listRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: `/${family}/sessions`,
    operationId: operationIn(family, "listSessions"),
    summary: "List sessions",
    description: "Newest first. Filters narrow the list together.",
    tag,
    access: read,
    query: Type.Object(
      {
        ...pageQuery(),
        external_id: Type.Optional(ExternalId),
        status: Type.Optional(
          Type.Array(Type.Enum([...SESSION_STATUSES]), {
            maxItems: SESSION_STATUSES.length,
            description: "Repeatable.",
          }),
        ),
        task: Type.Optional(DeclaredId),
        actor: Type.Optional(DeclaredId),
      },
      { additionalProperties: false },
    ),
    responses: { 200: { description: "A page of sessions.", schema: Page("sessions", Session) } },
    examples: { response: EXAMPLE_SESSIONS },
    handle: ({ server, scope, query }) => answerSessionList(server, scope, query),
  });

const itemRoute = (naming: Naming): Route =>
  route({
    family: naming.family,
    method: "GET",
    path: naming.item,
    operationId: naming.operation("getSession"),
    summary: "Get a session",
    description: `\`activity\` says what its newest run does, \`status_reason\` why that run is not running.${naming.note}`,
    tag,
    access: read,
    params: naming.params,
    query: queryOf(naming),
    responses: { 200: { description: "The session.", schema: Session } },
    examples: { response: EXAMPLE_SESSION },
    handle: ({ server, scope, params, query }) =>
      answerSessionItem(server, scope, naming.addressOf({ params, query })),
  });

const updateRoute = (naming: Naming): Route =>
  route({
    family: naming.family,
    method: "PATCH",
    path: naming.item,
    operationId: naming.operation("updateSession"),
    summary: "Update a session",
    description: `Replaces \`metadata\`, \`tags\` or \`expires_at\`; later runs carry the new tags.${naming.note}`,
    tag,
    access: write,
    params: naming.params,
    query: queryOf(naming),
    body: UpdateSession,
    responses: { 200: { description: "The session as it is now.", schema: Session } },
    examples: { request: { tags: ["support", "escalated"] }, response: EXAMPLE_SESSION },
    handle: ({ server, scope, params, query, body }) =>
      answerSessionUpdate(server, scope, naming.addressOf({ params, query }), body),
  });

const closeRoute = (naming: Naming): Route =>
  route({
    family: naming.family,
    method: "POST",
    path: `${naming.item}/close`,
    operationId: naming.operation("closeSession"),
    summary: "Close a session",
    description:
      "Ends its input: a run that waits for input receives that there will be none, a running one finishes. Closing again changes nothing; " +
      `a session that ended otherwise is 409 \`invalid_state\`.${naming.note}`,
    tag,
    access: { kind: "environment", permission: "sessions.close" },
    params: naming.params,
    query: queryOf(naming),
    body: CloseSession,
    responses: { 200: { description: "The session as it is now.", schema: Session } },
    examples: { request: { reason: "The customer left." }, response: EXAMPLE_CLOSED_SESSION },
    handle: ({ server, scope, params, query, body }) =>
      answerSessionClose(server, scope, naming.addressOf({ params, query }), body.reason ?? null),
  });

const cancelRoute = (naming: Naming): Route =>
  route({
    family: naming.family,
    method: "POST",
    path: `${naming.item}/cancel`,
    operationId: naming.operation("cancelSession"),
    summary: "Cancel a session",
    description:
      "Ends it and asks for the end of its live run. Cancelling again changes nothing; a session that ended otherwise is 409 " +
      `\`invalid_state\`.${naming.note}`,
    tag,
    access: { kind: "environment", permission: "sessions.cancel" },
    params: naming.params,
    query: queryOf(naming),
    responses: { 200: { description: "The session as it is now.", schema: Session } },
    examples: { response: EXAMPLE_CANCELLED_SESSION },
    handle: ({ server, scope, params, query }) =>
      answerSessionCancel(server, scope, naming.addressOf({ params, query })),
  });

const runsRoute = (naming: Naming): Route =>
  route({
    family: naming.family,
    method: "GET",
    path: `${naming.item}/runs`,
    operationId: naming.operation("listSessionRuns"),
    summary: "List a session's runs",
    description: `The newest turn first.${naming.note}`,
    tag,
    access: { kind: "environment", permission: "runs.read" },
    params: naming.params,
    query: queryOf(naming, pageQuery()),
    responses: { 200: { description: "A page of runs.", schema: Page("runs", Run) } },
    examples: { response: EXAMPLE_RUNS },
    handle: ({ server, scope, params, query }) =>
      answerSessionRuns(server, scope, naming.addressOf({ params, query }), pageOf(query)),
  });

const streamsRoute = (naming: Naming): Route =>
  route({
    family: naming.family,
    method: "GET",
    path: `${naming.item}/streams`,
    operationId: naming.operation("listSessionStreams"),
    summary: "List a session's streams",
    description: `The one first used last at the top.${naming.note}`,
    tag,
    access: read,
    params: naming.params,
    query: queryOf(naming, pageQuery()),
    responses: { 200: { description: "A page of streams.", schema: Page("streams", Stream) } },
    examples: { response: EXAMPLE_STREAMS },
    handle: ({ server, scope, params, query }) =>
      answerSessionStreams(server, scope, naming.addressOf({ params, query }), pageOf(query)),
  });

/** The page's part of a query that also names the session. */
function pageOf(query: unknown): PageQuery {
  const { limit, cursor } = query as PageQuery;
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}

export const sessionRoutesIn = (family: SharedFamily): Route[] => [
  createRoute(family),
  startAndWaitRoute(family),
  listRoute(family),
  ...[itemRoute, updateRoute, closeRoute, cancelRoute, runsRoute, streamsRoute].flatMap((make) =>
    namingsIn(family).map(make),
  ),
];
