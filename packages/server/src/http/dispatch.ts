import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest, onRequestHookHandler, RouteOptions } from "fastify";
import { Type } from "typebox";
import type { Principal } from "../core/credentials/principal.ts";
import { DomainError, invalidRequest } from "../domain-error.ts";
import type { AppOptions } from "./app.ts";
import { createAudited, notAudited } from "./audit.ts";
import { checkCsrf } from "./authenticate/csrf.ts";
import { findCredential } from "./authenticate/find-credential.ts";
import { checkCaller } from "./check-caller.ts";
import { idempotencyKeyOf } from "./control-headers.ts";
import type { EventStreams } from "./event-stream.ts";
import { observeAs } from "./observe-request.ts";
import type { OpenWaits } from "./open-waits.ts";
import { requestFacts } from "./request-facts.ts";
import { allowAnyOrigin, ANY_ORIGIN } from "./cors.ts";
import { createScopeResolver } from "./resolve-scope.ts";
import type { Route } from "./route.ts";
import { isSelecting, selectionFields, selectsInQuery, takeSelection, withSelection } from "./selection.ts";
import { sendEvents, sendReply } from "./send-reply.ts";
import { ANY_MEDIA_TYPE } from "./any-body.ts";
import { findUnstorableText, type BodyText } from "./storable-text.ts";
import { bodyValidator, queryValidator, type Validator } from "./validate.ts";

const NO_QUERY = Type.Object({}, { additionalProperties: false });

/** Turns a route into what Fastify runs: authentication and permission, then validation, then the handler, then the reply. */
export function createDispatcher(
  options: AppOptions,
  waits: OpenWaits,
  eventStreams: EventStreams,
): (route: Route) => RouteOptions {
  const { context } = options;
  const resolveScope = createScopeResolver(context.db);

  return (route) => {
    const fields = selectionFields(route);
    const inQuery = isSelecting(route) && selectsInQuery(route);
    const inBody = isSelecting(route) && !selectsInQuery(route);
    const querySchema = route.query ?? NO_QUERY;
    const checkQuery = queryValidator(inQuery ? withSelection(querySchema, fields) : querySchema);
    const checkBody = route.rawBody === undefined ? bodyCheck(route, inBody) : bytesCheck(route.rawBody);
    const audit = route.audit !== undefined && "action" in route.audit ? route.audit : null;
    const bodyLimit = route.rawBody?.bodyLimitBytes ?? route.bodyLimitBytes;

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
        environmentId === null ? undefined : context.turns.enter(environmentId, costOf(request.bodyText));
      if (turn !== undefined) await turn;
      const facts = requestFacts(request, reply, waits, idempotencyKey);
      const auditing = audit === null ? null : createAudited(context, audit, scope, request);
      const audited = auditing?.audited ?? notAudited;
      const call = { server: context, scope, params, query, body, request: facts, audited };
      const answer = await route.handle(call);
      // The first test of such a route fails: a change went past the log that the route promises.
      if (auditing?.wasCalled() === false)
        throw new Error(`${route.operationId} declares an audit event and did not use its transaction.`);
      if (!("events" in answer)) return sendReply(answer, reply);
      const leave = await context.eventStreamQuota.enter(environmentId);
      const stream = { ...answer.events, environmentId };
      return sendEvents(options, eventStreams, stream, facts, request, reply).finally(leave);
    };

    return {
      method: route.method,
      url: route.path,
      ...(bodyLimit === undefined ? {} : { bodyLimit }),
      ...(route.isIJson === true ? { config: { isIJson: true } } : {}),
      onRequest: authenticate(options, route),
      handler: run,
    };
  };
}

/** The hook that finds out who calls. */
function authenticate(
  { authenticator, context, rateLimits, isSecure, publicUrl }: AppOptions,
  route: Route,
): onRequestHookHandler {
  const metrics = context.metrics.route(route.method, route.path);
  return (request, reply, done) => {
    observeAs(reply.raw, metrics);
    if (route.cors === ANY_ORIGIN) allowAnyOrigin(reply.raw);
    const credential = findCredential(request.raw, route, isSecure);
    const found = credential === null ? null : authenticator.authenticate(credential.text);
    const goOn = (): void => done();
    const settle = (principal: Principal | null): void => {
      try {
        rateLimits.take(route, principal, request, reply.raw);
        if (credential !== null && principal === null) rateLimits.takeFailure(request, reply.raw);
        request.principal = checkCaller(route, principal, credential?.isCookie === false);
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
    if (found instanceof Promise) found.then(settle, done);
    else settle(found);
  };
}

/** The body of a raw route is a stream of the declared type, as it comes, or JSON where the route takes it. */
function bytesCheck({
  mediaType,
  orJson,
}: NonNullable<Route["rawBody"]>): (request: FastifyRequest) => unknown {
  const check = orJson === undefined ? null : bodyValidator(orJson);
  return ({ body, bodyText }) => {
    if (mediaType === ANY_MEDIA_TYPE) return body;
    if (body instanceof Readable) return unbroken(body);
    if (check === null || bodyText === null)
      throw new DomainError("unsupported_media_type", `Send the bytes with Content-Type: ${mediaType}.`);
    check(body, bodyText.sizeBytes);
    return body;
  };
}

/** In shares of a small request: a start of a few hundred bytes is one. */
const costOf = (text: BodyText | null): number => (text === null ? 1 : 1 + text.sizeBytes / COST_BYTES);
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
  // What a worker reports of a run is stored as JSON, whatever its process wrote.
  const isStoredAsText = schema !== undefined && route.access.kind !== "worker";
  const selecting = inBody && schema !== undefined ? withSelection(schema, selectionFields(route)) : schema;
  const check: Validator | null = selecting === undefined ? null : bodyValidator(selecting);
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
