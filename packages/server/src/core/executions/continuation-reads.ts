import type { Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { ExecutionKey, LeasedExecution } from "./execution.ts";

/** What a run that continues is checked by, and where it works. */
export type ContinuingRun = ExecutionKey & {
  deploymentId: Uuid<"dep">;
  entrypointKind: LeasedExecution["entrypointKind"];
  entrypoint: string;
  workspaceId: Uuid<"ws"> | null;
};

export function listContinuingRuns(db: Queryable, keys: readonly ExecutionKey[]): Promise<ContinuingRun[]> {
  return db.query<ContinuingRun>(sql`
    SELECT r.environment_id, r.id AS run_id, r.deployment_id, r.entrypoint_kind, r.entrypoint, r.workspace_id
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("runs", "r", sql`r.environment_id = k.environment_id AND r.id = k.run_id`)}`);
}

/** The input streams that these runs wait for, or have received from without that their code has it. */
export function listAwaitedStreams(
  tx: Queryable,
  keys: readonly ExecutionKey[],
): Promise<{ environmentId: Uuid<"env">; id: Uuid<"strm"> }[]> {
  return tx.query<{ environmentId: Uuid<"env">; id: Uuid<"strm"> }>(sql`
    SELECT DISTINCT w.environment_id, w.stream_id AS id
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("run_waits", "w", sql`w.environment_id = k.environment_id AND w.run_id = k.run_id AND NOT w.accepted`)}
    WHERE w.kind = 'input'`);
}

/** What runs go on with that have continued. JSON is text. */
export function listContinuedPayloads(
  db: Queryable,
  keys: readonly ExecutionKey[],
): Promise<(ExecutionKey & { payload: string | null })[]> {
  return db.query<ExecutionKey & { payload: string | null }>(sql`
    SELECT c.environment_id, c.run_id, c.payload
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("run_continuations", "c", sql`c.environment_id = k.environment_id AND c.run_id = k.run_id`)}`);
}
