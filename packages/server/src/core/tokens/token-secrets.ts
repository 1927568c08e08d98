import { encodeId, type Uuid } from "@keelson/contract";
import { deriveCredential, type MasterKey } from "../credentials/master-key.ts";

/**
 * The two secrets of a completion token. Both are functions of the master key, the id and the cell, so they can be shown again
 * when a creation is repeated; only their digests are stored. Neither is good for the other's route.
 */
export type TokenSecrets = { publicAccessToken: string; callbackSecret: string };

/** `cell`: the tag of the cell when the token was created. */
export function deriveTokenSecrets(
  masterKey: MasterKey,
  { id, cell }: { id: Uuid<"tok">; cell: string | null },
): TokenSecrets {
  const derive = (purpose: string): string => deriveCredential(masterKey, { kind: "tkn", purpose, id, cell });
  return { publicAccessToken: derive("completion"), callbackSecret: derive("callback") };
}

/** Where a provider completes the token. `publicUrl` is where callers reach the server. */
export const callbackUrl = (publicUrl: string, tokenId: Uuid<"tok">, callbackSecret: string): string =>
  `${publicUrl.replace(/\/+$/, "")}/api/v1/tokens/${encodeId("tok", tokenId)}/callback/${callbackSecret}`;
