import { Readable } from "node:stream";
import { SSE_HEADERS, type Permission } from "@keelson/contract";
import type { FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { Type, type TSchema } from "typebox";
import type { Principal } from "../core/credentials/principal.ts";
import { DomainError, invalidRequest } from "../domain-error.ts";
import type { AppOptions } from "./app.ts";
import { bearerOf, idempotencyKeyOf } from "./control-headers.ts";
import type { EventStreams } from "./event-stream.ts";
import { observeAs } from "./observe-request.ts";
import type { OpenWaits } from "./open-waits.ts";
import { requestFacts } from "./request-facts.ts";
import { createScopeResolver } from "./resolve-scope.ts";
import type { Reply, RequestFacts, Route } from "./route.ts";
import { findUnstorableText } from "./storable-text.ts";
import { bodyValidator, queryValidator, type Validator } from "./validate.ts";

const UNAUTHENTICATED = (): DomainError =>
  new DomainError(
    "unauthenticated",
    "Send a valid credential: Authorization: Bearer <credential>. This one is missing, unknown, expired or revoked.",
  );

const forbidden = (permission: Permission): DomainError =>
  new DomainError("forbidden", `This credential lacks the permission ${permission}.`, { permission });

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
  return { ...rest, properties: { ...object.properties, ...SELECTION } } as TSchema;
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
  const { context, authenticator } = options;
  const resolveScope = createScopeResolver(context.db);

  return (route) => {
    const inQuery = takesUsers(route) && selectsInQuery(route);
    const inBody = takesUsers(route) && !selectsInQuery(route);
    const metrics = context.metrics.route(route.method, route.path);
    const checkQuery = queryValidator(withSelection(route.query ?? NO_QUERY, inQuery));
    const checkBody = bodyCheck(route, inBody);

    const checkCaller = (principal: Principal | null): Principal | null => {
      if (route.access.kind === "public") return null;
      if (principal === null || !fits(route, principal)) throw UNAUTHENTICATED();
      if (
        route.access.kind === "environment" &&
        principal.kind === "api_key" &&
        !principal.permissions.has(route.access.permission)
      ) {
        throw forbidden(route.access.permission);
      }
      return principal;
    };

    const run = async (
      request: FastifyRequest,
      reply: FastifyReply,
      principal: Principal | null,
    ): Promise<unknown> => {
      const query = request.query as Record<string, unknown>;
      checkQuery(query);
      const body: unknown = route.rawBody === undefined ? checkBody(request) : request.body;
      const selection = inQuery
        ? takeSelection(query)
        : inBody
          ? takeSelection(body as Record<string, unknown>)
          : null;
      const scope = await resolveScope(route, principal, selection, forbidden);
      const facts = requestFacts(
        request,
        reply,
        waits,
        route.idempotency === undefined ? null : idempotencyKeyOf(request.raw, body),
      );
      const answer = await route.handle({
        server: context,
        scope,
        params: request.params,
        query,
        body,
        request: facts,
      } as never);
      if (!("events" in answer)) return send(answer, reply);
      const leave = options.connectionLimit.enter(
        scope !== null && "environmentId" in scope ? scope.environmentId : "",
      );
      return sendEvents(options, eventStreams, answer.events, facts, request, reply).finally(leave);
    };

    return {
      method: route.method,
      url: route.path,
      ...(route.rawBody === undefined ? {} : { bodyLimit: route.rawBody.bodyLimitBytes }),
      ...(route.bodyLimitBytes === undefined ? {} : { bodyLimit: route.bodyLimitBytes }),
      onRequest: (request, reply, done) => {
        observeAs(reply.raw, metrics);
        const credential = route.access.kind === "public" ? null : bearerOf(request.raw);
        const found = credential === null ? null : authenticator.authenticate(credential);
        const settle = (principal: Principal | null): void => {
          try {
            request.principal = checkCaller(principal);
            done();
          } catch (error) {
            done(error as Error);
          }
        };
        // A credential that was looked up lately costs no turn of the event loop.
        if (found instanceof Promise) found.then(settle, done);
        else settle(found);
      },
      handler: (request, reply) => run(request, reply, request.principal),
    };
  };
}

function fits(route: Route, principal: Principal): boolean {
  switch (route.access.kind) {
    case "public":
      return true;
    case "environment":
      return principal.kind === "api_key" || (principal.kind === "user" && route.family === "api");
    case "user":
      return principal.kind === "user";
    case "worker":
      return principal.kind === "worker";
    case "admin":
      return principal.kind === "admin" || (principal.kind === "user" && principal.isAdmin);
    case "capacity":
      return principal.kind === "capacity" || principal.kind === "admin";
  }
}

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

const JSON_TYPE = "application/json; charset=utf-8";

function send(answer: Exclude<Reply, { events: unknown }>, reply: FastifyReply): FastifyReply {
  reply.code(answer.status);
  if (answer.headers !== undefined) reply.headers(answer.headers);
  if ("json" in answer) return reply.type(JSON_TYPE).send(answer.json);
  if ("bytes" in answer) {
    const { bytes } = answer;
    // JSON is not taken for anything else; what was uploaded might be.
    reply.header("x-content-type-options", "nosniff");
    return reply
      .type(answer.contentType)
      .send(bytes instanceof Uint8Array ? Buffer.from(bytes) : Readable.from(bytes, { objectMode: false }));
  }
  if (answer.body === undefined) return reply.send();
  return reply.type(JSON_TYPE).send(JSON.stringify(answer.body));
}

/** Hands the response over to the stream: from here on nothing of Fastify touches it. */
async function sendEvents(
  { log }: AppOptions,
  eventStreams: EventStreams,
  frames: AsyncIterable<string>,
  { requestId, signal }: RequestFacts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.hijack();
  const response = reply.raw;
  if (request.method === "HEAD") {
    response.writeHead(200, SSE_HEADERS).end();
    return reply;
  }
  const onError = (error: unknown): void =>
    log.error({ err: error, requestId, route: request.routeOptions.url }, "event stream failed");
  await eventStreams.send({ response, headers: {}, frames, signal, requestId, onError });
  return reply;
}
