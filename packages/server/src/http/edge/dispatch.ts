import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteOptions } from "fastify";
import { LIMITS } from "@keelson/contract";
import { Type } from "typebox";
import type { Principal } from "../../core/credentials/principal.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { DispatchOptions } from "./app.ts";
import { createAuditWriter } from "./audit.ts";
import { checkCsrf } from "./authenticate/csrf.ts";
import { findCredential, takesCookie } from "./authenticate/find-credential.ts";
import { checkCaller } from "./check-caller.ts";
import { idempotencyKeyOf } from "./control-headers.ts";
import type { EventStreams } from "./event-stream.ts";
import { observeAs } from "./observe-request.ts";
import { createOpenCallers, isWatched, type OpenCallers } from "./open-callers.ts";
import type { OpenWaits, WatchCaller } from "./open-waits.ts";
import { requestFacts } from "./request-facts.ts";
import { allowAnyOrigin, ANY_ORIGIN } from "./cors.ts";
import { createScopeResolver, type Whereabouts } from "./resolve-scope.ts";
import { decodeParams } from "./params.ts";
import type { Route } from "./route.ts";
import { runRoute } from "./run-route.ts";
import { isSelecting, selectionFields, selectsInQuery, takeSelection, withSelection } from "./selection.ts";
import { sendEvents, sendReply } from "./send-reply.ts";
import { ANY_MEDIA_TYPE } from "./any-body.ts";
import { bodyValidator, queryValidator, type Validator } from "./validate.ts";

const NO_QUERY = Type.Object({}, { additionalProperties: false });

/** Turns a route into what Fastify runs: authentication and permission, then validation, then the handler, then the reply. */
export function createDispatcher(
  options: DispatchOptions,
  waits: OpenWaits,
  eventStreams: EventStreams,
): (route: Route) => RouteOptions {
  const { authenticator, context, isSecure, log } = options;
  const resolveScope = createScopeResolver(context.db);
  const callers = createOpenCallers({ ...context, authenticator, resolveScope, log });

  return (route) => {
    const fields = selectionFields(route);
    const inQuery = isSelecting(route) && selectsInQuery(route);
    const inBody = isSelecting(route) && !selectsInQuery(route);
    const querySchema = route.query ?? NO_QUERY;
    const checkQuery = queryValidator(inQuery ? withSelection(querySchema, fields) : querySchema);
    const checkBody = route.rawBody === undefined ? bodyCheck(route, inBody) : bytesCheck(route.rawBody);
    const audit = route.audit !== undefined && "action" in route.audit ? route.audit : null;
    if (audit !== null && (route.transaction === undefined) !== (audit.written === "in the operation"))
      throw new Error(`${route.operationId} declares an audit event, and no or another transaction for it.`);
    const bodyLimit = route.rawBody?.bodyLimitBytes ?? route.bodyLimitBytes;

    const watchOf = createWatch(route, callers, isSecure);
    const mayChange = route.method !== "GET" && route.keepsAlive !== true;

    const run = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const query = request.query as Fields;
      checkQuery(query);
      const body = checkBody(request) as Fields;
      const selection = inQuery ? takeSelection(query, fields) : inBody ? takeSelection(body, fields) : null;
      const params = request.params as Record<string, string>;
      const scope = await resolveScope(route, request.principal, { params, selection });
      const idempotencyKey = route.idempotency === undefined ? null : idempotencyKeyOf(request.raw, body);
      const environmentId = scope !== null && "environmentId" in scope ? scope.environmentId : null;
      // What is only a look at one row costs as little as anything.
      const turn =
        environmentId === null ? undefined : context.turns.enter(environmentId, costOf(request.bodyBytes));
      if (turn !== undefined) await turn;
      const watch = watchOf(request, { params, selection });
      const facts = requestFacts(request, reply, waits, idempotencyKey, watch);
      const decoded = decodeParams(route.params, params);
      const call = { server: context, scope, params: decoded, query, body, request: facts };
      const isAudited = audit !== null && (audit.by !== "people" || isPerson(request.principal));
      const writeAudit = isAudited ? createAuditWriter(context, audit, scope, request) : null;
      const answer = await runRoute(route, call, writeAudit);
      if (mayChange) context.lastAsked.note();
      if (facts.refusal !== null) throw facts.refusal;
      if (!("events" in answer)) return sendReply(answer, reply);
      const leave = await context.eventStreamQuota.enter(environmentId);
      const stream = { followed: answer.events, environmentId };
      return sendEvents(options, eventStreams, stream, facts, request, reply).finally(leave);
    };

    return {
      method: route.method,
      url: route.path,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
      config: {
        varies: varyOf(route),
        ...(route.access.kind === "worker" ? { isOfWorker: true } : {}),
        ...(route.separateItems === undefined ? {} : { itemsOf: route.separateItems }),
        ...(route.oauth === undefined ? {} : { oauth: route.oauth }),
        ...(route.rawBody === undefined ? {} : { takes: route.rawBody.mediaType }),
        ...(route.connects === undefined ? {} : { connects: route.connects }),
      },
      onRequest: authenticate(options, route),
      handler: run,
    };
  };
}

/** A client that a person has connected does it for them. */
const isPerson = (principal: Principal | null): boolean =>
  principal?.kind === "user" || principal?.kind === "oauth_grant";

/** How what is open for a request ends when its caller loses the right to it; undefined where nothing stays open. */
const createWatch =
  (route: Route, callers: OpenCallers, isSecure: boolean) =>
  ({ principal, raw, body }: FastifyRequest, where: Whereabouts): WatchCaller | undefined => {
    if (principal === null || !(isWatched(route) || route.isWatchedFor?.(body) === true)) return undefined;
    return (refuse) => {
      const credential = findCredential(raw, route, isSecure);
      return credential === null
        ? () => undefined
        : callers.add({ route, credential, principal, where, refuse });
    };
  };

/** What an answer depends on besides its URL. The server's own documents are the same for everybody. */
const varyOf = ({ family }: Route): string | null =>
  family === "system" ? null : takesCookie(family) ? "Authorization, Cookie, Origin" : "Authorization";

/** The hook that finds out who calls. */
function authenticate(
  { authenticator, connections, context, rateLimits, isSecure, publicUrl }: DispatchOptions,
  route: Route,
): onRequestHookHandler {
  const metrics = context.metrics.route(route.method, route.path);
  const isUpload = (route.rawBody?.bodyLimitBytes ?? 0) > LIMITS.bodyBytes;
  return (request, reply, done) => {
    observeAs(reply.raw, metrics);
    if (isUpload) connections.noteUpload(request.raw);
    if (route.cors === ANY_ORIGIN) allowAnyOrigin(reply.raw);
    const credential = findCredential(request.raw, route, isSecure);
    const found = credential === null ? null : authenticator.find(credential.text);
    const goOn = (): void => done();
    const settle = (principal: Principal | null): void => {
      if (principal !== null) connections.prove(request.raw);
      try {
        rateLimits.take(route, principal, request, reply.raw);
        if (credential !== null && principal === null) rateLimits.takeFailure(request, reply.raw);
        request.principal = checkCaller(route, principal, credential);
        if (credential?.isCookie === true && request.principal !== null) {
          checkCsrf(request.raw, route.method, credential.text, publicUrl);
          request.sessionCookie = credential.text;
        }
        const counted = rateLimits.takeLogin(route, request, reply.raw);
        if (counted === null) done();
        else counted.then(goOn, done);
      } catch (error) {
        done(error as Error);
      }
    };
    // A credential that was looked up lately costs no turn of the event loop.
    if (found instanceof Promise) found.then((late) => settle(late?.principal ?? null), done);
    else settle(found?.principal ?? null);
  };
}

/** The body of a raw route is a stream of the declared type, as it comes, or JSON where the route takes it. */
function bytesCheck({
  mediaType,
  orJson,
}: NonNullable<Route["rawBody"]>): (request: FastifyRequest) => unknown {
  const check = orJson === undefined ? null : bodyValidator(orJson);
  return ({ body, bodyBytes }) => {
    if (body instanceof Readable) return unbroken(body);
    if (mediaType === ANY_MEDIA_TYPE) return body;
    if (check === null || bodyBytes === null)
      throw new DomainError("unsupported_media_type", `Send the bytes with Content-Type: ${mediaType}.`);
    check(body, bodyBytes);
    return body;
  };
}

/** In shares of a small request: a start of a few hundred bytes is one. */
const costOf = (bytes: number | null): number => 1 + (bytes ?? 0) / COST_BYTES;
const COST_BYTES = 4_096;
/**
 * Not destroyed by a handler that stops reading it: what the caller still sends is dropped then, and the connection is
 * good for the answer and for the next request.
 */
const unbroken = (body: Readable): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => body.iterator({ destroyOnReturn: false }) as AsyncIterator<Uint8Array>,
});

type Fields = Record<string, unknown>;

function bodyCheck(route: Route, inBody: boolean): (request: FastifyRequest) => unknown {
  const schema = route.body ?? (inBody && route.method !== "GET" ? NO_QUERY : undefined);
  const selecting = inBody && schema !== undefined ? withSelection(schema, selectionFields(route)) : schema;
  const check: Validator | null = selecting === undefined ? null : bodyValidator(selecting);
  return (request) => {
    if (request.body instanceof Readable) {
      throw new DomainError("unsupported_media_type", "Send the body with Content-Type: application/json.");
    }
    const body = request.body ?? {};
    if (check !== null) check(body, request.bodyBytes ?? undefined);
    else if (typeof body !== "object" || Object.keys(body).length > 0) {
      throw invalidRequest([{ path: "body", message: "this route takes no body" }]);
    }
    return body;
  };
}
