import { Readable } from "node:stream";
import { SSE_HEADERS } from "@keelson/contract";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AppOptions } from "./app.ts";
import type { EventStream, EventStreams } from "./event-stream.ts";
import type { Reply, RequestFacts } from "./route.ts";

type EventsReply = Extract<Reply, { events: unknown }>;

const JSON_TYPE = "application/json; charset=utf-8";

/** Writes a handler's answer. Text that is JSON already goes out as it is. */
export function sendReply(answer: Exclude<Reply, EventsReply>, reply: FastifyReply): FastifyReply {
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
export async function sendEvents(
  { log }: AppOptions,
  eventStreams: EventStreams,
  stream: Pick<EventStream, "followed" | "environmentId">,
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
  await eventStreams.send({ response, ...stream, signal, requestId, onError });
  return reply;
}
