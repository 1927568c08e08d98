import type { Queryable } from "../../db/queryable.ts";
import { rawSql, sql } from "../../db/sql.ts";
import type { FeedSource } from "./feed.ts";

/** `state`: what it was at the last look; null before the first. */
export type SeenSource = FeedSource & { state: string | null };

const IS_LIVE = `EXISTS (
  SELECT FROM executions e WHERE e.environment_id = s.environment_id AND e.run_id = s.current_run_id)::text`;

/**
 * How far each kind of feed has come, and whether it is over, as a text that is another when there is something to read.
 * Each is found by the key of its row.
 */
const STATE = rawSql(`CASE k.kind
  WHEN 'run' THEN coalesce(
    (SELECT concat_ws(' ', 'live', e.event_sequence, e.log_sequence) FROM executions e
      WHERE e.environment_id = k.environment_id AND e.run_id = k.id),
    (SELECT concat_ws(' ', 'ended', x.event_sequence, x.log_sequence) FROM run_results x
      WHERE x.environment_id = k.environment_id AND x.run_id = k.id))
  WHEN 'stream' THEN
    (SELECT concat_ws(' ', t.last_sequence, s.status, ${IS_LIVE})
      FROM streams t JOIN sessions s ON s.environment_id = t.environment_id AND s.id = t.session_id
      WHERE t.environment_id = k.environment_id AND t.id = k.id)
  WHEN 'session' THEN
    (SELECT concat_ws(' ', s.status, ${IS_LIVE}) FROM sessions s
      WHERE s.environment_id = k.environment_id AND s.id = k.id)
  WHEN 'process' THEN
    (SELECT concat_ws(' ', p.status, p.stdout_bytes, p.stderr_bytes) FROM processes p
      WHERE p.environment_id = k.environment_id AND p.id = k.id)
  WHEN 'deployment' THEN
    (SELECT concat_ws(' ', d.status, (SELECT max(v.sequence) FROM deployment_events v
        WHERE v.environment_id = d.environment_id AND v.deployment_id = d.id))
      FROM deployments d WHERE d.environment_id = k.environment_id AND d.id = k.id)
  END`);

/**
 * Those of which the state is another than at the last look, by their place in the list: one statement, however many they
 * are. What is gone has the state `gone`.
 */
export function findChangedSources(
  db: Queryable,
  sources: readonly SeenSource[],
): Promise<{ place: number; state: string }[]> {
  return db.query(sql`
    SELECT f.place::integer AS place, f.state FROM (
      SELECT k.place, k.seen, coalesce(${STATE}, 'gone') AS state
      FROM unnest(
        ${sources.map(({ kind }) => kind)}::text[],
        ${sources.map(({ environmentId }) => environmentId)}::uuid[],
        ${sources.map(({ id }) => id)}::uuid[],
        ${sources.map(({ state }) => state)}::text[]
      ) WITH ORDINALITY AS k (kind, environment_id, id, seen, place)
      OFFSET 0
    ) f WHERE f.state IS DISTINCT FROM f.seen`);
}
