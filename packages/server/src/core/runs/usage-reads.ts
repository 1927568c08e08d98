import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql, type Sql } from "../../db/sql.ts";
import type { ModelUsage } from "./usage.ts";

/** Models of a run or session are few. */
const MAX_MODELS = 100;

const sumsOf = (rows: Sql): Sql => sql`
  SELECT u.model, sum(u.calls)::float8 AS calls, sum(u.input_tokens)::float8 AS input_tokens,
    sum(u.output_tokens)::float8 AS output_tokens, sum(u.cached_input_tokens)::float8 AS cached_input_tokens,
    sum(u.reasoning_tokens)::float8 AS reasoning_tokens, sum(u.cost_nanos)::float8 AS cost_nanos
  FROM ${rows} u
  GROUP BY u.model ORDER BY sum(u.calls) DESC, u.model LIMIT ${MAX_MODELS}`;

const COLUMNS = rawSql(
  "model, calls, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens, cost_nanos",
);

/** What a run has used, by model. */
export const listRunUsage = (
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<ModelUsage[]> =>
  db.query<ModelUsage>(
    sumsOf(sql`(
      SELECT ${COLUMNS} FROM run_usage WHERE environment_id = ${environmentId} AND run_id = ${runId}
    )`),
  );

/** What the runs of a session and all that descend from them have used, by model. Those of the session are kept as long as it is. */
export const listSessionUsage = (
  db: Queryable,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<ModelUsage[]> =>
  db.query<ModelUsage>(
    sumsOf(sql`(
      SELECT ${COLUMNS} FROM run_usage WHERE environment_id = ${environmentId} AND session_id = ${sessionId}
      UNION ALL
      SELECT ${COLUMNS} FROM session_usage WHERE environment_id = ${environmentId} AND session_id = ${sessionId}
    )`),
  );
