import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { isDroppable, type VersionAge } from "./version-retention-reads.ts";

/** Deletes those of the versions that still may go. @returns how many. */
export async function deleteDroppable(
  tx: Tx,
  environmentId: Uuid<"env">,
  workspaceId: Uuid<"ws">,
  versionIds: readonly Uuid<"wsv">[],
  age: VersionAge,
): Promise<number> {
  const [row] = await tx.query<{ count: number }>(sql`
    WITH gone AS (
      DELETE FROM workspace_versions v USING workspaces w
      WHERE v.environment_id = ${environmentId} AND v.workspace_id = ${workspaceId} AND v.id = ANY(${versionIds}::uuid[])
        AND w.environment_id = v.environment_id AND w.id = v.workspace_id AND ${isDroppable(age)}
      RETURNING 1
    )
    SELECT count(*) AS count FROM gone`);
  return row?.count ?? 0;
}
