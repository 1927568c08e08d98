import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import type { ModelUsage } from "./usage.ts";

/** Models of a run or session are few. */
const MAX_MODELS = 100;

const sumsOf = (environmentId: Uuid<"env">, owner: Sql): Sql => sql`
  SELECT u.model, sum(u.calls)::float8 AS calls, sum(u.input_tokens)::float8 AS input_tokens,
    sum(u.output_tokens)::float8 AS output_tokens, sum(u.cached_input_tokens)::float8 AS cached_input_tokens,
    sum(u.reasoning_tokens)::float8 AS reasoning_tokens, sum(u.cost_nanos)::float8 AS cost_nanos
  FROM run_usage u WHERE u.environment_id = ${environmentId} AND ${owner}
  GROUP BY u.model ORDER BY sum(u.calls) DESC, u.model LIMIT ${MAX_MODELS}`;

/** What a run has used, by model. */
export const listRunUsage = (
  db: Queryable,
  environmentId: Uuid<"env">,
  runId: Uuid<"run">,
): Promise<ModelUsage[]> => db.query<ModelUsage>(sumsOf(environmentId, sql`u.run_id = ${runId}`));

/** What the runs of a session have used, by model. They are kept as long as the session. */
export const listSessionUsage = (
  db: Queryable,
  environmentId: Uuid<"env">,
  sessionId: Uuid<"sess">,
): Promise<ModelUsage[]> => db.query<ModelUsage>(sumsOf(environmentId, sql`u.session_id = ${sessionId}`));
