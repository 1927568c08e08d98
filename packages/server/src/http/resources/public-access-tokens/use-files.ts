import type { PublicFilePermission, Uuid } from "@keelson/contract";
import { hasUseLeft } from "../../../core/public-access/public-access-reads.ts";
import { decideFileUse, type StreamAccess } from "../../../core/public-access/public-access.ts";
import { countUse, spent } from "../../../core/public-access/use-public-access.ts";
import { findSessionFile } from "../../../core/sessions/session-file-reads.ts";
import type { FilePlace, FileRow } from "../../../core/sessions/session-file.ts";
import { storeFile, type FileUpload, type StoredFile } from "../../../core/sessions/store-file.ts";
import { DomainError } from "../../../domain-error.ts";
import type { ServerContext } from "../../../server-context.ts";
import type { SessionAddress } from "../sessions/naming.ts";
import { namedSession } from "./use-stream.ts";

/** What browsers do to files with public access tokens. */

/**
 * The session that a request names, if the token's scope covers its files.
 *
 * @throws DomainError `scope_mismatch`, whether or not what was named is there.
 */
export async function coveredFiles(
  server: ServerContext,
  access: StreamAccess,
  permission: PublicFilePermission,
  address: SessionAddress,
): Promise<FilePlace> {
  const decision = decideFileUse(access, permission, await namedSession(server.db, access, address));
  if (decision.kind === "refuse") throw new DomainError("scope_mismatch", decision.message);
  return { environmentId: access.environmentId, sessionId: access.sessionId };
}

/**
 * Uploads a file with a public access token. A use is counted in the transaction that adds the file: what was there already is none.
 * Nobody uploads with a token that is spent.
 *
 * @throws DomainError `scope_mismatch`, `unauthenticated`, and what an upload throws
 */
export async function uploadPublicly(
  server: ServerContext,
  access: StreamAccess,
  address: SessionAddress,
  upload: FileUpload,
): Promise<StoredFile> {
  const place = await coveredFiles(server, access, "session.files.write", address);
  if (access.maxUses !== null && !(await hasUseLeft(server.db, access))) throw spent(access);
  await server.storageQuota.admit(access.environmentId);
  const stored = await storeFile(server, place, upload, (tx) => countUse(tx, access));
  server.storageQuota.noteStored(access.environmentId, stored.file.sizeBytes);
  return stored;
}

/**
 * A file of the token's session.
 *
 * @throws DomainError `scope_mismatch`, whether or not what was named is there.
 */
export async function filePublicly(
  server: ServerContext,
  access: StreamAccess,
  address: SessionAddress,
  id: Uuid<"file"> | null,
): Promise<FileRow> {
  const place = await coveredFiles(server, access, "session.files.read", address);
  const file = id === null ? null : await findSessionFile(server.db, place, id);
  if (file === null)
    throw new DomainError("scope_mismatch", "This public access token is for another session or file.");
  return file;
}
