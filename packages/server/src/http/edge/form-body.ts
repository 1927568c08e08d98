import { isUtf8 } from "node:buffer";
import { DomainError, invalidRequest } from "../../domain-error.ts";

export const FORM_MEDIA_TYPE = "application/x-www-form-urlencoded";

/**
 * A form as the object that its names and values make.
 *
 * @param takes what the route takes
 * @throws DomainError `unsupported_media_type`; `invalid_request` for a name that comes twice (RFC 6749, section 3.2)
 */
export function parseForm(bytes: Buffer, takes: string): Record<string, string> {
  if (takes !== FORM_MEDIA_TYPE)
    throw new DomainError("unsupported_media_type", `Send the body with Content-Type: ${takes}.`);
  if (!isUtf8(bytes)) throw invalidRequest([{ path: "body", message: "encode it as UTF-8" }]);
  // Names are the caller's.
  const fields = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URLSearchParams(bytes.toString())) {
    if (name in fields) throw invalidRequest([{ path: "body", message: "has a parameter twice" }]);
    // A parameter without a value is as one that was left out (section 3.2).
    if (value !== "") fields[name] = value;
  }
  return fields;
}
