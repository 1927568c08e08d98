import type { RunStatus, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { RUN_TABLES } from "./run-reads.ts";

/** What a browser may see of a run. JSON is text, times are milliseconds. */
export type PublicRunRow = {
  id: Uuid<"run">;
  entrypointKind: "task" | "actor";
  entrypoint: string;
  retry: string;
  metadata: string | null;
  tags: string[] | null;
  status: RunStatus;
  attemptNumber: number | null;
  output: string | null;
  failure: string | null;
  startedAt: number | null;
  finishedAt: number | null;
  createdAt: number;
  updatedAt: number;
  /** Grows with each change of the rest. */
  eventSequence: number;
};

export async function findPublicRun(
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<PublicRunRow | null> {
  const [row] = await db.query<PublicRunRow>(sql`
    SELECT r.id, r.entrypoint_kind, r.entrypoint, r.retry, coalesce(x.metadata, e.metadata, r.metadata) AS metadata, r.tags,
      coalesce(x.status, e.status) AS status, coalesce(x.attempt_number, nullif(e.attempt_number, 0)) AS attempt_number, x.output, x.failure,
      coalesce(x.started_at, e.started_at) AS started_at, x.finished_at, r.created_at,
      coalesce(x.finished_at, e.updated_at, r.created_at) AS updated_at, coalesce(x.event_sequence, e.event_sequence) AS event_sequence
    FROM ${RUN_TABLES} WHERE r.environment_id = ${environmentId} AND r.id = ${runId}`);
  return row ?? null;
}
