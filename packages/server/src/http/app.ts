import { isUtf8 } from "node:buffer";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { API_VERSION, HEADERS, LIMITS } from "@keelson/contract";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { DomainError, invalidRequest } from "../domain-error.ts";
import type { Principal } from "../core/credentials/principal.ts";
import type { NewUuid } from "../uuid.ts";
import type { ServerContext } from "../server-context.ts";
import type { Authenticator } from "./authenticate/authenticator.ts";
import { toErrorReply } from "./error-reply.ts";
import { createEventStreams } from "./event-stream.ts";
import { createFailureLog, type FailureLog } from "./failure-log.ts";
import { createOpenWaits } from "./open-waits.ts";
import { parseJson } from "./parse-json.ts";
import { mayBeUnstorable, type BodyText } from "./storable-text.ts";
import { createObserver } from "./observe-request.ts";
import { ANY_ORIGIN, answerPreflight } from "./cors.ts";
import type { RateLimits } from "./rate-limits.ts";
import { checkApiVersion, checkHost, requestIdOf } from "./control-headers.ts";
import { readAnyBody, takesAnyBody } from "./any-body.ts";
import { checkIJson } from "./check-i-json.ts";
import { shownPath } from "./shown-path.ts";
import { createDispatcher } from "./dispatch.ts";
import { addConsole } from "./system/console.ts";
import type { Method, Route } from "./route.ts";

export type AppOptions = {
  context: ServerContext;
  routes: readonly Route[];
  authenticator: Authenticator;
  rateLimits: RateLimits;
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  newUuid: NewUuid;
  log: Logger;
  /** Callers reach the server by https: browsers are told to stay with it. */
  isSecure: boolean;
  /** `PUBLIC_URL`; null when it is not set. */
  publicUrl: string | null;
};

/** How much of a refused body is read for the sake of its sender. */
const MAX_DROPPED_BYTES = 64 * 1024 * 1024;
/** How long a stopping server waits for the requests under way. */
const MAX_CLOSE_MS = 10_000;
const METHODS: readonly Method[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const OTHER_METHODS = [...METHODS, "OPTIONS"] as const;

declare module "fastify" {
  interface FastifyRequest {
    keelsonRequestId: string;
    /** What is known of a JSON body's text; null without one. */
    bodyText: BodyText | null;
    principal: Principal | null;
    /** The session of a caller who showed it by cookie. */
    sessionCookie: string | null;
  }
  interface FastifyContextConfig {
    /** See `Route.isIJson`. */
    isIJson?: true;
  }
}

/** The HTTP server of all families, made from the route registry. */
export function createApp(options: AppOptions): FastifyInstance {
  const logFailure = createFailureLog(options.log, options.context.clock);
  const app = Fastify({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    // Node would answer these itself, without our body.
    http: { requireHostHeader: false },
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    // Requests under way are answered; what waits is told to end, and what is idle is cut.
    forceCloseConnections: "idle",
    routerOptions: { maxParamLength: 512 },
    // A URL that cannot be decoded reaches no hook.
    frameworkErrors: (error, request, reply) =>
      void sendError(logFailure, begin(request, reply) ?? error, request, reply),
    clientErrorHandler: answerBrokenRequest,
  });
  app.decorateRequest("keelsonRequestId", "");
  app.decorateRequest("bodyText", null);
  app.decorateRequest("principal", null);
  app.decorateRequest("sessionCookie", null);
  addBodyParsers(app);
  const observe = createObserver(options.context.metrics.route("", "unknown"), options.context.clock);
  const begin = (request: FastifyRequest, reply: FastifyReply): DomainError | null => {
    const { id, error } = requestIdOf(request.raw, options.newUuid);
    request.keelsonRequestId = id;
    reply.raw.setHeader(HEADERS.requestId, id);
    reply.raw.setHeader(HEADERS.apiVersion, API_VERSION);
    if (options.isSecure) reply.raw.setHeader("strict-transport-security", "max-age=31536000");
    observe(reply.raw);
    return error ?? checkHost(request.raw) ?? checkApiVersion(request.raw);
  };
  app.addHook("onRequest", (request, reply, done) => done(begin(request, reply) ?? undefined));
  app.setErrorHandler((error, request, reply) => sendError(logFailure, error, request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendError(
      logFailure,
      new DomainError(
        "route_not_found",
        `There is no ${request.method} ${pathOf(request)}; /openapi.json lists all routes.`,
      ),
      request,
      reply,
    ),
  );
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  const waits = createOpenWaits();
  const eventStreams = createEventStreams(options.context.feeds, options.context.turns);
  options.context.metrics.gauge("keelson_event_streams", "Open event streams.", () => eventStreams.count());
  app.addHook("preClose", async () => {
    waits.abortAll();
    eventStreams.close();
    endConnections(app.server);
  });
  const dispatch = createDispatcher(options, waits, eventStreams);
  for (const route of options.routes) if (!takesAnyBody(route)) app.route(dispatch(route));
  app.register((scope, _options, done) => {
    readAnyBody(scope);
    for (const route of options.routes) if (takesAnyBody(route)) scope.route(dispatch(route));
    done();
  });
  addConsole(app);
  refuseOtherMethods(app, options.routes);
  return app;
}

const pathOf = (request: FastifyRequest): string => shownPath(request.url, request.routeOptions.url);

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
      request.bodyText = { sizeBytes: bytes.length, mayBeUnstorable: mayBeUnstorable(text) };
      const value = parseJson(text);
      if (request.routeOptions.config.isIJson === true) checkIJson(text);
      done(null, value);
    } catch (error) {
      done(error as Error);
    }
  });
  // Raw uploads are streams for their handler; every other route refuses the type in its dispatcher.
  app.addContentTypeParser("application/octet-stream", (_request, payload, done) => done(null, payload));
}

/** Answers a known path with another method: a browser's preflight where pages of any origin may call, else 405. */
function refuseOtherMethods(app: FastifyInstance, routes: readonly Route[]): void {
  const byPath = new Map<string, Set<string>>();
  for (const route of routes) {
    const methods = byPath.get(route.path) ?? new Set();
    methods.add(route.method);
    if (route.method === "GET") methods.add("HEAD");
    byPath.set(route.path, methods);
  }
  const crossOrigin = new Set(routes.filter(({ cors }) => cors === ANY_ORIGIN).map(({ path }) => path));
  for (const [path, methods] of byPath) {
    const allow = [...methods].sort().join(", ");
    app.route({
      method: OTHER_METHODS.filter((method) => !methods.has(method)),
      url: path,
      handler: (request, reply) => {
        if (request.method === "OPTIONS" && crossOrigin.has(path)) {
          answerPreflight(reply.raw, allow);
          return reply.code(204).send();
        }
        throw new DomainError("method_not_allowed", `This route takes ${allow}.`, { allow });
      },
    });
  }
}

function sendError(
  logFailure: FailureLog,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const requestId = request.keelsonRequestId;
  const answer = toErrorReply(error, requestId);
  keepForAnswer(request, reply);
  logFailure(answer.status, error, { requestId, method: request.method, path: pathOf(request) });
  return reply
    .code(answer.status)
    .headers(answer.headers)
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(answer.body));
}

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
function endConnections(server: Server): void {
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const all = setTimeout(() => server.closeAllConnections(), MAX_CLOSE_MS);
  server.once("close", () => {
    clearInterval(idle);
    clearTimeout(all);
  });
}

/** Bytes that are not HTTP, or headers too large: there is no request to answer, only a socket. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || socket.destroyed || !socket.writable) return void socket.destroy();
  const tooLarge = error.code === "HPE_HEADER_OVERFLOW";
  const message = tooLarge
    ? "The request's headers are too large; send fewer or shorter ones."
    : "The request is not valid HTTP/1.1.";
  const requestId = "unparsed";
  const body = JSON.stringify({
    error: { code: "invalid_request", message, details: null, request_id: requestId },
  });
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `${HEADERS.apiVersion}: ${API_VERSION}\r\n${HEADERS.requestId}: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
  );
}
