import { hash, randomBytes } from "node:crypto";
import { formatCredential, type CredentialKind } from "@keelson/contract";

/** Makes a credential and what is stored of it. The text exists only in what is answered. */
export type MakeCredential = (kind: CredentialKind) => { text: string; digest: Buffer };

const RANDOM_BYTES = 64;

/** @param cell the tag of the installation's cell; null when it has none */
export const createMakeCredential =
  (cell: string | null): MakeCredential =>
  (kind) => {
    const text = formatCredential(kind, randomBytes(RANDOM_BYTES), cell);
    return { text, digest: hash("sha256", text, "buffer") };
  };
