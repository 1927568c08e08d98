import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { StoredTree, VersionCause } from "./version.ts";

export type VersionInsert = {
  environmentId: string;
  id: string;
  workspaceId: string;
  number: number;
  parentVersionId: string | null;
  cause: VersionCause;
  commitId: string | null;
  tree: StoredTree;
  createdAt: number;
};

export async function insertVersion(tx: Tx, row: VersionInsert): Promise<void> {
  const { tree, cause } = row;
  await tx.query(sql`
    INSERT INTO workspace_versions (environment_id, id, workspace_id, number, parent_version_id, cause_kind, cause_id, commit_id,
      digest, manifest_digest, file_count, size_bytes, created_at)
    VALUES (${row.environmentId}, ${row.id}, ${row.workspaceId}, ${row.number}, ${row.parentVersionId}, ${cause.kind},
      ${cause.id}, ${row.commitId}, ${Buffer.from(tree.digest, "hex")}, ${Buffer.from(tree.manifestDigest, "hex")},
      ${tree.fileCount}, ${tree.sizeBytes}, to_timestamp(${row.createdAt}::float8 / 1000))`);
}

/** The workspace is deleted. */
export async function deleteVersions(tx: Tx, environmentId: string, workspaceId: string): Promise<void> {
  await tx.query(sql`
    DELETE FROM workspace_versions WHERE environment_id = ${environmentId} AND workspace_id = ${workspaceId}`);
}
