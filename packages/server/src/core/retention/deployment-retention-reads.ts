import type { Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Candidate, Sweep } from "./retention-reads.ts";

/** So many ready ones stay however old, so that there is something to roll back to. */
const KEPT_READY = 10;

/**
 * The deployments of an environment that stay however old: the current one, the one before it, the ready ones that were made
 * or promoted last, and those of live runs and open sessions. Schedules start what is current.
 */
export const stayingDeployments = (environmentId: Uuid<"env">): Sql => sql`
  SELECT current_deployment_id AS id FROM environments
  WHERE id = ${environmentId} AND current_deployment_id IS NOT NULL
  UNION ALL (
    SELECT id FROM deployments WHERE environment_id = ${environmentId} AND status = 'ready'
    ORDER BY greatest(created_at, promoted_at) DESC, id DESC LIMIT ${KEPT_READY}
  )
  UNION ALL (
    SELECT id FROM deployments WHERE environment_id = ${environmentId} AND promoted_at IS NOT NULL
    ORDER BY promoted_at DESC, id DESC LIMIT 2
  )
  UNION ALL
  SELECT DISTINCT r.deployment_id FROM executions e
  JOIN runs r ON r.environment_id = e.environment_id AND r.id = e.run_id
  WHERE e.environment_id = ${environmentId}
  UNION ALL
  SELECT d.id FROM sessions s
  JOIN deployments d ON d.environment_id = s.environment_id AND d.version = s.start_options::json ->> 'deployment_version'
  WHERE s.environment_id = ${environmentId} AND s.status = 'open'`;

/** Deployments that were made long enough ago. Not due are those that were current lately, and those that stay. */
export const listOldDeployments = (tx: Tx, sweep: Sweep): Promise<Candidate<"dep">[]> =>
  tx.query<Candidate<"dep">>(sql`
    WITH page AS (
      SELECT id, updated_at FROM deployments
      WHERE environment_id = ${sweep.environmentId} AND id > ${sweep.after} AND id < ${sweep.horizon}
      ORDER BY id LIMIT ${sweep.limit}
    ), staying AS MATERIALIZED (${stayingDeployments(sweep.environmentId)})
    SELECT p.id, p.updated_at < ${timestamp(sweep.endedBefore)}
      AND NOT EXISTS (SELECT 1 FROM staying s WHERE s.id = p.id) AS is_due
    FROM page p ORDER BY p.id`);
