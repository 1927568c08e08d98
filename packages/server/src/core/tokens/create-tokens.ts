import { LIMITS, parseDuration, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, invalidRequest } from "../../domain-error.ts";
import { credentialDigest } from "../credentials/digest.ts";
import type { CredentialOrigin, Keyring } from "../credentials/credential-origin.ts";
import type { TokenRow } from "./token-reads.ts";
import { deriveTokenSecrets } from "./token-secrets.ts";
import { insertTokens, type TokenInsert } from "./token-writes.ts";

export type NewToken = Omit<TokenInsert, "publicDigest" | "callbackDigest">;

/** Whose token it is. `runId`: the run that creates it. */
export type TokenOwner = {
  environmentId: Uuid<"env">;
  projectId: Uuid<"proj">;
  id: Uuid<"tok">;
  runId: Uuid<"run"> | null;
};

const DEFAULT_TIMEOUT_MS = 24 * 3_600_000;
const MAX_TIMEOUT_MS = 30 * 24 * 3_600_000;

/**
 * The token that a caller or a run asks for.
 *
 * @throws DomainError `invalid_request` for a timeout that is not from 1 ms to 30 days, `payload_too_large` for its metadata.
 */
export function toNewToken(
  owner: TokenOwner,
  fields: { timeout?: string; metadata?: Record<string, unknown>; tags?: readonly string[] },
  now: number,
): NewToken {
  return {
    ...owner,
    timeoutAt: now + timeoutMs(fields.timeout),
    metadata: fields.metadata === undefined ? null : metadataText(fields.metadata),
    tags: fields.tags ?? [],
    createdAt: now,
  };
}

function timeoutMs(timeout: string | undefined): number {
  if (timeout === undefined) return DEFAULT_TIMEOUT_MS;
  const ms = parseDuration(timeout);
  if (ms === null || ms === 0 || ms > MAX_TIMEOUT_MS)
    throw invalidRequest([{ path: "timeout", message: "must be a duration from 1ms to 30d, such as 24h" }]);
  return ms;
}

function metadataText(metadata: Record<string, unknown>): string {
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) <= LIMITS.metadataBytes) return text;
  throw new DomainError(
    "payload_too_large",
    `metadata may be ${LIMITS.metadataBytes} bytes of JSON; store larger data elsewhere and pass a reference.`,
    { field: "metadata", limit_bytes: LIMITS.metadataBytes },
  );
}

/**
 * Creates pending tokens under the ids that the caller gives, which are not taken yet. Their secrets follow from the ids and
 * `origin`, see `deriveTokenSecrets`. The caller stores both where a repeat of the creation finds them.
 */
export async function createTokens(
  tx: Tx,
  { keyring, origin }: { keyring: Keyring; origin: CredentialOrigin },
  tokens: readonly NewToken[],
): Promise<TokenRow[]> {
  if (tokens.length === 0) return [];
  await insertTokens(
    tx,
    tokens.map((token) => {
      const secrets = deriveTokenSecrets(keyring, token.id, origin);
      return {
        ...token,
        publicDigest: credentialDigest(secrets.publicAccessToken),
        callbackDigest: credentialDigest(secrets.callbackSecret),
      };
    }),
  );
  return tokens.map(({ tags, ...token }) => ({
    ...token,
    tags: [...tags],
    status: "pending",
    data: null,
    completedAt: null,
    completedByKind: null,
    completedById: null,
    updatedAt: token.createdAt,
  }));
}
