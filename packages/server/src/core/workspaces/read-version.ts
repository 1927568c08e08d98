import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { DomainError, invalidRequest, notFound } from "../../domain-error.ts";
import { requireVersion } from "../versions/require-version.ts";
import { findCurrentVersion, findVersion, type VersionRow } from "../versions/version-reads.ts";
import { requireWorkspace } from "./require-workspace.ts";

export type WorkspacePlace = { environmentId: Uuid<"env">; workspaceId: Uuid<"ws"> };

/** `versionId`: null for one that cannot be. */
export type FileSource = { source?: "current" | "version" | "live"; versionId?: Uuid<"wsv"> | null };

/**
 * Which version a read is of, by the rules of `source`.
 *
 * @throws DomainError `not_found`, `not_implemented`, `invalid_request`
 */
export async function readVersion(
  db: Queryable,
  { environmentId, workspaceId }: WorkspacePlace,
  { source = "current", versionId }: FileSource,
): Promise<VersionRow> {
  if (source === "current" && versionId === undefined) {
    const current = await findCurrentVersion(db, environmentId, workspaceId);
    if (current === null) throw notFound();
    return current;
  }
  await requireWorkspace(db, environmentId, workspaceId);
  if (source === "live") {
    throw new DomainError(
      "not_implemented",
      "Reading the live files is reserved. Read the current version, or run a command in the workspace.",
    );
  }
  if (source === "version") {
    if (versionId === undefined)
      throw invalidRequest([{ path: "version_id", message: "is required with source=version" }]);
    return requireVersion(db, { environmentId }, workspaceId, versionId);
  }
  throw invalidRequest([{ path: "version_id", message: "may only be sent with source=version" }]);
}

/** The same of a list that began in a version, in which it goes on whatever is committed meanwhile. */
export async function continueIn(
  db: Queryable,
  place: WorkspacePlace,
  source: FileSource,
  begunIn: Uuid<"wsv">,
): Promise<VersionRow> {
  // The rules of `source` hold for every page.
  const asked = await readVersion(db, place, source);
  if (source.source === "version" || asked.id === begunIn) return asked;
  const version = await findVersion(db, place.environmentId, begunIn);
  return version?.workspaceId === place.workspaceId ? version : asked;
}

/**
 * What a version is compared with; by default what it was made from, which the first version has not.
 *
 * @param baseId null for one that cannot be.
 * @throws DomainError `invalid_request`
 */
export async function findDiffBase(
  db: Queryable,
  environmentId: Uuid<"env">,
  version: VersionRow,
  baseId: Uuid<"wsv"> | null | undefined,
): Promise<VersionRow | null> {
  if (baseId === undefined && version.parentVersionId === null) return null;
  const id = baseId === undefined ? version.parentVersionId : baseId;
  const base = id === null ? null : await findVersion(db, environmentId, id);
  if (base !== null) return base;
  throw invalidRequest([
    {
      path: "base",
      message:
        baseId === undefined
          ? "the version that this one was made from has been deleted; name another base"
          : "there is no such version in this environment",
    },
  ]);
}
