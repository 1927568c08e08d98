import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { ANYWHERE, ISOLATED } from "./claim-writes.ts";
import type { KnownRun } from "./known-runs.ts";

/** The first ready run of an environment and a priority, among those that have begun before or those that have not. */
export type ReadyFront = {
  environmentId: Uuid<"env">;
  /** 1 for runs that have begun before, 0 for the others. */
  begun: number;
  priority: number;
  /** No run before this one is ready. */
  runId: Uuid<"run">;
};

/**
 * The fronts of a worker group, by a loose scan of the index. It steps over each dead entry once.
 */
export function listReadyFronts(db: Queryable, workerGroupId: Uuid<"wgrp">): Promise<ReadyFront[]> {
  const ready = sql`e.worker_group_id = ${workerGroupId} AND e.ready AND ${ANYWHERE.among}`;
  return db.query<ReadyFront>(sql`
    WITH RECURSIVE fronts AS (
      (SELECT environment_id, least(attempt_number, 1) AS begun, priority, run_id FROM executions e
       WHERE ${ready} ORDER BY environment_id, least(attempt_number, 1), priority DESC, run_id LIMIT 1)
      UNION ALL
      SELECT e.environment_id, least(e.attempt_number, 1), e.priority, e.run_id
      FROM fronts p
      CROSS JOIN LATERAL (SELECT coalesce(
        (SELECT ctid FROM executions e WHERE ${ready} AND e.environment_id = p.environment_id
           AND least(e.attempt_number, 1) = p.begun AND e.priority < p.priority
         ORDER BY e.priority DESC, e.run_id LIMIT 1),
        (SELECT ctid FROM executions e WHERE ${ready} AND e.environment_id = p.environment_id
           AND least(e.attempt_number, 1) = 1 AND p.begun = 0
         ORDER BY e.priority DESC, e.run_id LIMIT 1),
        (SELECT ctid FROM executions e WHERE ${ready} AND e.environment_id > p.environment_id
         ORDER BY e.environment_id, least(e.attempt_number, 1), e.priority DESC, e.run_id LIMIT 1)) AS place) n
      JOIN executions e ON e.ctid = n.place
    )
    SELECT environment_id, begun, priority, run_id FROM fronts`);
}

/** Of a run `e`. */
const KNOWN_COLUMNS = sql`e.environment_id, e.run_id, e.priority, e.workspace_id, e.required_isolation`;

/** Of an environment. */
const MOST_LISTED = 1_000;

/** Ready runs that have begun before, in these environments. It steps over each dead entry of theirs once. */
export const listReadyAgain = (
  db: Queryable,
  workerGroupId: Uuid<"wgrp">,
  environmentIds: readonly Uuid<"env">[],
): Promise<KnownRun[]> =>
  db.query<KnownRun>(sql`
    SELECT r.*
    FROM unnest(${environmentIds}::uuid[]) AS v (environment_id) CROSS JOIN LATERAL (
      SELECT ${KNOWN_COLUMNS} FROM executions e
      WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND ${ANYWHERE.among}
        AND e.environment_id = v.environment_id AND least(e.attempt_number, 1) = 1
      ORDER BY e.priority DESC, e.run_id LIMIT ${MOST_LISTED}
    ) r`);

/** Of a workspace. */
const MOST_LISTED_IN_ONE = 64;

/** The CTE `places`: the workspaces for which runs of a worker group are ready. It walks an index from one to the next. */
export const readyPlaces = (workerGroupId: Uuid<"wgrp">): Sql => sql`
    places AS (
      (SELECT environment_id, workspace_id FROM executions
       WHERE worker_group_id = ${workerGroupId} AND ready AND workspace_id IS NOT NULL
       ORDER BY environment_id, workspace_id LIMIT 1)
      UNION ALL
      SELECT n.environment_id, n.workspace_id
      FROM places p CROSS JOIN LATERAL (
        SELECT e.environment_id, e.workspace_id FROM executions e
        WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND e.workspace_id IS NOT NULL
          AND (e.environment_id, e.workspace_id) > (p.environment_id, p.workspace_id)
        ORDER BY e.environment_id, e.workspace_id LIMIT 1
      ) n
    )`;

/** The first ready runs of each workspace. It steps over each dead entry once. */
export const listReadyInWorkspaces = (db: Queryable, workerGroupId: Uuid<"wgrp">): Promise<KnownRun[]> =>
  db.query<KnownRun>(sql`
    WITH RECURSIVE ${readyPlaces(workerGroupId)}
    SELECT r.*
    FROM places p CROSS JOIN LATERAL (
      SELECT ${KNOWN_COLUMNS} FROM executions e
      WHERE e.worker_group_id = ${workerGroupId} AND e.ready AND e.environment_id = p.environment_id AND e.workspace_id = p.workspace_id
      ORDER BY e.priority DESC, e.run_id LIMIT ${MOST_LISTED_IN_ONE}
    ) r`);

/** The first ready runs of each environment that need an isolation and no workspace. It steps over each dead entry once. */
export const listReadyIsolated = (db: Queryable, workerGroupId: Uuid<"wgrp">): Promise<KnownRun[]> => {
  const ready = sql`e.worker_group_id = ${workerGroupId} AND e.ready AND ${ISOLATED.among}`;
  return db.query<KnownRun>(sql`
    WITH RECURSIVE places AS (
      SELECT (SELECT e.environment_id FROM executions e WHERE ${ready} ORDER BY e.environment_id LIMIT 1) AS environment_id
      UNION ALL
      SELECT (SELECT e.environment_id FROM executions e WHERE ${ready} AND e.environment_id > p.environment_id
        ORDER BY e.environment_id LIMIT 1)
      FROM places p WHERE p.environment_id IS NOT NULL
    )
    SELECT r.*
    FROM places p CROSS JOIN (VALUES (0), (1)) AS b (begun) CROSS JOIN LATERAL (
      SELECT ${KNOWN_COLUMNS} FROM executions e
      WHERE ${ready} AND e.environment_id = p.environment_id AND least(e.attempt_number, 1) = b.begun
      ORDER BY e.priority DESC, e.run_id LIMIT ${MOST_LISTED}
    ) r`);
};
