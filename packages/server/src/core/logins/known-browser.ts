import { createHmac, timingSafeEqual } from "node:crypto";
import type { MasterKey } from "../credentials/master-key.ts";

/**
 * What a browser keeps of a sign-in: an id, and a proof that the person signed in there. The server keeps nothing. It is
 * worth a budget of links to that person and nothing else.
 */
const ID_BYTES = 16;

const proofOf = (key: MasterKey, email: string, id: string): Buffer =>
  createHmac("sha256", key).update(`browser ${id} ${email.toLowerCase()}`).digest();

export function makeBrowserProof(
  key: MasterKey,
  email: string,
  randomBytes: (count: number) => Uint8Array,
): string {
  const id = Buffer.from(randomBytes(ID_BYTES)).toString("base64url");
  return `${id}.${proofOf(key, email, id).toString("base64url")}`;
}

/** The browser's id when the person signed in there before; null when not, or when the text was made up. */
export function readBrowserProof(key: MasterKey, email: string, text: string | null): string | null {
  const [id, proof] = text?.split(".") ?? [];
  if (id === undefined || proof === undefined) return null;
  const [given, expected] = [Buffer.from(proof, "base64url"), proofOf(key, email, id)];
  return given.length === expected.length && timingSafeEqual(given, expected) ? id : null;
}
