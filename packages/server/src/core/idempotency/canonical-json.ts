import { createHash } from "node:crypto";
import { invalidRequest } from "../../domain-error.ts";

/**
 * The canonical text of a JSON value (RFC 8785): no white space, keys in the order of their UTF-16 code units, numbers
 * and strings as ECMAScript writes them. Equal values have equal text, however they were written.
 *
 * The value comes from a JSON body, so its depth is bounded.
 *
 * @throws DomainError `invalid_request` when a string has a lone surrogate or a number is not finite (not I-JSON).
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case "string":
      return canonicalString(value);
    case "number":
      // JSON.stringify writes null here, which would make two different values equal.
      if (!Number.isFinite(value)) throw notInterchangeable("use numbers that an IEEE 754 double can hold");
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : canonicalContainer(value);
    default:
      throw new TypeError(`A ${typeof value} is not a JSON value.`);
  }
}

/** SHA-256 of the canonical text in UTF-8. */
export const canonicalDigest = (value: unknown): Buffer =>
  createHash("sha256").update(canonicalJson(value)).digest();

function canonicalContainer(value: object): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const object = value as Record<string, unknown>;
  // The default order of JavaScript is by UTF-16 code units, which is the order of RFC 8785, section 3.2.3.
  const members = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${canonicalString(key)}:${canonicalJson(object[key])}`);
  return `{${members.join(",")}}`;
}

function canonicalString(text: string): string {
  if (!text.isWellFormed()) throw notInterchangeable("remove the lone surrogate from the text");
  return JSON.stringify(text);
}

const notInterchangeable = (message: string): Error => invalidRequest([{ path: "body", message }]);
