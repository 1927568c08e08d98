import type { Uuid } from "@keelson/contract";
import { findVersion, type VersionRow } from "./version-reads.ts";
import type { Queryable } from "../../db/queryable.ts";
import { notFound } from "../../domain-error.ts";

/** A version of the workspace. @throws DomainError `not_found` */
export async function requireVersion(
  db: Queryable,
  { environmentId }: { environmentId: Uuid<"env"> },
  workspaceId: Uuid<"ws">,
  versionId: Uuid<"wsv"> | null,
): Promise<VersionRow> {
  const version = versionId === null ? null : await findVersion(db, environmentId, versionId);
  if (version === null || version.workspaceId !== workspaceId) throw notFound();
  return version;
}
