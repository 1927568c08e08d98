import { sql, type Sql } from "../../db/sql.ts";
import { distinctGroups } from "../error-groups/error-group.ts";
import type { Change } from "./execution.ts";

type Ended = Pick<Change, "execution" | "errorGroup"> & { ending: { at: number } };

/**
 * CTEs that put failed runs, of which there is at least one, into their groups. A group that is there is looked at and not
 * locked: transactions wait for each other only where both make the same group, and they make groups in the order of their keys.
 */
export function sightingParts(ended: readonly Ended[]): Sql[] {
  const failed = ended.flatMap(({ execution, errorGroup, ending: { at } }) =>
    errorGroup === null ? [] : [{ execution, errorGroup, at }],
  );
  const made = distinctGroups(
    failed.map(({ errorGroup, execution, at }) => ({ ...errorGroup, runId: execution.runId, at })),
  );
  return [
    sql`error_groups_made AS (
    INSERT INTO error_groups (environment_id, id, kind, title, message, frame, status, first_seen_at, last_seen_at, count, last_run_id)
    SELECT environment_id, id, kind, title, message, frame, 'open', to_timestamp(at / 1000), to_timestamp(at / 1000), 0, run_id
    FROM unnest(
      ${made.map((group) => group.environmentId)}::uuid[], ${made.map((group) => group.id)}::uuid[],
      ${made.map((group) => group.kind)}::text[], ${made.map((group) => group.title)}::text[],
      ${made.map((group) => group.message)}::text[], ${made.map((group) => group.frame)}::text[],
      ${made.map((group) => group.runId)}::uuid[], ${made.map((group) => group.at)}::float8[]
    ) AS g (environment_id, id, kind, title, message, frame, run_id, at)
    ON CONFLICT (environment_id, id) DO NOTHING
  )`,
    sql`
  sighted AS (
    INSERT INTO error_group_runs (environment_id, error_group_id, run_id, seen_at, counted)
    SELECT environment_id, error_group_id, run_id, to_timestamp(at / 1000), false
    FROM unnest(
      ${failed.map(({ execution }) => execution.environmentId)}::uuid[], ${failed.map(({ errorGroup }) => errorGroup.id)}::uuid[],
      ${failed.map(({ execution }) => execution.runId)}::uuid[], ${failed.map(({ at }) => at)}::float8[]
    ) AS s (environment_id, error_group_id, run_id, at)
  )`,
  ];
}
