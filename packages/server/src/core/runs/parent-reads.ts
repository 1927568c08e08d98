import type { Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { ExecutionKey } from "../executions/execution.ts";

/** A run that starts others, with what they have from it. */
export type Parent = {
  environmentId: Uuid<"env">;
  runId: Uuid<"run">;
  organizationId: Uuid<"org">;
  projectId: Uuid<"proj">;
  workerGroupId: Uuid<"wgrp">;
  deploymentId: Uuid<"dep">;
  deploymentVersion: string;
  sdkVersion: string | null;
};

export function listParents(db: Queryable, parents: readonly ExecutionKey[]): Promise<Parent[]> {
  return db.query<Parent>(sql`
    SELECT DISTINCT r.environment_id, r.id AS run_id, p.organization_id,
      r.project_id, v.worker_group_id, r.deployment_id, r.deployment_version,
      r.sdk_version
    FROM unnest(${parents.map((parent) => parent.environmentId)}::uuid[], ${parents.map((parent) => parent.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("runs", "r", sql`r.environment_id = k.environment_id AND r.id = k.run_id`)}
    JOIN environments v ON v.id = r.environment_id
    JOIN projects p ON p.id = v.project_id`);
}
