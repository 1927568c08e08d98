import type { IncomingMessage } from "node:http";
import { API_VERSION, HEADERS, LIMITS, PRINTABLE_PATTERN } from "@keelson/contract";
import { DomainError, invalidRequest } from "../domain-error.ts";
import type { NewUuid } from "../uuid.ts";

/** The headers that say how to read a request. Two values of one are an error: a proxy and a client disagree. */

const VISIBLE = /^[\x21-\x7e]{1,128}$/;
const PRINTABLE = new RegExp(PRINTABLE_PATTERN);

/** `headersDistinct` is made on first use and costs; a header that was sent once needs only the plain look-up. */
function valueOf(message: IncomingMessage, name: string): { value: string | null; repeated: boolean } {
  const value = message.headers[name];
  if (value === undefined) return { value: null, repeated: false };
  // Node joins repeated headers with ", ", or keeps the first of some: only then can there be two.
  const distinct = message.headersDistinct[name];
  return { value: distinct?.[0] ?? null, repeated: (distinct?.length ?? 0) > 1 };
}

/** The caller's id when it is 1 to 128 visible ASCII characters, else a new one. */
export function requestIdOf(message: IncomingMessage, newUuid: NewUuid): { id: string; error: DomainError | null } {
  if (message.headers[HEADERS.requestId] === undefined) return { id: `req_${newUuid()}`, error: null };
  const { value, repeated } = valueOf(message, HEADERS.requestId);
  const id = value !== null && VISIBLE.test(value) && !repeated ? value : `req_${newUuid()}`;
  return { id, error: repeated ? duplicate("X-Request-Id") : null };
}

const duplicate = (name: string): DomainError => invalidRequest([{ path: name, message: "send this header once" }]);

/** Source: RFC 9112, section 3.2: a request of HTTP/1.1 without Host is refused. */
export function checkHost(message: IncomingMessage): DomainError | null {
  if (message.headers.host !== undefined || message.httpVersionMinor === 0) return null;
  return invalidRequest([{ path: "Host", message: "send this header" }]);
}

/** Source: the specification, "Versioning": omitted or empty means the current version. */
export function checkApiVersion(message: IncomingMessage): DomainError | null {
  if (message.headers[HEADERS.apiVersion] === undefined) return null;
  const { value, repeated } = valueOf(message, HEADERS.apiVersion);
  if (repeated) return duplicate("Service-API-Version");
  if (value === null || value === "" || value === API_VERSION) return null;
  return new DomainError("unsupported_api_version", `Send Service-API-Version: ${API_VERSION}, or leave the header out.`, { supported: [API_VERSION] });
}

/** A provenance header: diagnostic only, so one that is not 1 to 128 visible characters is as good as absent. */
export function provenanceOf(message: IncomingMessage, name: string): string | null {
  const value = message.headers[name];
  return typeof value === "string" && value.length <= LIMITS.headerVersionCharacters && VISIBLE.test(value) ? value : null;
}

/** The idempotency key of header and body, which must agree. */
export function idempotencyKeyOf(message: IncomingMessage, body: unknown): string | null {
  const inBody = typeof body === "object" && body !== null ? (body as { idempotency_key?: unknown }).idempotency_key : undefined;
  const { value: inHeader, repeated } = valueOf(message, HEADERS.idempotencyKey);
  if (repeated) throw duplicate("Idempotency-Key");
  if (inHeader !== null && (inHeader.length === 0 || Buffer.byteLength(inHeader) > LIMITS.idempotencyKeyBytes || !PRINTABLE.test(inHeader))) {
    throw invalidRequest([{ path: "Idempotency-Key", message: `must be 1 to ${LIMITS.idempotencyKeyBytes} bytes of printable text` }]);
  }
  if (typeof inBody !== "string") return inHeader;
  if (Buffer.byteLength(inBody) > LIMITS.idempotencyKeyBytes) {
    throw invalidRequest([{ path: "idempotency_key", message: `must be 1 to ${LIMITS.idempotencyKeyBytes} bytes` }]);
  }
  if (inHeader !== null && inHeader !== inBody) {
    throw invalidRequest([{ path: "Idempotency-Key", message: "differs from idempotency_key in the body; send one of them" }]);
  }
  return inBody;
}

export function bearerOf(message: IncomingMessage): string | null {
  const { value, repeated } = valueOf(message, "authorization");
  if (repeated || value === null) return null;
  const match = /^Bearer +([^\s]+) *$/i.exec(value);
  return match?.[1] ?? null;
}
