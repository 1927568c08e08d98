import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { used } from "./held-process-writes.ts";
import type { ProcessKey } from "./process-reads.ts";

/** Where input was stored that was just taken, and who is to have it. */
export type TakenInput = {
  /** Bytes taken in all. */
  inputBytes: number;
  /** What else was sent to the process so far. */
  controlSequence: number;
  workerId: Uuid<"wkr">;
  materializationId: Uuid<"mat">;
  epoch: number;
};

/**
 * Appends input to a process of a live workspace, in one statement: somebody waits for the echo, and a transaction takes
 * seven round trips. Does the usual case and nothing in every other, which `sendInput` decides. The locks are those of
 * `sendInput`, in the same order, and what it decides by is compared again under them.
 *
 * @param offset where the bytes are to begin; null for the end.
 * @param maxWaitingBytes of input that the process has not taken.
 */
export async function appendLiveInput(
  db: Queryable,
  key: ProcessKey,
  { data, offset, maxWaitingBytes }: { data: Buffer; offset: number | null; maxWaitingBytes: number },
  now: number,
): Promise<TakenInput | null> {
  const [taken] = await db.query<TakenInput>(sql`
    WITH held AS (
      SELECT m.environment_id, m.id AS materialization_id, m.worker_id, m.epoch, p.id, p.input_bytes
      FROM workspaces w JOIN materializations m ON m.environment_id = w.environment_id AND m.id = w.materialization_id
      JOIN processes p ON p.environment_id = w.environment_id AND p.workspace_id = w.id
      WHERE w.environment_id = ${key.environmentId} AND w.id = ${key.workspaceId} AND m.status = 'live'
        AND p.id = ${key.id} AND p.kind = ${key.kind} AND p.status IN ('pending', 'running')
        AND NOT p.closing AND NOT p.input_closed
        AND p.input_bytes = coalesce(${offset}::bigint, p.input_bytes)
        AND p.input_bytes - p.input_taken + ${data.length}::bigint <= ${maxWaitingBytes}
      FOR NO KEY UPDATE OF m, p
    ), used AS (${used(now)}), appended AS (
      INSERT INTO process_inputs (environment_id, process_id, position, data)
      SELECT h.environment_id, h.id, h.input_bytes, ${data}::bytea FROM held h
    )
    UPDATE processes p SET input_bytes = p.input_bytes + ${data.length}::bigint
    FROM held h WHERE p.environment_id = h.environment_id AND p.id = h.id
    RETURNING p.input_bytes, p.control_sequence, h.worker_id, h.materialization_id, h.epoch`);
  return taken ?? null;
}
