import { describeRequirement, type Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { LOST_AFTER_MS } from "./worker.ts";

export const unableMessage = (requirement: string, workers: number): string =>
  `The deployment needs a worker on ${describeRequirement(requirement)}. ${
    workers === 1 ? "The active worker is different" : `All ${workers} active workers are different`
  }.`;

/** Why no worker of an environment can run a deployment; null when one can, and while no worker is there. */
export async function findUnable(
  db: Queryable,
  environmentId: Uuid<"env">,
  requirement: string,
  now: number,
): Promise<string | null> {
  const [row] = await db.query<{ active: number; able: number }>(sql`
    SELECT count(*) AS active, count(*) FILTER (WHERE ${requirement}::text = ANY(w.meets)) AS able
    FROM environments v JOIN workers w ON w.worker_group_id = v.worker_group_id
    WHERE v.id = ${environmentId} AND w.status = 'active'
      AND w.last_seen_at >= ${timestamp(now - LOST_AFTER_MS)}`);
  if (row === undefined || row.active === 0 || row.able > 0) return null;
  return unableMessage(requirement, row.active);
}
