import { encodeId, type Uuid } from "@keelson/contract";
import { deriveCredential, type MasterKey } from "../credentials/master-key.ts";

/**
 * The two secrets of a completion token. Both are functions of the master key and the id, so they can be shown again when
 * a creation is repeated; only their digests are stored. Neither is good for the other's route.
 */
export type TokenSecrets = { publicAccessToken: string; callbackSecret: string };

export const deriveTokenSecrets = (masterKey: MasterKey, tokenId: Uuid<"tok">): TokenSecrets => ({
  publicAccessToken: deriveCredential(masterKey, "tkn", "completion", tokenId),
  callbackSecret: deriveCredential(masterKey, "tkn", "callback", tokenId),
});

/** Where a provider completes the token. `publicUrl` is where callers reach the server. */
export const callbackUrl = (publicUrl: string, tokenId: Uuid<"tok">, callbackSecret: string): string =>
  `${publicUrl.replace(/\/+$/, "")}/api/v1/tokens/${encodeId("tok", tokenId)}/callback/${callbackSecret}`;
