import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Continuation, ExecutionKey } from "./execution.ts";

/**
 * Writes what runs go on with, and deletes the journals that they have had: also what this transaction has entered, in the
 * statements before. Their rows are locked.
 */
export async function writeContinuations(
  tx: Tx,
  continuations: readonly Continuation[],
  now: number,
): Promise<void> {
  const runs = continuations.map(({ execution }) => execution);
  await tx.send(sql`
    WITH continued AS (
      SELECT * FROM unnest(
        ${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.runId)}::uuid[],
        ${runs.map((run) => run.continuations)}::integer[], ${runs.map((run) => run.attemptsBefore)}::integer[],
        ${continuations.map(({ payload }) => payload)}::text[]
      ) AS c (environment_id, run_id, number, attempts_before, payload)
    ), counted AS (
      UPDATE executions e SET continuations = c.number, attempts_before = c.attempts_before
      FROM continued c WHERE e.environment_id = c.environment_id AND e.run_id = c.run_id
    ), kept AS (
      INSERT INTO run_continuations (environment_id, run_id, number, payload, continued_at)
      SELECT environment_id, run_id, number, payload, ${timestamp(now)} FROM continued
      ON CONFLICT (environment_id, run_id) DO UPDATE
        SET number = excluded.number, payload = excluded.payload, continued_at = excluded.continued_at
    ), journals AS (
      DELETE FROM run_journal j USING continued c WHERE j.environment_id = c.environment_id AND j.run_id = c.run_id
    )
    DELETE FROM run_waits w USING continued c WHERE w.environment_id = c.environment_id AND w.run_id = c.run_id`);
}

/**
 * Records that waits of these runs have received and their code has not: the next wait for input receives them. What was
 * withdrawn stays withdrawn. The streams are locked.
 */
export async function giveInputBack(tx: Tx, runs: readonly ExecutionKey[]): Promise<void> {
  await tx.send(sql`
    UPDATE streams s SET received_sequence = k.sequence - 1, withdrawn_sequences = (
      SELECT array_agg(r.sequence ORDER BY r.sequence) FROM stream_records r
      WHERE r.environment_id = s.environment_id AND r.stream_id = s.id AND r.sequence >= k.sequence AND r.withdrawn_at IS NOT NULL)
    FROM (
      SELECT w.environment_id, w.stream_id, min(w.record_sequence) AS sequence
      FROM unnest(${runs.map((run) => run.environmentId)}::uuid[], ${runs.map((run) => run.runId)}::uuid[]) AS c (environment_id, run_id)
      JOIN run_waits w ON w.environment_id = c.environment_id AND w.run_id = c.run_id
      WHERE w.kind = 'input' AND w.status = 'resolved' AND NOT w.accepted AND w.record_sequence IS NOT NULL
      GROUP BY w.environment_id, w.stream_id
    ) k
    WHERE s.environment_id = k.environment_id AND s.id = k.stream_id AND s.received_sequence >= k.sequence`);
}
