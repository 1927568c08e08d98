import { isUtf8 } from "node:buffer";
import type { Server } from "node:http";
import { API_VERSION, HEADERS, LIMITS } from "@keelson/contract";
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteOptions,
} from "fastify";
import type { Logger } from "pino";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { mayHoldOddText } from "../../core/executions/find-odd-value.ts";
import type { Principal } from "../../core/credentials/principal.ts";
import type { NewUuid } from "../../uuid.ts";
import type { ServerContext } from "../../server-context.ts";
import type { Authenticator } from "./authenticate/authenticator.ts";
import { toErrorReply, type ErrorReply } from "./error-reply.ts";
import { FORM_MEDIA_TYPE, parseForm } from "./form-body.ts";
import { challengeOf, toOauthError } from "./oauth-refusal.ts";
import { createConnections, type Connections } from "./connections/connections.ts";
import { answerBrokenRequest, HEADERS_LOOK_MS, HEADERS_TIMEOUT_MS } from "./connections/refuse-slow.ts";
import { createEventStreams } from "./event-stream.ts";
import { createFailureLog, type FailureLog } from "./failure-log.ts";
import { createOpenWaits } from "./open-waits.ts";
import { checkHugeNumbers, parseJson } from "./parse-json.ts";
import { createObserver } from "./observe-request.ts";
import { answerPreflight } from "./cors.ts";
import { createPathFinder, methodsByPath } from "./known-paths.ts";
import type { RateLimits } from "./rate-limits.ts";
import {
  checkApiVersion,
  checkContentEncoding,
  checkHost,
  checkRepeated,
  requestIdOf,
} from "./control-headers.ts";
import { readAnyBody, streamAnyBody, takesAnyBody, takesAnyStream } from "./any-body.ts";
import { checkIJson, checkItems, type OddItems } from "./check-i-json.ts";
import { shownPath } from "./shown-path.ts";
import { createDispatcher } from "./dispatch.ts";
import type { Route } from "./route.ts";
import type { Store } from "./storage-space.ts";

/** What routes are dispatched with. */
export type DispatchOptions = AppOptions & { connections: Connections };

export type AppOptions = {
  context: ServerContext;
  routes: readonly Route[];
  /** Adds what is no route of the API: the console's pages. */
  addPages: (app: FastifyInstance) => void;
  authenticator: Authenticator;
  rateLimits: RateLimits;
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  newUuid: NewUuid;
  log: Logger;
  /** How many connections there may be: of an address without a valid credential (0 is unlimited), and in all. */
  connectionLimits: { perAddress: number; max: number };
  /** Callers reach the server by https: browsers are told to stay with it. */
  isSecure: boolean;
  /** `PUBLIC_URL`; null when it is not set. */
  publicUrl: string | null;
};

/** How much of a refused body is read for the sake of its sender. */
const MAX_DROPPED_BYTES = 64 * 1024 * 1024;
/** How long a stopping server waits for the requests under way. */
const MAX_CLOSE_MS = 10_000;

declare module "fastify" {
  interface FastifyRequest {
    keelsonRequestId: string;
    /** Of a JSON body; null without one. */
    bodyBytes: number | null;
    /** Items of the body that are no I-JSON, of a route with `separateItems`. */
    oddItems: OddItems | null;
    /** Of a worker's JSON: it may have values that cannot be stored. */
    mayHoldOddText: boolean;
    principal: Principal | null;
    /** The session of a caller who showed it by cookie. */
    sessionCookie: string | null;
  }
  interface FastifyContextConfig {
    /** The JSON comes from a worker, which writes it from values: only operations are looked at, each on its own. */
    isOfWorker?: true;
    /** See `separateItems` of the route. */
    itemsOf?: string;
    /** See these of the route. */
    oauth?: Route["oauth"];
    connects?: Route["connects"];
    /** The type of a raw body. */
    takes?: string;
    /** What an answer depends on besides its URL; null: it is the same for everybody. */
    varies?: string | null;
  }
}

/** The HTTP server of all families, made from the route registry. */
export function createApp(options: AppOptions): FastifyInstance {
  const logFailure = createFailureLog(options.log, options.context.clock);
  const app = Fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    // Node would answer these itself, without our body.
    http: {
      requireHostHeader: false,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: HEADERS_LOOK_MS,
    },
    // A body is watched by its rate: a large one may take long.
    requestTimeout: 0,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    // Requests under way are answered; what waits is told to end, and what is idle is cut.
    forceCloseConnections: "idle",
    // So is a request that comes on an open connection meanwhile: its caller cannot know that the server stops.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 512 },
    // A URL that cannot be decoded reaches no hook.
    frameworkErrors: (error, request, reply) =>
      void sendError(logFailure, begin(request, reply) ?? error, request, reply, options.context.publicUrl),
    clientErrorHandler: answerBrokenRequest,
  });
  app.decorateRequest("keelsonRequestId", "");
  app.decorateRequest("bodyBytes", null);
  app.decorateRequest("oddItems", null);
  app.decorateRequest("mayHoldOddText", false);
  app.decorateRequest("principal", null);
  app.decorateRequest("sessionCookie", null);
  addBodyParsers(app);
  const { metrics } = options.context;
  const connections = createConnections(app.server, { ...options.connectionLimits, ...options });
  metrics.gauge("keelson_connections", "Open connections of callers.", () => connections.count());
  const begin = createBegin(options, connections);
  const refuseUnknown = createRefusal(options.routes);
  app.addHook("onRequest", (request, reply, done) =>
    // Before the body is read: what no route takes is refused whatever it carries.
    done(begin(request, reply) ?? (request.is404 ? refuseUnknown(request) : undefined)),
  );
  app.setErrorHandler((error, request, reply) => {
    const answered = sendError(logFailure, error, request, reply, options.context.publicUrl);
    if (reply.statusCode === 507) options.context.storage.isFull(storeOf(error));
    return answered;
  });
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  const waits = createOpenWaits();
  const eventStreams = createEventStreams(options.context.feeds, options.context.turns);
  metrics.gauge("keelson_event_streams", "Open event streams.", () => eventStreams.count());
  app.addHook("preClose", async () => {
    waits.abortAll();
    eventStreams.close();
    endConnections(app.server, connections);
  });
  const dispatch = createDispatcher({ ...options, connections }, waits, eventStreams);
  addRoutes(app, options.routes, dispatch);
  options.addPages(app);
  options.context.innerCalls.attach(app, options.routes);
  answerPreflights(app, options.routes);
  return app;
}

/** Routes that take a body of any type have parsers of their own. */
function addRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  dispatch: (route: Route) => RouteOptions,
): void {
  const kinds = [
    { takes: takesAnyBody, prepare: readAnyBody },
    { takes: takesAnyStream, prepare: streamAnyBody },
  ];
  for (const route of routes) if (!kinds.some(({ takes }) => takes(route))) app.route(dispatch(route));
  for (const { takes, prepare } of kinds)
    app.register((scope, _options, done) => {
      prepare(scope);
      for (const route of routes) if (takes(route)) scope.route(dispatch(route));
      done();
    });
}

/** What every request goes through before anything else, one that is of no route or cannot be decoded among them. */
function createBegin(
  { context, isSecure, newUuid }: AppOptions,
  connections: Connections,
): (request: FastifyRequest, reply: FastifyReply) => DomainError | null {
  const observe = createObserver(context.metrics.route("", "unknown"), context.clock);
  return (request, { raw: response }) => {
    const { id, error } = requestIdOf(request.raw, newUuid);
    request.keelsonRequestId = id;
    response.setHeader(HEADERS.requestId, id);
    response.setHeader(HEADERS.apiVersion, API_VERSION);
    // What may be kept says so itself.
    response.setHeader("cache-control", "no-store");
    // What reaches no route tells nothing by lacking it.
    const { varies = "Authorization" } = request.routeOptions.config;
    if (varies !== null) response.setHeader("vary", varies);
    // Whoever sends the next request on a new connection is led to another server.
    if (context.readiness.isDraining()) response.setHeader("connection", "close");
    if (isSecure) response.setHeader("strict-transport-security", "max-age=31536000");
    connections.begin(request.raw, response, request);
    observe(response);
    return (
      error ??
      checkRepeated(request.raw) ??
      checkHost(request.raw) ??
      checkApiVersion(request.raw) ??
      checkContentEncoding(request.raw)
    );
  };
}

const pathOf = (request: FastifyRequest): string => shownPath(request.url, request.routeOptions.url);

/** What the route takes a body as. */
const mediaTypeOf = ({ routeOptions: { config } }: FastifyRequest): string =>
  config?.oauth === undefined ? (config?.takes ?? "application/json") : FORM_MEDIA_TYPE;

/** A full store is named by whoever met it; what PostgreSQL says has no name. */
const storeOf = (error: unknown): Store =>
  error instanceof DomainError && error.details?.["store"] === "blobs" ? "blobs" : "database";

/** The default parser of Fastify would refuse keys that are ordinary data here, such as `__proto__`. */
function addBodyParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, bytes, done) => {
    // No bytes are an empty object, so that POST routes whose fields are all optional need no body.
    if (bytes.length === 0) return done(null, {});
    try {
      // Decoding would replace what is not UTF-8 without a word.
      if (!isUtf8(bytes as Buffer)) throw invalidRequest([{ path: "body", message: "encode it as UTF-8" }]);
      const text = bytes.toString("utf8");
      request.bodyBytes = bytes.length;
      const value = parseJson(text);
      checkBody(request, text, value);
      done(null, value);
    } catch (error) {
      done(error as Error);
    }
  });
  app.addContentTypeParser(FORM_MEDIA_TYPE, { parseAs: "buffer" }, (request, bytes, done) => {
    try {
      const fields = parseForm(bytes as Buffer, mediaTypeOf(request));
      request.bodyBytes = bytes.length;
      done(null, fields);
    } catch (error) {
      done(error as Error);
    }
  });
  // Raw uploads are streams for their handler; every other route refuses the type in its dispatcher.
  app.addContentTypeParser("application/octet-stream", (_request, payload, done) => done(null, payload));
}

function checkBody(request: FastifyRequest, text: string, value: unknown): void {
  const { isOfWorker, itemsOf } = request.routeOptions.config;
  if (itemsOf !== undefined) {
    request.oddItems = checkItems(text, value, itemsOf);
    return;
  }
  checkHugeNumbers(text, value);
  if (isOfWorker === true) request.mayHoldOddText = mayHoldOddText(text);
  else checkIJson(text, value);
}

/** What no route takes: a known path by another method, or no path of ours. */
function createRefusal(routes: readonly Route[]): (request: FastifyRequest) => DomainError {
  const findPath = createPathFinder(routes);
  return (request) => {
    const known = findPath(request.url);
    if (known !== null)
      return new DomainError("method_not_allowed", `This route takes ${known.allow}.`, {
        allow: known.allow,
      });
    return new DomainError(
      "route_not_found",
      `There is no ${request.method} ${pathOf(request)}; /openapi.json lists all routes.`,
    );
  };
}

/** Answers a browser's preflight where pages of any origin may call. */
function answerPreflights(app: FastifyInstance, routes: readonly Route[]): void {
  for (const [url, { allow, isAnyOrigin }] of methodsByPath(routes)) {
    if (!isAnyOrigin) continue;
    app.options(url, (_request, reply) => {
      answerPreflight(reply.raw, allow);
      return reply.code(204).send();
    });
  }
}

function sendError(
  logFailure: FailureLog,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  publicUrl: () => string,
): FastifyReply {
  const requestId = request.keelsonRequestId;
  const answer = toErrorReply(error, requestId, mediaTypeOf(request));
  keepForAnswer(request, reply);
  // Nobody is left to answer: it is no failure of ours that the rest of a body did not come.
  if (!request.raw.destroyed || request.raw.complete)
    logFailure(answer.status, error, { requestId, method: request.method, path: pathOf(request) });
  return reply
    .code(answer.status)
    .headers({ ...answer.headers, ...challenge(answer, request, publicUrl) })
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(bodyOf(answer, request)));
}

const bodyOf = (answer: ErrorReply, { routeOptions }: FastifyRequest): object =>
  routeOptions.config?.oauth === undefined ? answer.body : toOauthError(answer, routeOptions.config.oauth);

const challenge = (
  answer: ErrorReply,
  { routeOptions, headers }: FastifyRequest,
  publicUrl: () => string,
): Record<string, string> =>
  routeOptions.config?.connects === true
    ? challengeOf(answer, publicUrl(), headers.authorization !== undefined)
    : {};

/**
 * Lets the caller of a refused upload read the answer: closing a connection on unread data resets it, and the answer is
 * lost. The rest of a body of bearable size is read and dropped instead.
 */
function keepForAnswer({ raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.readableEnded || raw.destroyed) return;
  let dropped = 0;
  raw.on("data", (chunk: Buffer) => {
    dropped += chunk.length;
    if (dropped > MAX_DROPPED_BYTES) raw.destroy();
  });
  raw.resume();
  // Set by Fastify for a body that is too large.
  reply.removeHeader("connection");
}

/** Cuts connections as they become idle, and after a while those that do not. */
function endConnections(server: Server, { endUnused }: Connections): void {
  const idle = setInterval(() => {
    server.closeIdleConnections();
    endUnused();
  }, 20);
  const all = setTimeout(() => server.closeAllConnections(), MAX_CLOSE_MS);
  server.once("close", () => {
    clearInterval(idle);
    clearTimeout(all);
  });
}
