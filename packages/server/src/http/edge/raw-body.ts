import { DomainError } from "../../domain-error.ts";

/** The bytes of a raw body. @throws DomainError `unsupported_media_type` when it is something else, or absent */
export function requireBytes(body: unknown): AsyncIterable<Uint8Array> {
  if (typeof body === "object" && body !== null && Symbol.asyncIterator in body)
    return body as AsyncIterable<Uint8Array>;
  throw new DomainError(
    "unsupported_media_type",
    "Send the bytes with Content-Type: application/octet-stream.",
  );
}

/** The same, where an absent body is no bytes. */
export const bytesOf = (body: unknown): AsyncIterable<Uint8Array> =>
  body === undefined || body === null ? (async function* () {})() : requireBytes(body);
