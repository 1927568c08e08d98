import { createHash } from "node:crypto";

/** What is stored of a credential: its SHA-256. A credential has 190 bits of randomness, so a fast digest is enough. */
export const credentialDigest = (credential: string): Buffer =>
  createHash("sha256").update(credential).digest();
