import {
  parseDuration,
  PUBLIC_RUN_PERMISSION,
  type PublicRunPermission,
  type PublicSessionScope,
  type StreamDirection,
  type Uuid,
} from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { invalidRequest, notFound } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import { credentialDigest } from "../credentials/digest.ts";
import type { CredentialOrigin, Keyring } from "../credentials/credential-origin.ts";
import { deriveCredential } from "../credentials/master-key.ts";
import { findRunStatus } from "../runs/run-reads.ts";
import { ensureStream } from "../streams/ensure-streams.ts";
import { hasSession } from "./public-access-reads.ts";
import { insertPublicAccess } from "./public-access-writes.ts";

/** Follows from the id and origin, so that a repeated creation is answered with it although only its digest is stored. */
export const derivePublicAccessToken = (
  keyring: Keyring,
  id: Uuid<"pat">,
  { cell, keyNumber }: CredentialOrigin,
): string => deriveCredential(keyring(keyNumber), { kind: "pub", purpose: "access", id, cell });

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
  /** The caller stores it where a repeat of the creation finds it. */
  origin: CredentialOrigin;
  environmentId: Uuid<"env">;
  target: StreamTarget | RunTarget;
  maxUses: number | null;
  expiresAt: number;
  now: number;
};

type StreamTarget = {
  permission: PublicSessionScope;
  sessionId: Uuid<"sess">;
  /** By their names; none for files. */
  streams: readonly { name: string; direction: StreamDirection }[];
  correlationId: string | null;
};

type RunTarget = { permission: PublicRunPermission; runId: Uuid<"run"> };

/**
 * Creates a public access token for a run, for files of a session, or for streams of it, which are made with their direction if they
 * are not there yet.
 *
 * @throws DomainError `not_found` when there is no such session or run, `stream_direction_mismatch`.
 */
export async function createPublicAccess(
  tx: Tx,
  newUuid: NewUuid,
  keyring: Keyring,
  { id, origin, environmentId, target, maxUses, expiresAt, now }: PublicAccessCreation,
): Promise<void> {
  const digest = credentialDigest(derivePublicAccessToken(keyring, id, origin));
  const held = { digest, environmentId, id, maxUses, expiresAt, createdAt: now };
  if (target.permission === PUBLIC_RUN_PERMISSION) {
    if ((await findRunStatus(tx, environmentId, target.runId)) === null) throw notFound();
    return insertPublicAccess(tx, { ...held, ...target });
  }
  const { streams, ...of } = target;
  if (streams.length === 0 && !(await hasSession(tx, environmentId, target.sessionId))) throw notFound();
  const streamIds: Uuid<"strm">[] = [];
  for (const wanted of streams) {
    const { sessionId } = target;
    const stream = await ensureStream(tx, newUuid, { environmentId, sessionId, ...wanted }, now);
    if (stream === null) throw notFound();
    streamIds.push(stream.id);
  }
  return insertPublicAccess(tx, { ...held, ...of, streamIds });
}
