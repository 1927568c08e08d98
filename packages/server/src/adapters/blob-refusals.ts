import { DomainError, invalidRequest } from "../domain-error.ts";

/** What every blob store refuses in the same words. */

export const overLimit = (maxBytes: number): DomainError =>
  new DomainError("payload_too_large", `The content is over ${maxBytes} bytes; make it smaller.`, {
    limit_bytes: maxBytes,
  });

export const wrongDigest = (found: string, digest: string): DomainError =>
  invalidRequest([
    {
      path: "body",
      message: `the content has the digest ${found}, not ${digest}; send it again, or correct the digest`,
    },
  ]);

export const damaged = (digest: string, found: string): Error =>
  new Error(`The blob ${digest} is damaged: its content has the digest ${found}.`);

/** @throws TypeError for what is no digest: it becomes part of a name. */
export function requireDigest(digest: string): string {
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new TypeError("A digest is 64 lower-case hexadecimal digits.");
  return digest;
}
