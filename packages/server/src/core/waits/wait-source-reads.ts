import type { ExecutionKey } from "../executions/execution.ts";
import type { DurableWaitKind, TokenStatus, WaitStatus, Uuid } from "@keelson/contract";
import { joinByKey, lockByKey } from "../../db/join-by-key.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** What new waits are decided by: where the thing stands that they are for. */

export type RunPlace = {
  runId: Uuid<"run">;
  projectId: Uuid<"proj">;
  sessionId: Uuid<"sess"> | null;
  workspaceId: Uuid<"ws"> | null;
};

/** @param keys each run once, as below. */
export async function listRunPlaces(db: Queryable, keys: readonly ExecutionKey[]): Promise<RunPlace[]> {
  return db.query<RunPlace>(sql`
    SELECT r.id AS run_id, r.project_id, r.session_id, r.workspace_id
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("runs", "r", sql`r.environment_id = k.environment_id AND r.id = k.run_id`)}`);
}

/** Shared locks: completions wait until the transaction that waits for the token is over. */
export async function lockTokenStatuses(
  tx: Tx,
  keys: readonly { environmentId: Uuid<"env">; tokenId: Uuid<"tok"> }[],
): Promise<{ environmentId: Uuid<"env">; tokenId: Uuid<"tok">; status: TokenStatus }[]> {
  return tx.query(sql`
    SELECT t.environment_id, t.token_id, t.status
    FROM (
      SELECT * FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.tokenId)}::uuid[])
        AS n (environment_id, id) ORDER BY environment_id, id
    ) k
    ${lockByKey(
      "FOR SHARE",
      "tokens",
      "t",
      sql`t.environment_id = k.environment_id AND t.id = k.id`,
      "environment_id, id AS token_id, status",
    )}`);
}

export type OpenWait = ExecutionKey & {
  position: number;
  kind: DurableWaitKind;
  name: string;
  status: WaitStatus;
  streamId: Uuid<"strm"> | null;
  recordSequence: number | null;
  messageId: Uuid<"msg"> | null;
};

/**
 * Waits that the journals of these runs do not have: those that have settled, those of streams, and those at the positions. A run that
 * fans out waits for hundreds of others, which are not read again with each report.
 */
export async function listOpenWaits(
  db: Queryable,
  keys: readonly ExecutionKey[],
  positions: readonly number[],
): Promise<OpenWait[]> {
  if (keys.length === 0) return [];
  return db.query<OpenWait>(sql`
    SELECT w.environment_id, w.run_id, w.position, w.kind, w.name, w.status, w.stream_id, w.record_sequence, w.message_id
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("run_waits", "w", sql`w.environment_id = k.environment_id AND w.run_id = k.run_id AND NOT w.accepted`)}
    WHERE (w.status <> 'pending' OR w.stream_id IS NOT NULL OR w.position = ANY(${positions}::integer[]))`);
}
