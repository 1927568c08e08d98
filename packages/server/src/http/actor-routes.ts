import { Actor, DECLARED_ID_PATTERN, Page, pageQuery, StartActor, StartedActor } from "@keelson/contract";
import { Type } from "typebox";
import { notFound } from "../domain-error.ts";
import { answerEntrypoint, answerEntrypointPage, type EntrypointForm } from "./entrypoint-answers.ts";
import { route, type Route } from "./route.ts";
import { operationIn, pathIn, type SharedFamily } from "./shared-route.ts";
import { answerActorStart } from "./session-answers.ts";
import { EXAMPLE_RUN, EXAMPLE_SESSION, EXAMPLE_START } from "./session-examples.ts";
import { toActor } from "./wire/task.ts";

const FORM: EntrypointForm = { kind: "actor", list: "actors", toResource: toActor };
const read = { kind: "environment", permission: "actors.read" } as const;
const declaredId = new RegExp(DECLARED_ID_PATTERN);

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
  created_at: "2026-11-20T09:15:00.123Z",
};

const listRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/actors"),
    operationId: operationIn(family, "listActors"),
    summary: "List actors",
    description:
      "The actors of the current deployment, those first declared last at the top. Empty while nothing has been promoted.",
    tag: "Actors",
    access: read,
    query: Type.Object(pageQuery(), { additionalProperties: false }),
    responses: { 200: { description: "A page of actors.", schema: Page("actors", Actor) } },
    examples: { response: { actors: [EXAMPLE_ACTOR], next_cursor: null } },
    handle: ({ server, scope, query }) => answerEntrypointPage(server, scope.environmentId, FORM, query),
  });

const itemRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "GET",
    path: pathIn(family, "/actors/:id"),
    operationId: operationIn(family, "getActor"),
    summary: "Get an actor",
    description:
      "The id stays the same from deployment to deployment; an actor that the current deployment does not declare is not found.",
    tag: "Actors",
    access: read,
    params: Type.Object({ id: Type.String() }),
    responses: { 200: { description: "The actor.", schema: Actor } },
    examples: { response: EXAMPLE_ACTOR },
    handle: ({ server, scope, params }) => answerEntrypoint(server, scope.environmentId, FORM, params.id),
  });

const startRoute = (family: SharedFamily): Route =>
  route({
    family,
    method: "POST",
    path: pathIn(family, "/actors/:declaredID/start"),
    operationId: operationIn(family, "startActor"),
    summary: "Start an actor",
    description:
      "Creates a session of the actor with its first run, and with `input` as the first record of stream `input`, in one step. With the " +
      "`external_id` of an open session of the actor the answer is 200 with that session and its newest run, as they are.",
    tag: "Actors",
    access: { kind: "environment", permission: "actors.start" },
    params: Type.Object({ declaredID: Type.String() }),
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
    handle: async ({ server, scope, params, body, request }) => {
      if (!declaredId.test(params.declaredID)) throw notFound();
      return answerActorStart(server, scope, params.declaredID, body, request);
    },
  });

export const actorRoutesIn = (family: SharedFamily): Route[] => [
  listRoute(family),
  itemRoute(family),
  startRoute(family),
];
