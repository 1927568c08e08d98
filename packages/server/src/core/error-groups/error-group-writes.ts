import type { ErrorGroupStatus, Uuid } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { ErrorGroupState, NewErrorGroup, Sighting } from "./error-group.ts";

/** Makes a group that was dropped while a run was being put into it; another server may have done so just now. */
export async function insertErrorGroup(
  tx: Tx,
  { environmentId, id, kind, title, message, frame }: NewErrorGroup,
  { runId, seenAt }: Pick<Sighting, "runId" | "seenAt">,
): Promise<void> {
  await tx.query(sql`
    INSERT INTO error_groups (environment_id, id, kind, title, message, frame, status, first_seen_at, last_seen_at, count, last_run_id)
    VALUES (${environmentId}, ${id}, ${kind}, ${title}, ${message}, ${frame}, 'open', ${timestamp(seenAt)},
      ${timestamp(seenAt)}, 0, ${runId})
    ON CONFLICT (environment_id, id) DO NOTHING`);
}

/** Writes locked groups back. */
export async function updateErrorGroups(tx: Tx, groups: readonly ErrorGroupState[]): Promise<void> {
  await tx.query(sql`
    UPDATE error_groups g SET status = u.status, first_seen_at = to_timestamp(u.first_seen_at / 1000),
      last_seen_at = to_timestamp(u.last_seen_at / 1000), count = u.count, last_run_id = u.last_run_id,
      tasks = ARRAY(SELECT jsonb_array_elements_text(u.tasks::jsonb)),
      actors = ARRAY(SELECT jsonb_array_elements_text(u.actors::jsonb)),
      reopened_at = to_timestamp(u.reopened_at / 1000)
    FROM unnest(
      ${groups.map((group) => group.environmentId)}::uuid[], ${groups.map((group) => group.id)}::uuid[],
      ${groups.map((group) => group.status)}::text[], ${groups.map((group) => group.firstSeenAt)}::float8[],
      ${groups.map((group) => group.lastSeenAt)}::float8[], ${groups.map((group) => group.count)}::bigint[],
      ${groups.map((group) => group.lastRunId)}::uuid[], ${groups.map((group) => JSON.stringify(group.tasks))}::text[],
      ${groups.map((group) => JSON.stringify(group.actors))}::text[], ${groups.map((group) => group.reopenedAt)}::float8[]
    ) AS u (environment_id, id, status, first_seen_at, last_seen_at, count, last_run_id, tasks, actors, reopened_at)
    WHERE g.environment_id = u.environment_id AND g.id = u.id`);
}

/** Locked sightings, whose groups have them in their counts. */
export async function markCounted(tx: Tx, sightings: readonly Sighting[]): Promise<void> {
  await tx.query(sql`
    UPDATE error_group_runs s SET counted = true
    FROM unnest(
      ${sightings.map((one) => one.environmentId)}::uuid[], ${sightings.map((one) => one.errorGroupId)}::uuid[],
      ${sightings.map((one) => one.runId)}::uuid[]
    ) AS k (environment_id, error_group_id, run_id)
    WHERE s.environment_id = k.environment_id AND s.error_group_id = k.error_group_id AND s.run_id = k.run_id`);
}

/** Of a locked group. What it was resolved in is the version that new runs get. */
export async function writeErrorGroupStatus(
  tx: Tx,
  environmentId: Uuid<"env">,
  errorGroupId: Uuid<"err">,
  status: ErrorGroupStatus,
  resolvedAt: number | null,
): Promise<void> {
  const resolution =
    resolvedAt === null
      ? sql``
      : sql`, reopened_at = NULL, resolved_at = ${timestamp(resolvedAt)}, resolved_in_version = (
          SELECT d.version FROM environments v
          JOIN deployments d ON d.environment_id = v.id AND d.id = v.current_deployment_id
          WHERE v.id = ${environmentId})`;
  await tx.query(sql`
    UPDATE error_groups SET status = ${status}${resolution}
    WHERE environment_id = ${environmentId} AND id = ${errorGroupId}`);
}

/** Drops groups that nothing is still to be counted for. A failure of that kind makes the group again, under its id. */
export async function deleteErrorGroups(
  tx: Tx,
  environmentId: Uuid<"env">,
  errorGroupIds: readonly Uuid<"err">[],
): Promise<number> {
  const [row] = await tx.query<{ dropped: number }>(sql`
    WITH gone AS (
      DELETE FROM error_groups g WHERE g.environment_id = ${environmentId} AND g.id = ANY(${errorGroupIds}::uuid[])
        AND NOT EXISTS (
          SELECT FROM error_group_runs s
          WHERE s.environment_id = ${environmentId} AND s.error_group_id = g.id AND NOT s.counted
        )
      RETURNING 1
    )
    SELECT count(*) AS dropped FROM gone`);
  return row?.dropped ?? 0;
}
