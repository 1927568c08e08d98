import type { Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import type { RunUsage } from "./usage.ts";

/** The session that a run is of, or that the nearest run is of which it descends from. Ends at the first one: a turn has no parent. */
const sessionOf = (run: { environmentId: Sql; sessionId: Sql; parentRunId: Sql }): Sql => sql`
  WITH RECURSIVE line AS (
    SELECT ${run.sessionId} AS session_id, ${run.parentRunId} AS parent_run_id
    UNION ALL
    SELECT p.session_id, p.parent_run_id
    FROM line l JOIN runs p ON p.environment_id = ${run.environmentId} AND p.id = l.parent_run_id
    WHERE l.session_id IS NULL
  )
  SELECT session_id FROM line WHERE session_id IS NOT NULL LIMIT 1`;

/** Adds to what locked, live runs have used; one of each run and model. */
export async function addUsage(tx: Tx, used: readonly RunUsage[]): Promise<void> {
  await tx.send(sql`
    INSERT INTO run_usage AS u (environment_id, run_id, model, session_id, calls, input_tokens, output_tokens, cached_input_tokens,
      reasoning_tokens, cost_nanos)
    SELECT n.environment_id, n.run_id, n.model, s.session_id, n.calls, n.input_tokens, n.output_tokens, n.cached_input_tokens,
      n.reasoning_tokens, n.cost_nanos
    FROM unnest(${used.map((one) => one.environmentId)}::uuid[], ${used.map((one) => one.runId)}::uuid[],
      ${used.map((one) => one.model)}::text[], ${used.map((one) => one.calls)}::bigint[],
      ${used.map((one) => one.inputTokens)}::bigint[], ${used.map((one) => one.outputTokens)}::bigint[],
      ${used.map((one) => one.cachedInputTokens)}::bigint[], ${used.map((one) => one.reasoningTokens)}::bigint[],
      ${used.map((one) => one.costNanos)}::bigint[])
      AS n (environment_id, run_id, model, calls, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, cost_nanos)
    JOIN runs r ON r.environment_id = n.environment_id AND r.id = n.run_id
    LEFT JOIN LATERAL (${sessionOf({
      environmentId: sql`r.environment_id`,
      sessionId: sql`r.session_id`,
      parentRunId: sql`r.parent_run_id`,
    })}) s ON true
    ON CONFLICT (environment_id, run_id, model) DO UPDATE SET calls = u.calls + excluded.calls,
      session_id = coalesce(u.session_id, excluded.session_id),
      input_tokens = u.input_tokens + excluded.input_tokens, output_tokens = u.output_tokens + excluded.output_tokens,
      cached_input_tokens = u.cached_input_tokens + excluded.cached_input_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
      cost_nanos = coalesce(u.cost_nanos + excluded.cost_nanos, u.cost_nanos, excluded.cost_nanos)`);
}
