import { parseDuration, type PublicScope, type StreamDirection, type Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { credentialDigest } from "../credentials/digest.ts";
import { deriveCredential, type MasterKey } from "../credentials/master-key.ts";
import { ensureStream } from "../streams/ensure-streams.ts";
import { insertPublicAccess } from "./public-access-writes.ts";

/** Follows from the id, so that a repeated creation is answered with it although only its digest is stored. */
export const derivePublicAccessToken = (masterKey: MasterKey, id: Uuid<"pat">): string =>
  deriveCredential(masterKey, "pub", "access", id);

const DEFAULT_LIFE_MS = 15 * 60_000;
const MAX_LIFE_MS = 24 * 3_600_000;

/** @throws DomainError `invalid_request` for a life that is not from 1 ms to 24 h. */
export function publicAccessLifeMs(expiresIn: string | undefined): number {
  if (expiresIn === undefined) return DEFAULT_LIFE_MS;
  const ms = parseDuration(expiresIn);
  if (ms === null || ms === 0 || ms > MAX_LIFE_MS)
    throw invalidRequest([
      { path: "expires_in", message: "must be a duration from 1ms to 24h, such as 15m" },
    ]);
  return ms;
}

export type PublicAccessCreation = {
  id: Uuid<"pat">;
  environmentId: Uuid<"env">;
  sessionId: Uuid<"sess">;
  permission: PublicScope;
  /** By their names. */
  streams: readonly { name: string; direction: StreamDirection }[];
  correlationId: string | null;
  maxUses: number | null;
  expiresAt: number;
  now: number;
};

/**
 * Creates a public access token for streams of a session, which are made with their direction if they are not there yet.
 *
 * @throws DomainError `not_found` when there is no such session, `stream_direction_mismatch`.
 */
export async function createPublicAccess(
  tx: Tx,
  newUuid: NewUuid,
  masterKey: MasterKey,
  creation: PublicAccessCreation,
): Promise<void> {
  const { id, environmentId, sessionId, permission, now } = creation;
  const streamIds: Uuid<"strm">[] = [];
  for (const wanted of creation.streams) {
    const stream = await ensureStream(tx, newUuid, { environmentId, sessionId, ...wanted }, now);
    if (stream === null) throw notFound();
    streamIds.push(stream.id);
  }
  await insertPublicAccess(tx, {
    digest: credentialDigest(derivePublicAccessToken(masterKey, id)),
    environmentId,
    id,
    permission,
    sessionId,
    streamIds,
    correlationId: creation.correlationId,
    maxUses: creation.maxUses,
    expiresAt: creation.expiresAt,
    createdAt: now,
  });
}
