import type { Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** What metrics say of a run, and from when on it could have started. */
export type RunLabels = {
  runId: Uuid<"run">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  queue: string;
  createdAt: number;
  startAt: number | null;
};

/** Of those that were not dropped. */
export function listRunLabels(
  db: Queryable,
  runs: readonly { environmentId: Uuid<"env">; runId: Uuid<"run"> }[],
): Promise<RunLabels[]> {
  return db.query<RunLabels>(sql`
    SELECT r.id AS run_id, r.entrypoint_kind, r.entrypoint, r.queue, r.created_at, r.start_at
    FROM unnest(${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("runs", "r", sql`r.environment_id = k.environment_id AND r.id = k.run_id`)}`);
}
