import { Actor, DECLARED_ID_PATTERN, PageQuery, StartActor, StartedActor } from "@keelson/contract";
import { findDeclared, listDeclared, type EntrypointForm } from "../tasks/declared-entrypoints.ts";
import { listRoute } from "../../edge/list-route.ts";
import { Id, Text } from "../../edge/params.ts";
import { route, type RouteDefinition } from "../../edge/route.ts";
import { startActor } from "../sessions/start-session.ts";
import { EXAMPLE_RUN, EXAMPLE_SESSION, EXAMPLE_START } from "../sessions/examples.ts";
import { toActor } from "../tasks/wire.ts";

const FORM: EntrypointForm = { kind: "actor", list: "actors", toResource: toActor };
const read = { kind: "environment", permission: "actors.read" } as const;

const EXAMPLE_ACTOR = {
  id: "actor_01kahvq3rtexwt6a4e3p9c0z5h",
  project_id: "proj_01kahvn0a1e4ctr95j1v8r4y7m",
  environment_id: "env_01kahvn0a2fq6s8j3m0b5y4t1k",
  declared_id: "support-chat",
  deployment_id: "dep_01kahvq3rsfp29yqs8vqge3t2d",
  description: "Answers customers.",
  payload_schema: null,
  queue: null,
  retry: { max_attempts: 3 },
  max_duration: null,
  ttl: null,
  sandbox: null,
  execution: "shared",
  memory_mb: null,
  isolation: "process",
  folders: [],
  session_on_failure: "keep_open",
  while_busy: "enqueue",
  created_at: "2026-11-20T09:15:00.123Z",
};

const list = listRoute({
  in: ["v1", "api"],
  path: "/actors",
  name: "listActors",
  summary: "List actors",
  description:
    "The actors of the current deployment, newest declaration first. Empty before the first promotion.",
  tag: "Actors",
  access: read,
  items: "actors",
  resource: Actor,
  example: EXAMPLE_ACTOR,
  query: PageQuery,
  read: ({ server, scope }, page) => listDeclared(server, scope, FORM, page),
  toWire: ({ resource }) => resource,
});

const itemRoute = route({
  in: ["v1", "api"],
  method: "GET",
  path: "/actors/:id",
  name: "getActor",
  summary: "Get an actor",
  description:
    "The id is the same in every deployment. An actor that the current deployment does not declare is 404.",
  tag: "Actors",
  access: read,
  params: { id: Id("actor") },
  responses: { 200: { description: "The actor.", schema: Actor } },
  examples: { response: EXAMPLE_ACTOR },
  handle: async ({ server, scope, params }) => ({
    status: 200,
    body: await findDeclared(server, scope, FORM, params.id),
  }),
});

const startRoute = route({
  in: ["v1", "api"],
  method: "POST",
  path: "/actors/:declaredID/start",
  name: "startActor",
  summary: "Start an actor",
  description:
    "Creates a session of the actor with its first run, and with `input` as the first record of stream `input`, in one step. With the " +
    "`external_id` of an open session of the actor the answer is 200 with that session and its newest run, as they are.",
  tag: "Actors",
  access: { kind: "environment", permission: "actors.start" },
  params: { declaredID: Text(DECLARED_ID_PATTERN) },
  body: StartActor,
  idempotency: "own",
  responses: {
    201: { description: "The session and its first run as they were created.", schema: StartedActor },
    200: { description: "The open session that has the external id.", schema: StartedActor },
  },
  examples: {
    request: {
      session: { external_id: "chat-4711", metadata: { customer: "4711" }, tags: ["support"] },
      ...EXAMPLE_START,
    },
    response: { session: { ...EXAMPLE_SESSION, activity: "queued" }, run: EXAMPLE_RUN },
  },
  handle: ({ server, scope, params, body, request }) =>
    startActor(server, scope, params.declaredID, body, request),
});

export const actorRoutes: RouteDefinition[] = [list, itemRoute, startRoute];
