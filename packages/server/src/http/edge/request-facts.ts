import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { HEADERS } from "@keelson/contract";
import type { DomainError } from "../../domain-error.ts";
import { callerAddress } from "./caller-address.ts";
import { provenanceOf } from "./control-headers.ts";
import { refusalOf, type OpenWaits, type WatchCaller } from "./open-waits.ts";
import type { RequestFacts } from "./route.ts";

/** Worked out when a handler asks: most ask for few of them. */
class LazyRequestFacts implements RequestFacts {
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  readonly sessionCookie: string | null;
  readonly oddItems: RequestFacts["oddItems"];
  readonly mayHoldOddText: boolean;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #waits: OpenWaits;
  readonly #caller: { readonly ip: string };
  readonly #watch: WatchCaller | undefined;
  #signal: AbortSignal | undefined;

  constructor(
    request: FastifyRequest,
    reply: FastifyReply,
    waits: OpenWaits,
    idempotencyKey: string | null,
    watch: WatchCaller | undefined,
  ) {
    this.requestId = request.keelsonRequestId;
    this.idempotencyKey = idempotencyKey;
    this.sessionCookie = request.sessionCookie;
    this.oddItems = request.oddItems;
    this.mayHoldOddText = request.mayHoldOddText;
    this.#message = request.raw;
    this.#response = reply.raw;
    this.#waits = waits;
    this.#watch = watch;
    this.#caller = request;
  }

  get signal(): AbortSignal {
    return (this.#signal ??= this.#waits.signalOf(this.#response, this.#watch));
  }

  get refusal(): DomainError | null {
    return this.#signal === undefined ? null : refusalOf(this.#signal);
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

  get address(): string {
    return callerAddress(this.#caller.ip);
  }

  get lastEventId(): string | null {
    return (this.#message.headers[HEADERS.lastEventId] as string | undefined) || null;
  }

  get contentType(): string | null {
    return this.#message.headers["content-type"] ?? null;
  }

  header(name: Parameters<RequestFacts["header"]>[0]): string | null {
    return (this.#message.headers[name] as string | undefined) ?? null;
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
  watch: WatchCaller | undefined,
): RequestFacts => new LazyRequestFacts(request, reply, waits, idempotencyKey, watch);
