import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { NewState } from "./session-state.ts";

/** Writes states of locked sessions, one of each session. */
export async function upsertSessionStates(tx: Tx, states: readonly NewState[]): Promise<void> {
  if (states.length === 0) return;
  await tx.send(sql`
    INSERT INTO session_states (environment_id, session_id, version, value, updated_at, source_kind, source_id, run_id, attempt_number)
    SELECT n.environment_id, n.session_id, n.version, n.value, to_timestamp(n.at / 1000), n.source_kind, n.source_id, n.run_id, n.attempt_number
    FROM unnest(${states.map((state) => state.environmentId)}::uuid[], ${states.map((state) => state.sessionId)}::uuid[],
      ${states.map((state) => state.version)}::bigint[], ${states.map((state) => state.value)}::text[],
      ${states.map((state) => state.at)}::float8[], ${states.map(({ source }) => source.kind)}::text[],
      ${states.map(({ source }) => source.id)}::text[], ${states.map(({ source }) => source.runId)}::uuid[],
      ${states.map(({ source }) => source.attemptNumber)}::integer[])
      AS n (environment_id, session_id, version, value, at, source_kind, source_id, run_id, attempt_number)
    ON CONFLICT (environment_id, session_id) DO UPDATE SET version = excluded.version, value = excluded.value,
      updated_at = excluded.updated_at, source_kind = excluded.source_kind, source_id = excluded.source_id,
      run_id = excluded.run_id, attempt_number = excluded.attempt_number`);
}
