import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteOptions } from "fastify";
import { Type, type TSchema } from "typebox";
import type { Principal } from "../core/credentials/principal.ts";
import { DomainError, invalidRequest } from "../domain-error.ts";
import type { AppOptions } from "./app.ts";
import { checkCaller, forbidden } from "./check-caller.ts";
import { bearerOf, idempotencyKeyOf } from "./control-headers.ts";
import type { EventStreams } from "./event-stream.ts";
import { observeAs } from "./observe-request.ts";
import type { OpenWaits } from "./open-waits.ts";
import { requestFacts } from "./request-facts.ts";
import { allowAnyOrigin, ANY_ORIGIN } from "./cors.ts";
import { createScopeResolver } from "./resolve-scope.ts";
import type { Route } from "./route.ts";
import { sendEvents, sendReply } from "./send-reply.ts";
import { findUnstorableText } from "./storable-text.ts";
import { bodyValidator, queryValidator, type Validator } from "./validate.ts";

const NO_QUERY = Type.Object({}, { additionalProperties: false });

/** Fields by which a user of /api says where to act; see `resolve-scope.ts`. */
const SELECTION = {
  project_id: Type.Optional(Type.String({ maxLength: 64 })),
  environment_id: Type.Optional(Type.String({ maxLength: 64 })),
};

/** The schema with the selection allowed beside its own fields, where users may call. */
function withSelection(schema: TSchema, allowed: boolean): TSchema {
  const object = schema as TSchema & { properties?: Record<string, TSchema> };
  if (!allowed || object.properties === undefined) return schema;
  const { $id: _, ...rest } = object as typeof object & { $id?: string };
  return { ...rest, properties: { ...object.properties, ...SELECTION } };
}

/** Whether the selection stands in the query: on GET, DELETE and raw bodies. Elsewhere it is in the body. */
export const selectsInQuery = (route: Route): boolean =>
  route.method === "GET" || route.method === "DELETE" || route.rawBody !== undefined;

const takesUsers = (route: Route): boolean => route.family === "api" && route.access.kind === "environment";

/** Turns a route into what Fastify runs: authentication and permission, then validation, then the handler, then the reply. */
export function createDispatcher(
  options: AppOptions,
  waits: OpenWaits,
  eventStreams: EventStreams,
): (route: Route) => RouteOptions {
  const { context } = options;
  const resolveScope = createScopeResolver(context.db);

  return (route) => {
    const inQuery = takesUsers(route) && selectsInQuery(route);
    const inBody = takesUsers(route) && !selectsInQuery(route);
    const checkQuery = queryValidator(withSelection(route.query ?? NO_QUERY, inQuery));
    const checkBody =
      route.rawBody === undefined ? bodyCheck(route, inBody) : requireBytes(route.rawBody.mediaType);
    const bodyLimit = route.rawBody?.bodyLimitBytes ?? route.bodyLimitBytes;

    const run = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const query = request.query as Fields;
      checkQuery(query);
      const body = checkBody(request) as Fields;
      const selection = inQuery ? takeSelection(query) : inBody ? takeSelection(body) : null;
      const scope = await resolveScope(route, request.principal, selection, forbidden);
      const idempotencyKey = route.idempotency === undefined ? null : idempotencyKeyOf(request.raw, body);
      const facts = requestFacts(request, reply, waits, idempotencyKey);
      const call = { server: context, scope, params: request.params, query, body, request: facts };
      const answer = await route.handle(call);
      if (!("events" in answer)) return sendReply(answer, reply);
      const environmentId = scope !== null && "environmentId" in scope ? scope.environmentId : "";
      const leave = options.connectionLimit.enter(environmentId);
      return sendEvents(options, eventStreams, answer.events, facts, request, reply).finally(leave);
    };

    return {
      method: route.method,
      url: route.path,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
      onRequest: authenticate(options, route),
      handler: run,
    };
  };
}

/** The hook that finds out who calls. */
function authenticate({ authenticator, context, rateLimit }: AppOptions, route: Route): onRequestHookHandler {
  const metrics = context.metrics.route(route.method, route.path);
  return (request, reply, done) => {
    observeAs(reply.raw, metrics);
    if (route.cors === ANY_ORIGIN) allowAnyOrigin(reply.raw);
    const credential = route.access.kind === "public" ? null : bearerOf(request.raw);
    const found = credential === null ? null : authenticator.authenticate(credential);
    const settle = (principal: Principal | null): void => {
      try {
        rateLimit?.(principal, request.ip);
        request.principal = checkCaller(route, principal);
        done();
      } catch (error) {
        done(error as Error);
      }
    };
    // A credential that was looked up lately costs no turn of the event loop.
    if (found instanceof Promise) found.then(settle, done);
    else settle(found);
  };
}

/** The body of a raw route is a stream of the declared type. */
const requireBytes =
  (mediaType: string) =>
  ({ body }: FastifyRequest): unknown => {
    if (body instanceof Readable) return body;
    throw new DomainError("unsupported_media_type", `Send the bytes with Content-Type: ${mediaType}.`);
  };

type Fields = Record<string, unknown>;

function bodyCheck(route: Route, inBody: boolean): (request: FastifyRequest) => unknown {
  const schema = route.body ?? (inBody && route.method !== "GET" ? NO_QUERY : undefined);
  // What a worker reports of a run is stored as JSON, whatever its process wrote.
  const isStoredAsText = schema !== undefined && route.access.kind !== "worker";
  const check: Validator | null = schema === undefined ? null : bodyValidator(withSelection(schema, inBody));
  return (request) => {
    if (request.body instanceof Readable) {
      throw new DomainError("unsupported_media_type", "Send the body with Content-Type: application/json.");
    }
    const body = request.body ?? {};
    if (check !== null) check(body, request.bodyText?.sizeBytes);
    else if (typeof body !== "object" || Object.keys(body).length > 0) {
      throw invalidRequest([{ path: "body", message: "this route takes no body" }]);
    }
    if (isStoredAsText && request.bodyText?.mayBeUnstorable === true) {
      const issue = findUnstorableText(schema, body);
      if (issue !== null) throw invalidRequest([issue]);
    }
    return body;
  };
}

function takeSelection(source: Record<string, unknown>): {
  projectId: string | null;
  environmentId: string | null;
} {
  const { project_id: projectId, environment_id: environmentId } = source;
  delete source["project_id"];
  delete source["environment_id"];
  return {
    projectId: typeof projectId === "string" ? projectId : null,
    environmentId: typeof environmentId === "string" ? environmentId : null,
  };
}
