import type { Uuid } from "@keelson/contract";
import { binaryTextArray } from "../../db/binary-text-array.ts";
import { joinByKey } from "../../db/join-by-key.ts";
import { isNullRefused } from "../../db/null-refused.ts";
import { sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import type { Queryable } from "../../db/queryable.ts";
import { firstShard, SHARDS } from "../count-shards.ts";
import { lendersOf } from "../workers/claimer-reads.ts";
import { groupInserts, type GroupedInserts, type RunInsert } from "./group-inserts.ts";
import { endIsAwaited, isPlain, isReadyAtBirth, type NewRun } from "./new-run.ts";

const picked = <T>(inserts: readonly RunInsert[], pick: (run: NewRun) => T): T[] =>
  inserts.map((insert) => pick(insert.run));

/**
 * Inserts runs with their live rows, counts and idempotency keys in one statement, and returns the ids
 * that were inserted. An id that is missing was refused by the statement itself: the deployment is no longer the
 * environment's current one, or the one that it pins was dropped, or its idempotency key is taken (a later look tells which).
 *
 * The join with `environments` stands for a foreign key: it also reads the pointer in the same snapshot.
 */
export async function insertRuns(db: Queryable, inserts: readonly RunInsert[]): Promise<Set<string>> {
  const batch = groupInserts(inserts);
  if (inserts.some(({ run }) => run.idempotency !== null)) {
    const rows = await db.query<{ id: Uuid<"run"> }>(insertKeyedStatement(batch));
    return new Set(rows.map((row) => row.id));
  }
  const rows = await db.query<{ first: number; last: number }>(insertStatement(batch));
  const inserted = new Set<string>();
  for (const { first, last } of rows)
    for (let n = first; n <= last; n += 1) inserted.add((batch.inserts[n - 1] as RunInsert).run.id);
  return inserted;
}

const tagsLiteral = (tags: string[]): string | null =>
  tags.length === 0 ? null : `{${tags.map((tag) => `"${tag.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;

/**
 * Deployments that runs are pinned to, locked against removal before they are believed. The current one needs no lock: it is
 * not dropped before it was another for longer than any statement takes.
 */
const heldOf = (pinned: readonly NewRun[]): Sql => sql`
  held AS MATERIALIZED (
    SELECT d.environment_id, d.id
    FROM (
      SELECT DISTINCT environment_id, deployment_id
      FROM unnest(${pinned.map((run) => run.environmentId)}::uuid[], ${pinned.map((run) => run.deploymentId)}::uuid[])
        AS k (environment_id, deployment_id)
    ) p
    JOIN environments v ON v.id = p.environment_id AND v.current_deployment_id IS DISTINCT FROM p.deployment_id
    JOIN deployments d ON d.environment_id = p.environment_id AND d.id = p.deployment_id
    ORDER BY d.environment_id, d.id FOR KEY SHARE OF d
  ), `;

/** What the runs of a group share is sent and read once; `first` and `last` are where the group is in the other arrays. */
const groupsOf = ({ groups }: GroupedInserts) => {
  const shared = <T>(pick: (run: NewRun) => T): T[] => groups.map(({ model }) => pick(model));
  const pinned = groups.map(({ model }) => model).filter((run) => run.pinned);
  const isHeld =
    pinned.length === 0
      ? sql`false`
      : sql`g.pinned AND EXISTS (SELECT 1 FROM held h WHERE h.environment_id = g.environment_id AND h.id = g.deployment_id)`;
  return sql`${pinned.length === 0 ? sql`` : heldOf(pinned)}
  groups AS MATERIALIZED (
    SELECT g.*, v.project_id, v.worker_group_id
    FROM unnest(
      ${groups.map(({ first }) => first)}::integer[], ${groups.map(({ last }) => last)}::integer[],
      ${shared((run) => run.environmentId)}::uuid[], ${shared((run) => run.entrypointKind)}::text[],
      ${shared((run) => run.entrypoint)}::text[], ${shared((run) => run.deploymentId)}::uuid[],
      ${shared((run) => run.deploymentVersion)}::text[], ${shared((run) => run.pinned)}::boolean[],
      ${shared((run) => run.queue)}::text[], ${shared((run) => run.priority)}::smallint[],
      ${shared((run) => run.retryText)}::text[], ${shared((run) => run.maxDurationMs)}::bigint[],
      ${shared((run) => run.limited)}::boolean[], ${shared(isReadyAtBirth)}::boolean[],
      ${shared((run) => run.clientVersion)}::text[], ${shared((run) => run.cliVersion)}::text[],
      ${shared((run) => run.sdkVersion)}::text[]
    ) AS g (first, last, environment_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, pinned, queue, priority,
      retry, max_duration_ms, limited, ready, client_version, cli_version, sdk_version)
    JOIN environments v ON v.id = g.environment_id AND (v.current_deployment_id = g.deployment_id OR ${isHeld})
  )`;
};

/** Most batches have no run with any of these, and pay nothing for those that do. */
const rareOf = (inserts: readonly RunInsert[]): Sql =>
  inserts.some(({ run }) => !isPlain(run))
    ? sql`
      unnest((${picked(inserts, (run) => run.metadata)}::text[])[g.first:g.last]) AS metadata,
      unnest((${picked(inserts, (run) => tagsLiteral(run.tags))}::text[])[g.first:g.last]) AS tags,
      unnest((${picked(inserts, (run) => run.concurrencyKey)}::text[])[g.first:g.last]) AS concurrency_key,
      unnest((${picked(inserts, (run) => run.startAt)}::float8[])[g.first:g.last]) AS start_at,
      unnest((${picked(inserts, (run) => run.expiresAt)}::float8[])[g.first:g.last]) AS expires_at,
      unnest((${picked(inserts, (run) => run.links.sessionId)}::uuid[])[g.first:g.last]) AS session_id,
      unnest((${picked(inserts, (run) => run.links.turn)}::integer[])[g.first:g.last]) AS turn,
      unnest((${picked(inserts, (run) => run.links.workspaceId)}::uuid[])[g.first:g.last]) AS workspace_id,
      unnest((${picked(inserts, (run) => run.links.scheduleId)}::uuid[])[g.first:g.last]) AS schedule_id,
      unnest((${picked(inserts, (run) => run.links.parentRunId)}::uuid[])[g.first:g.last]) AS parent_run_id,
      unnest((${picked(inserts, (run) => endIsAwaited(run.links))}::boolean[])[g.first:g.last]) AS end_awaited,
      unnest((${picked(inserts, (run) => run.requiredIsolation)}::text[])[g.first:g.last]) AS required_isolation`
    : sql`NULL::text AS metadata, NULL::text AS tags, NULL::text AS concurrency_key, NULL::float8 AS start_at,
      NULL::float8 AS expires_at, NULL::uuid AS session_id, NULL::integer AS turn, NULL::uuid AS workspace_id, NULL::uuid AS schedule_id,
      NULL::uuid AS parent_run_id, false AS end_awaited, NULL::text AS required_isolation`;

const hasLease = ({ lease }: RunInsert): boolean => lease !== null;

const leasesOf = (inserts: readonly RunInsert[]): Sql =>
  inserts.some(hasLease)
    ? sql`
      unnest((${inserts.map(({ lease }) => lease?.leaseId ?? null)}::uuid[])[g.first:g.last]) AS lease_id,
      unnest((${inserts.map(({ lease }) => lease?.workerId ?? null)}::uuid[])[g.first:g.last]) AS worker_id,
      unnest((${inserts.map(({ lease }) => lease?.leaseRequestId ?? null)}::text[])[g.first:g.last]) AS lease_request_id,
      unnest((${inserts.map(({ lease }) => lease?.expiresAt ?? null)}::float8[])[g.first:g.last]) AS lease_expires_at`
    : sql`NULL::uuid AS lease_id, NULL::uuid AS worker_id, NULL::text AS lease_request_id, NULL::float8 AS lease_expires_at`;

/**
 * The runs of the groups. An array that is unnested in the list of columns is read as it goes; in FROM each of them would
 * first be written into a store of its own, which was a third of the statement's time (measured).
 */
const runsOf = ({ inserts }: GroupedInserts): Sql => sql`
    SELECT g.environment_id, g.project_id, g.worker_group_id, g.entrypoint_kind, g.entrypoint, g.deployment_id,
      g.deployment_version, g.queue, g.priority, g.retry, g.max_duration_ms, g.limited, g.ready,
      g.client_version, g.cli_version, g.sdk_version,
      unnest((${picked(inserts, (run) => run.id)}::uuid[])[g.first:g.last]) AS id,
      unnest((${binaryTextArray(picked(inserts, (run) => run.payload))}::text[])[g.first:g.last]) AS payload,
      unnest((${picked(inserts, (run) => run.createdAt)}::bigint[])[g.first:g.last]) AS created_at,
      ${leasesOf(inserts)}, ${rareOf(inserts)}`;

/** The effects that both statements share, over a CTE `accepted`. */
const EFFECTS = sql`
  new_runs AS (
    INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, payload,
      metadata, tags, queue, concurrency_key, priority, retry, max_duration_ms, start_at, expires_at,
      session_id, turn, workspace_id, schedule_id, parent_run_id, client_version, cli_version, sdk_version, created_at)
    SELECT environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, payload,
      metadata, tags::text[], queue, concurrency_key, priority, retry, max_duration_ms, to_timestamp(start_at / 1000),
      to_timestamp(expires_at / 1000), session_id, turn, workspace_id, schedule_id, parent_run_id,
      client_version, cli_version, sdk_version, to_timestamp(created_at::float8 / 1000)
    FROM accepted
  ), new_executions AS (
    INSERT INTO executions (environment_id, run_id, worker_group_id, status, ready, priority, queue, concurrency_key, limited,
      admitted, available_at, expires_at, attempt_number, max_duration_ms, epoch, lease_id, worker_id, lease_expires_at,
      first_leased_at, event_sequence, end_awaited, workspace_id, required_isolation, updated_at)
    SELECT environment_id, id, worker_group_id, CASE WHEN worker_id IS NULL THEN 'queued' ELSE 'running' END,
      ready AND worker_id IS NULL, priority, queue, concurrency_key, limited, false,
      CASE WHEN start_at > created_at THEN to_timestamp(start_at / 1000) END,
      CASE WHEN worker_id IS NULL THEN to_timestamp(expires_at / 1000) END,
      CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END, max_duration_ms, CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END,
      lease_id, worker_id, to_timestamp(lease_expires_at / 1000),
      -- Created, queued and leased: events that these rows imply.
      CASE WHEN worker_id IS NOT NULL THEN to_timestamp(created_at::float8 / 1000) END, CASE WHEN worker_id IS NULL THEN 2 ELSE 3 END,
      end_awaited, workspace_id, required_isolation, to_timestamp(created_at::float8 / 1000)
    FROM accepted
  )`;

/** A row for each tag of each run. Most batches have no tags, and their statement is without it. */
const NEW_TAGS = sql`, new_tags AS (
    INSERT INTO run_tags (environment_id, tag, run_id)
    SELECT environment_id, unnest(tags::text[]), id FROM accepted WHERE tags IS NOT NULL
    ON CONFLICT DO NOTHING
  )`;

const effectsOf = ({ inserts }: GroupedInserts): Sql =>
  inserts.some(({ run }) => run.tags.length > 0) ? sql`${EFFECTS}${NEW_TAGS}` : EFFECTS;

const lendersFor = (inserts: readonly RunInsert[]): Sql =>
  lendersOf([...new Set(inserts.flatMap(({ lease }) => lease?.workerId ?? []))]);

/**
 * Counts and polls of a batch in which each run may be queued, leased or refused. A worker that gets no more work has no leases to
 * note, which the table refuses, and the statement with it.
 */
const countsByRun = ({ inserts }: GroupedInserts): Sql => sql`
  counted AS (
    INSERT INTO run_counts (environment_id, status, shard, count)
    SELECT environment_id, CASE WHEN worker_id IS NULL THEN 'queued' ELSE 'running' END, pg_backend_pid() % 64 + ${firstShard()}, count(*)
    FROM accepted GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count
  ), lenders AS (${lendersFor(inserts)}), polls AS (
    INSERT INTO lease_requests (worker_id, lease_request_id, lease_ids, leased_at)
    SELECT worker_id, lease_request_id,
      CASE WHEN EXISTS (SELECT FROM lenders l WHERE l.id = worker_id) THEN array_agg(lease_id) END, to_timestamp(max(created_at)::float8 / 1000)
    FROM accepted WHERE worker_id IS NOT NULL GROUP BY worker_id, lease_request_id
    ON CONFLICT (worker_id, lease_request_id) DO UPDATE SET lease_ids = lease_requests.lease_ids || excluded.lease_ids
  )`;

/** All runs of an accepted group are queued. */
const countsByGroup = (): Sql => sql`
  counted AS (
    INSERT INTO run_counts (environment_id, status, shard, count)
    SELECT environment_id, 'queued', pg_backend_pid() % 64 + ${firstShard()}, sum(last - first + 1)
    FROM groups GROUP BY 1 ORDER BY 1
    ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count
  )`;

const insertStatement = (batch: GroupedInserts) => sql`
  WITH ${groupsOf(batch)}, accepted AS NOT MATERIALIZED (${runsOf(batch)} FROM groups g), ${effectsOf(batch)},
  ${batch.inserts.some(hasLease) ? countsByRun(batch) : countsByGroup()}
  SELECT first, last FROM groups`;

/**
 * The same with idempotency keys. The insert of a key waits for a transaction that is inserting it and then gives way,
 * so of all concurrent starts with one key, on any replica, exactly one gets it. Keys are taken in one order everywhere.
 */
const insertKeyedStatement = (batch: GroupedInserts) => sql`
  WITH ${groupsOf(batch)}, valid AS (
    ${runsOf(batch)},
      unnest((${picked(batch.inserts, (run) => run.idempotency?.scope ?? null)}::text[])[g.first:g.last]) AS key_scope,
      unnest((${picked(batch.inserts, (run) => run.idempotency?.key ?? null)}::text[])[g.first:g.last]) AS key,
      unnest((${picked(batch.inserts, (run) => run.idempotency?.digest ?? null)}::bytea[])[g.first:g.last]) AS digest,
      unnest((${picked(batch.inserts, (run) => run.idempotency?.expiresAt ?? null)}::float8[])[g.first:g.last]) AS key_expires_at
    FROM groups g
  ), reserved AS (
    INSERT INTO idempotency_keys AS t (environment_id, scope, key, request_digest, resource_id, response_status, expires_at)
    SELECT environment_id, key_scope, key, digest, id, 201, to_timestamp(key_expires_at / 1000)
    FROM valid WHERE key IS NOT NULL ORDER BY environment_id, key_scope, key
    ON CONFLICT (environment_id, scope, key) DO UPDATE
      SET request_digest = excluded.request_digest, resource_id = excluded.resource_id, response_status = 201,
        response_body = NULL, expires_at = excluded.expires_at
      WHERE t.expires_at <= ${timestamp(Math.min(...picked(batch.inserts, (run) => run.createdAt)))}
    RETURNING resource_id
  ), accepted AS (
    SELECT v.* FROM valid v LEFT JOIN reserved r ON r.resource_id = v.id WHERE v.key IS NULL OR r.resource_id IS NOT NULL
  ), ${effectsOf(batch)}, ${countsByRun(batch)}
  SELECT id FROM accepted`;

/** Whether the statement was refused because a worker that it leases runs to gets no more work. */
export const isLenderGone = (error: unknown): boolean => isNullRefused(error, "lease_requests", "lease_ids");

/** The runs that hold these idempotency keys, and the digests of the requests that made them. */
export async function findKeyedRuns(
  db: Queryable,
  keys: readonly { environmentId: Uuid<"env">; scope: string; key: string }[],
): Promise<
  {
    environmentId: Uuid<"env">;
    scope: string;
    key: string;
    runId: Uuid<"run">;
    digest: Buffer;
    expiresAt: number;
  }[]
> {
  return db.query(sql`
    SELECT t.environment_id, t.scope, t.key, t.resource_id AS run_id, t.request_digest AS digest,
      t.expires_at
    FROM unnest(${keys.map((k) => k.environmentId)}::uuid[], ${keys.map((k) => k.scope)}::text[], ${keys.map((k) => k.key)}::text[])
      AS k (environment_id, scope, key)
    ${joinByKey("idempotency_keys", "t", sql`t.environment_id = k.environment_id AND t.scope = k.scope AND t.key = k.key`)}
    WHERE t.resource_id IS NOT NULL`);
}

/** Adds what is in later shards to the first ones. A row that a transaction changes just now stays for the next time. */
export async function foldCounts(db: Queryable): Promise<void> {
  await db.query(sql`
    WITH later AS (
      SELECT environment_id, status, shard FROM run_counts WHERE shard >= ${SHARDS}
      ORDER BY environment_id, status, shard FOR UPDATE SKIP LOCKED
    ), gone AS (
      DELETE FROM run_counts c USING later l
      WHERE c.environment_id = l.environment_id AND c.status = l.status AND c.shard = l.shard
      RETURNING c.environment_id, c.status, c.shard % ${SHARDS} AS shard, c.count
    )
    INSERT INTO run_counts (environment_id, status, shard, count)
    SELECT environment_id, status, shard, sum(count) FROM gone GROUP BY environment_id, status, shard
    ORDER BY environment_id, status, shard
    ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count`);
}
