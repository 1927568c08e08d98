import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { ExecutionKey } from "../executions/execution.ts";

/** Takes endings that nobody else is at, and returns them. */
export const takeEndings = (tx: Tx, endings: readonly ExecutionKey[]): Promise<ExecutionKey[]> =>
  tx.query(sql`
    DELETE FROM awaited_endings a
    USING (
      SELECT t.environment_id, t.run_id FROM awaited_endings t
      JOIN unnest(${endings.map((e) => e.environmentId)}::uuid[], ${endings.map((e) => e.runId)}::uuid[]) AS k (environment_id, run_id)
        ON t.environment_id = k.environment_id AND t.run_id = k.run_id
      ORDER BY t.environment_id, t.run_id
      FOR UPDATE OF t SKIP LOCKED
    ) k
    WHERE a.environment_id = k.environment_id AND a.run_id = k.run_id
    RETURNING a.environment_id, a.run_id`);
