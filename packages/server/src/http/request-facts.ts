import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { HEADERS } from "@keelson/contract";
import { provenanceOf } from "./control-headers.ts";
import type { OpenWaits } from "./open-waits.ts";
import type { RequestFacts } from "./route.ts";

/** Worked out when a handler asks: most ask for few of them. */
class LazyRequestFacts implements RequestFacts {
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  readonly sessionCookie: string | null;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #waits: OpenWaits;
  #signal: AbortSignal | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, waits: OpenWaits, idempotencyKey: string | null) {
    this.requestId = request.keelsonRequestId;
    this.idempotencyKey = idempotencyKey;
    this.sessionCookie = request.sessionCookie;
    this.#message = request.raw;
    this.#response = reply.raw;
    this.#waits = waits;
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#waits.signalOf(this.#response));
  }

  get clientVersion(): string | null {
    return provenanceOf(this.#message, HEADERS.clientVersion);
  }

  get cliVersion(): string | null {
    return provenanceOf(this.#message, HEADERS.cliVersion);
  }

  get sdkVersion(): string | null {
    return provenanceOf(this.#message, HEADERS.sdkVersion);
  }

  get message(): IncomingMessage {
    return this.#message;
  }

  get lastEventId(): string | null {
    return (this.#message.headers[HEADERS.lastEventId] as string | undefined) || null;
  }

  get contentType(): string | null {
    return this.#message.headers["content-type"] ?? null;
  }

  header(name: Parameters<RequestFacts["header"]>[0]): string | null {
    return (this.#message.headers[name] as string | undefined) || null;
  }

  get acceptsEventStream(): boolean {
    return this.#message.headers.accept?.includes("text/event-stream") ?? false;
  }
}

export const requestFacts = (
  request: FastifyRequest,
  reply: FastifyReply,
  waits: OpenWaits,
  idempotencyKey: string | null,
): RequestFacts => new LazyRequestFacts(request, reply, waits, idempotencyKey);
