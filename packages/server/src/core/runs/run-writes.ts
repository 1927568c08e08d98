import { sql, type Sql } from "../../db/sql.ts";
import type { Queryable } from "../../db/queryable.ts";
import type { BornLease, NewRun } from "./new-run.ts";
import { endIsAwaited, isLinked, isReadyAtBirth } from "./new-run.ts";
import type { StoredEvent } from "../run-events/run-event.ts";

export type RunInsert = { run: NewRun; lease: BornLease | null };

const column = <T>(inserts: readonly RunInsert[], pick: (run: NewRun) => T): T[] =>
  inserts.map((insert) => pick(insert.run));

/** What a run's first transaction records: created, queued and, when a worker was waiting, leased. */
function birthEvents({ run, lease }: RunInsert): string {
  const t = run.createdAt;
  const events: StoredEvent[] = [
    { k: "run.created", t },
    { k: "run.queued", t },
  ];
  if (lease !== null) events.push({ k: "run.leased", t, a: 1 });
  return JSON.stringify(events);
}

/**
 * Inserts runs with their live rows, first events, counts and idempotency keys in one statement, and returns the ids
 * that were inserted. An id that is missing was refused by the statement itself: the deployment is no longer the
 * environment's current one, or its idempotency key is taken (a later look tells which).
 *
 * The join with `environments` stands for a foreign key: it also reads the pointer in the same snapshot.
 */
export async function insertRuns(db: Queryable, inserts: readonly RunInsert[]): Promise<Set<string>> {
  const source = sourceOf(inserts);
  const rows = await db.query<{ id: string }>(
    inserts.some((insert) => insert.run.idempotency !== null)
      ? insertKeyedStatement(inserts, source)
      : insertStatement(source),
  );
  return new Set(rows.map((row) => row.id));
}

const tagsLiteral = (tags: string[]): string | null =>
  tags.length === 0 ? null : `{${tags.map((tag) => `"${tag.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;

const inputOf = (inserts: readonly RunInsert[]) => sql`
  unnest(
    ${column(inserts, (run) => run.id)}::uuid[], ${column(inserts, (run) => run.environmentId)}::uuid[],
    ${column(inserts, (run) => run.entrypointKind)}::text[], ${column(inserts, (run) => run.entrypoint)}::text[],
    ${column(inserts, (run) => run.deploymentId)}::uuid[], ${column(inserts, (run) => run.deploymentVersion)}::text[],
    ${column(inserts, (run) => run.pinned)}::boolean[], ${column(inserts, (run) => run.payload)}::text[],
    ${column(inserts, (run) => run.metadata)}::text[], ${column(inserts, (run) => tagsLiteral(run.tags))}::text[],
    ${column(inserts, (run) => run.queue)}::text[], ${column(inserts, (run) => run.concurrencyKey)}::text[],
    ${column(inserts, (run) => run.priority)}::smallint[], ${column(inserts, (run) => run.retryText)}::text[],
    ${column(inserts, (run) => run.maxDurationMs)}::bigint[], ${column(inserts, (run) => run.startAt)}::float8[],
    ${column(inserts, (run) => run.expiresAt)}::float8[], ${column(inserts, (run) => run.limited)}::boolean[],
    ${column(inserts, isReadyAtBirth)}::boolean[], ${column(inserts, (run) => run.clientVersion)}::text[],
    ${column(inserts, (run) => run.cliVersion)}::text[], ${column(inserts, (run) => run.sdkVersion)}::text[],
    ${column(inserts, (run) => run.createdAt)}::float8[], ${inserts.map(birthEvents)}::text[],
    ${inserts.map((insert) => insert.lease?.leaseId ?? null)}::uuid[], ${inserts.map((insert) => insert.lease?.workerId ?? null)}::uuid[],
    ${inserts.map((insert) => insert.lease?.expiresAt ?? null)}::float8[]
  )`;

const INPUT_COLUMNS = sql`id, environment_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, pinned, payload,
    metadata, tags, queue, concurrency_key, priority, retry, max_duration_ms, start_at, expires_at, limited, ready,
    client_version, cli_version, sdk_version, created_at, events, lease_id, worker_id, lease_expires_at`;

/** Most batches have no run that belongs to anything, and pay nothing for those that do. */
type Source = { rows: Sql; links: Sql };

const NO_LINK_COLUMNS: Sql = sql`NULL::uuid AS session_id, NULL::integer AS turn, NULL::uuid AS workspace_id,
    NULL::uuid AS schedule_id, NULL::uuid AS parent_run_id, false AS end_awaited`;
const LINK_COLUMNS: Sql = sql`l.session_id, l.turn, l.workspace_id, l.schedule_id, l.parent_run_id, l.end_awaited`;

function sourceOf(inserts: readonly RunInsert[]): Source {
  const rows = sql`${inputOf(inserts)} AS i (${INPUT_COLUMNS})`;
  if (!inserts.some(({ run }) => isLinked(run.links))) return { rows, links: NO_LINK_COLUMNS };
  return {
    rows: sql`${rows} JOIN unnest(
      ${column(inserts, (run) => run.id)}::uuid[], ${column(inserts, (run) => run.links.sessionId)}::uuid[],
      ${column(inserts, (run) => run.links.turn)}::integer[], ${column(inserts, (run) => run.links.workspaceId)}::uuid[],
      ${column(inserts, (run) => run.links.scheduleId)}::uuid[], ${column(inserts, (run) => run.links.parentRunId)}::uuid[],
      ${column(inserts, (run) => endIsAwaited(run.links))}::boolean[]
    ) AS l (run_id, session_id, turn, workspace_id, schedule_id, parent_run_id, end_awaited) ON l.run_id = i.id`,
    links: LINK_COLUMNS,
  };
}

/** The effects that both statements share, over a CTE \`accepted\`. */
const EFFECTS = sql`
  new_runs AS (
    INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, payload,
      metadata, tags, queue, concurrency_key, priority, retry, max_duration_ms, start_at, expires_at,
      session_id, turn, workspace_id, schedule_id, parent_run_id, client_version, cli_version, sdk_version, created_at)
    SELECT environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, payload,
      metadata, tags::text[], queue, concurrency_key, priority, retry, max_duration_ms, to_timestamp(start_at / 1000),
      to_timestamp(expires_at / 1000), session_id, turn, workspace_id, schedule_id, parent_run_id,
      client_version, cli_version, sdk_version, to_timestamp(created_at / 1000)
    FROM accepted
  ), new_executions AS (
    INSERT INTO executions (environment_id, run_id, worker_group_id, status, ready, priority, queue, concurrency_key, limited,
      admitted, available_at, expires_at, attempt_number, max_duration_ms, epoch, lease_id, worker_id, lease_expires_at,
      event_sequence, end_awaited, workspace_id, updated_at)
    SELECT environment_id, id, worker_group_id, CASE WHEN worker_id IS NULL THEN 'queued' ELSE 'running' END,
      ready AND worker_id IS NULL, priority, queue, concurrency_key, limited, false,
      CASE WHEN start_at > created_at THEN to_timestamp(start_at / 1000) END,
      CASE WHEN worker_id IS NULL THEN to_timestamp(expires_at / 1000) END,
      CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END, max_duration_ms, CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END,
      lease_id, worker_id, to_timestamp(lease_expires_at / 1000), CASE WHEN worker_id IS NULL THEN 2 ELSE 3 END,
      end_awaited, workspace_id, to_timestamp(created_at / 1000)
    FROM accepted
  ), new_events AS (
    INSERT INTO run_events (environment_id, run_id, sequence, last_sequence, events)
    SELECT environment_id, id, 1, CASE WHEN worker_id IS NULL THEN 2 ELSE 3 END, events FROM accepted
  ), counted AS (
    INSERT INTO run_counts (environment_id, status, shard, count)
    SELECT environment_id, CASE WHEN worker_id IS NULL THEN 'queued' ELSE 'running' END, pg_backend_pid() % 64, count(*)
    FROM accepted GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count
  ), polls AS (
    UPDATE workers w SET leased_lease_ids = l.lease_ids, last_seen_at = l.at
    FROM (
      SELECT worker_id, array_agg(lease_id) AS lease_ids, to_timestamp(max(created_at) / 1000) AS at
      FROM accepted WHERE worker_id IS NOT NULL GROUP BY worker_id
    ) l
    WHERE w.id = l.worker_id
  )
  SELECT id FROM accepted`;

const insertStatement = ({ rows, links }: Source) => sql`
  WITH accepted AS (
    SELECT i.*, v.project_id, v.worker_group_id, ${links}
    FROM ${rows}
    JOIN environments v ON v.id = i.environment_id AND (i.pinned OR v.current_deployment_id = i.deployment_id)
  ), ${EFFECTS}`;

/**
 * The same with idempotency keys. The insert of a key waits for a transaction that is inserting it and then gives way,
 * so of all concurrent starts with one key, on any replica, exactly one gets it. Keys are taken in one order everywhere.
 */
const insertKeyedStatement = (inserts: readonly RunInsert[], { rows, links }: Source) => sql`
  WITH valid AS (
    SELECT i.*, v.project_id, v.worker_group_id, ${links}, k.scope AS key_scope, k.key, k.digest, k.key_expires_at
    FROM ${rows}
    JOIN unnest(
      ${column(inserts, (run) => run.id)}::uuid[], ${column(inserts, (run) => run.idempotency?.scope ?? null)}::text[],
      ${column(inserts, (run) => run.idempotency?.key ?? null)}::text[], ${column(inserts, (run) => run.idempotency?.digest ?? null)}::bytea[],
      ${column(inserts, (run) => run.idempotency?.expiresAt ?? null)}::float8[]
    ) AS k (run_id, scope, key, digest, key_expires_at) ON k.run_id = i.id
    JOIN environments v ON v.id = i.environment_id AND (i.pinned OR v.current_deployment_id = i.deployment_id)
  ), reserved AS (
    INSERT INTO idempotency_keys AS t (environment_id, scope, key, request_digest, resource_id, response_status, expires_at)
    SELECT environment_id, key_scope, key, digest, id, 201, to_timestamp(key_expires_at / 1000)
    FROM valid WHERE key IS NOT NULL ORDER BY environment_id, key_scope, key
    ON CONFLICT (environment_id, scope, key) DO UPDATE
      SET request_digest = excluded.request_digest, resource_id = excluded.resource_id, response_status = 201,
        response_body = NULL, expires_at = excluded.expires_at
      WHERE t.expires_at <= to_timestamp(${Math.min(...column(inserts, (run) => run.createdAt))}::float8 / 1000)
    RETURNING resource_id
  ), accepted AS (
    SELECT v.* FROM valid v LEFT JOIN reserved r ON r.resource_id = v.id WHERE v.key IS NULL OR r.resource_id IS NOT NULL
  ), ${EFFECTS}`;

/** The runs that hold these idempotency keys, and the digests of the requests that made them. */
export async function findKeyedRuns(
  db: Queryable,
  keys: readonly { environmentId: string; scope: string; key: string }[],
): Promise<
  { environmentId: string; scope: string; key: string; runId: string; digest: Buffer; expiresAt: number }[]
> {
  return db.query(sql`
    SELECT t.environment_id AS "environmentId", t.scope, t.key, t.resource_id AS "runId", t.request_digest AS digest,
      t.expires_at AS "expiresAt"
    FROM unnest(${keys.map((k) => k.environmentId)}::uuid[], ${keys.map((k) => k.scope)}::text[], ${keys.map((k) => k.key)}::text[])
      AS k (environment_id, scope, key)
    JOIN idempotency_keys t USING (environment_id, scope, key)
    WHERE t.resource_id IS NOT NULL`);
}
