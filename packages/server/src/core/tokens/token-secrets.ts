import { encodeId, type Uuid } from "@keelson/contract";
import type { CredentialOrigin, Keyring } from "../credentials/credential-origin.ts";
import { deriveCredential } from "../credentials/master-key.ts";

/**
 * The two secrets of a completion token. Both are functions of its id and origin, so they can be shown again when a creation is
 * repeated; only their digests are stored. Neither is good for the other's route.
 */
export type TokenSecrets = { publicAccessToken: string; callbackSecret: string };

export function deriveTokenSecrets(
  keyring: Keyring,
  id: Uuid<"tok">,
  { cell, keyNumber }: CredentialOrigin,
): TokenSecrets {
  const key = keyring(keyNumber);
  const derive = (purpose: string): string => deriveCredential(key, { kind: "tkn", purpose, id, cell });
  return { publicAccessToken: derive("completion"), callbackSecret: derive("callback") };
}

/** Where a provider completes the token. `publicUrl` is where callers reach the server. */
export const callbackUrl = (publicUrl: string, tokenId: Uuid<"tok">, callbackSecret: string): string =>
  `${publicUrl.replace(/\/+$/, "")}/api/v1/tokens/${encodeId("tok", tokenId)}/callback/${callbackSecret}`;
