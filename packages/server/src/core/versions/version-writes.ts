import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { VERSION_COLUMNS, type VersionRow } from "./version-reads.ts";
import type { StoredTree, VersionCause, VersionNotes } from "./version.ts";

export type VersionInsert = {
  environmentId: Uuid<"env">;
  id: Uuid<"wsv">;
  workspaceId: Uuid<"ws">;
  number: number;
  parentVersionId: Uuid<"wsv"> | null;
  cause: VersionCause;
  commitId: string | null;
  tree: StoredTree;
  notes: VersionNotes | null;
  createdAt: number;
};

export async function insertVersion(tx: Tx, row: VersionInsert): Promise<VersionRow> {
  const { tree, cause } = row;
  const [inserted] = await tx.query<VersionRow>(sql`
    INSERT INTO workspace_versions (environment_id, id, workspace_id, number, parent_version_id, cause_kind, cause_id, commit_id,
      digest, manifest_digest, file_count, size_bytes, notes, created_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.workspaceId}, ${row.number}, ${row.parentVersionId}, ${cause.kind},
      ${cause.id}, ${row.commitId}, ${Buffer.from(tree.digest, "hex")}, ${Buffer.from(tree.manifestDigest, "hex")},
      ${tree.fileCount}, ${tree.sizeBytes}, ${row.notes === null ? null : JSON.stringify(row.notes)}, ${timestamp(row.createdAt)})
    RETURNING ${VERSION_COLUMNS}`);
  if (inserted === undefined) throw new Error("A version is not there after its insert.");
  return inserted;
}

/** The workspace is deleted. */
export async function deleteVersions(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
): Promise<void> {
  await tx.query(sql`
    DELETE FROM workspace_versions WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId}`);
}
