import type { IncomingMessage } from "node:http";
import { API_VERSION, HEADERS, LIMITS, PRINTABLE_PATTERN } from "@keelson/contract";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";

/** The headers that say how to read a request. Two values of one are an error: a proxy and a client disagree. */

/** Headers that decide whose request it is and how it is read, by length. Node keeps the first of some and joins others. */
const ONCE = new Map(
  ["Authorization", "Host", "Service-API-Version"].map((name, index) => [
    name.length,
    { name, lowerCase: name.toLowerCase(), bit: 1 << index },
  ]),
);

/** Looks at the header lines as they came; only a name of the right length is compared. */
export function checkRepeated({ rawHeaders }: IncomingMessage): DomainError | null {
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const text = rawHeaders[index] as string;
    const once = ONCE.get(text.length);
    if (once === undefined) continue;
    const { name, lowerCase, bit } = once;
    if (text !== name && text !== lowerCase && text.toLowerCase() !== lowerCase) continue;
    if ((seen & bit) !== 0) return duplicate(name);
    seen |= bit;
  }
  return null;
}

/** Bodies are read as they come: a coding that nobody undoes would be stored, or refused as broken JSON. */
export function checkContentEncoding({ headers, method }: IncomingMessage): DomainError | null {
  // Nobody reads a body of these.
  if (method === "GET" || method === "HEAD") return null;
  const coding = headers["content-encoding"];
  if (coding === undefined || coding === "" || coding.toLowerCase() === "identity") return null;
  // Without a body there is nothing that is coded.
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return null;
  return new DomainError(
    "unsupported_media_type",
    "Send the body without Content-Encoding: this server does not decompress request bodies.",
    { accept_encoding: "identity" },
  );
}

const VISIBLE = /^[\x21-\x7e]{1,128}$/;
const PRINTABLE = new RegExp(PRINTABLE_PATTERN);

/**
 * Whether a header of ours was sent more than once. Node joins such values with a comma, so one without a comma was not;
 * `headersDistinct` is made on first use and costs as much as the rest of the headers together.
 */
const isRepeated = (message: IncomingMessage, name: string, value: string): boolean =>
  value.includes(",") && (message.headersDistinct[name]?.length ?? 0) > 1;

const headerOf = (message: IncomingMessage, name: string): string | undefined =>
  message.headers[name] as string | undefined;

/** The caller's id when it is 1 to 128 visible ASCII characters, else a new one. */
export function requestIdOf(
  message: IncomingMessage,
  newUuid: NewUuid,
): { id: string; error: DomainError | null } {
  const value = headerOf(message, HEADERS.requestId);
  if (value === undefined) return { id: `req_${newUuid()}`, error: null };
  const error = isRepeated(message, HEADERS.requestId, value) ? duplicate("X-Request-Id") : null;
  return { id: error === null && VISIBLE.test(value) ? value : `req_${newUuid()}`, error };
}

const duplicate = (name: string): DomainError =>
  invalidRequest([{ path: name, message: "send this header once" }]);

/** Source: RFC 9112, section 3.2: a request of HTTP/1.1 without Host is refused. */
export function checkHost(message: IncomingMessage): DomainError | null {
  if (message.headers.host !== undefined || message.httpVersionMinor === 0) return null;
  return invalidRequest([{ path: "Host", message: "send this header" }]);
}

/** Source: the specification, "Versioning": omitted or empty means the current version. */
export function checkApiVersion(message: IncomingMessage): DomainError | null {
  const value = headerOf(message, HEADERS.apiVersion);
  if (value === undefined || value === API_VERSION || value === "") return null;
  return new DomainError(
    "unsupported_api_version",
    `Send Service-API-Version: ${API_VERSION}, or leave the header out.`,
    { supported: [API_VERSION] },
  );
}

/** A provenance header: diagnostic only, so one that is not 1 to 128 visible characters is as good as absent. */
export function provenanceOf(message: IncomingMessage, name: string): string | null {
  const value = message.headers[name];
  return typeof value === "string" && value.length <= LIMITS.headerVersionCharacters && VISIBLE.test(value)
    ? value
    : null;
}

/** The idempotency key of header and body, which must agree. */
export function idempotencyKeyOf(message: IncomingMessage, body: unknown): string | null {
  const inBody =
    typeof body === "object" && body !== null
      ? (body as { idempotency_key?: unknown }).idempotency_key
      : undefined;
  const inHeader = headerOf(message, HEADERS.idempotencyKey) ?? null;
  if (inHeader !== null && isRepeated(message, HEADERS.idempotencyKey, inHeader))
    throw duplicate("Idempotency-Key");
  if (
    inHeader !== null &&
    (inHeader.length === 0 ||
      Buffer.byteLength(inHeader) > LIMITS.idempotencyKeyBytes ||
      !PRINTABLE.test(inHeader))
  ) {
    throw invalidRequest([
      {
        path: "Idempotency-Key",
        message: `must be 1 to ${LIMITS.idempotencyKeyBytes} bytes of printable text`,
      },
    ]);
  }
  if (typeof inBody !== "string") return inHeader;
  if (Buffer.byteLength(inBody) > LIMITS.idempotencyKeyBytes) {
    throw invalidRequest([
      { path: "idempotency_key", message: `must be 1 to ${LIMITS.idempotencyKeyBytes} bytes` },
    ]);
  }
  if (inHeader !== null && inHeader !== inBody) {
    throw invalidRequest([
      { path: "Idempotency-Key", message: "differs from idempotency_key in the body; send one of them" },
    ]);
  }
  return inBody;
}
