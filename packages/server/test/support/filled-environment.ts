// An environment with a long history: every list of it is long, what is common is everywhere in it, and what is rare is
// far from where a list begins. Ids are UUIDv7 of their times, two a second, as runs of a real history are.

import { decodeId, encodeId, type Uuid } from "@keelson/contract";
import type { Database } from "../../src/db/pool.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import type { ApiServer } from "./api-server.ts";
import { firstOrganization } from "./tenancy.ts";

export type FillSize = { ended: number; live: number; others: number };

/** Of everything there is one, in the middle of its list. */
export type FilledEnvironment = {
  /** The id of the n-th thing, as PostgreSQL stores it. */
  idOf(n: number): string;
  createdAt(n: number): string;
  size: FillSize;
  /** Ids of the wire for the parameters of paths. */
  session: string;
  run: string;
  parentRun: string;
  organization: string;
  deployment: string;
  rareDeployment: string;
  errorGroup: string;
  rareErrorGroup: string;
  schedule: string;
  bulkAction: string;
  workspace: string;
  exec: string;
  pty: string;
};

/** As it is stored. */
const RETRY = JSON.stringify({
  maxAttempts: 1,
  initialDelayMs: 1_000,
  maxDelayMs: 1_000,
  factor: 2,
  jitter: true,
});

/** The n-th thing was made `n` half seconds after the beginning. */
const at = (startMs: number): string => `to_timestamp((${startMs}::bigint + n * 500) / 1000.0)`;
const id = (startMs: number, n = "n"): string =>
  `encode(decode(lpad(to_hex(${startMs}::bigint + (${n}) * 500), 12, '0') || '7000' || '8000' || lpad(to_hex(${n}), 12, '0'), 'hex'), 'hex')::uuid`;

/** @param userId who is a member of many organizations. */
export async function fillEnvironment(
  server: ApiServer,
  userId: string,
  size: FillSize,
): Promise<FilledEnvironment> {
  const { db } = server;
  const { ended, live, others } = size;
  const all = ended + live;
  const many = Math.floor(ended / 4);
  const startMs = Date.now() - all * 500 - 60_000;
  const environmentId = decodeId("env", server.credentials.environment_id) as Uuid<"env">;
  const projectId = decodeId("proj", server.credentials.project_id) as Uuid<"proj">;
  const organizationId = await firstOrganization(server);
  const [group] = await db.query<{ id: string }>(
    sql`SELECT worker_group_id AS id FROM environments WHERE id = ${environmentId}`,
  );
  const groupId = group?.id as string;
  const own = `'${environmentId}'::uuid`;
  const project = `'${projectId}'::uuid`;
  const organization = `'${organizationId}'::uuid`;
  const ids = id(startMs);
  const time = at(startMs);
  const idOf = (n: number): string => {
    const ms = (startMs + n * 500).toString(16).padStart(12, "0");
    return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
  };
  const series = (count: number): string => `generate_series(1, ${count}) AS n`;
  const middle = Math.floor(others / 2);
  const run = async (text: string): Promise<void> => {
    await db.transaction(
      async (tx) => {
        // Triggers of foreign keys are not what is measured.
        await tx.query(rawSql(text));
      },
      { durability: "relaxed", limitMs: 600_000 },
    );
  };
  const rare = (count: number): string => `n % ${Math.max(1, Math.floor(count / 5))} = 7`;

  const filling: Filling = {
    run,
    own,
    project,
    organization,
    ids,
    time,
    series,
    rare,
    middle,
    many,
    ended,
    all,
    others,
    groupId,
    userId,
    ofN: (n) => id(startMs, n),
  };
  await fillRuns(filling);
  await fillConversations(filling);
  await fillWorkspaces(filling);
  await fillPeople(filling);
  await analyze(db);

  return {
    idOf,
    createdAt: (n) => new Date(startMs + n * 500).toISOString(),
    size,
    ...namesOf(idOf, { ended, middle, organizationId }),
  };
}

type Names = Omit<FilledEnvironment, "idOf" | "createdAt" | "size">;

/** Ids of the wire. */
const namesOf = (
  idOf: (n: number) => string,
  { ended, middle, organizationId }: { ended: number; middle: number; organizationId: Uuid<"org"> },
): Names => ({
  session: encodeId("sess", idOf(middle)),
  run: encodeId("run", idOf(ended)),
  parentRun: encodeId("run", idOf(1)),
  organization: encodeId("org", organizationId),
  deployment: encodeId("dep", idOf(middle)),
  rareDeployment: encodeId("dep", idOf(3)),
  errorGroup: encodeId("err", idOf(1)),
  rareErrorGroup: encodeId("err", idOf(2)),
  schedule: encodeId("sched", idOf(middle)),
  bulkAction: encodeId("bulk", idOf(middle)),
  workspace: encodeId("ws", idOf(middle)),
  exec: encodeId("exec", idOf(2)),
  pty: encodeId("pty", idOf(1)),
});

/** What the statements are written from: expressions over `n`, and how many of a kind there are. */
type Filling = {
  run(text: string): Promise<void>;
  own: string;
  project: string;
  organization: string;
  ids: string;
  time: string;
  series(count: number): string;
  rare(count: number): string;
  middle: number;
  many: number;
  ended: number;
  all: number;
  others: number;
  groupId: string;
  userId: string;
  /** The id of another thing, by an expression of its number. */
  ofN(n: string): string;
};

async function fillRuns({
  run,
  own,
  project,
  ids,
  time,
  series,
  rare,
  middle,
  ended,
  all,
  others,
  groupId,
  ofN,
}: Filling): Promise<void> {
  // Runs: the oldest have ended, nearly all well; the newest live, nearly all queued. Of every kind there is a rare one.
  await run(`INSERT INTO bundles (environment_id, digest, size_bytes) SELECT ${own}, sha256('bundle'), 1`);
  await run(`
    INSERT INTO deployments (environment_id, id, project_id, version, status, api_version, bundle_format_version,
      worker_protocol_version, bundle_digest, bundle_size_bytes, manifest, created_at)
    SELECT ${own}, ${ids}, ${project}, 'v' || n, CASE WHEN ${rare(others)} THEN 'failed' ELSE 'ready' END, '2026-12-01', 1, 1, sha256('bundle'), 1,
      '{"tasks":[],"actors":[],"queues":[],"sandboxes":[],"schedules":[]}', ${time}
    FROM ${series(others)}`);
  await run(`
    INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, tags, queue,
      priority, retry, session_id, turn, schedule_id, parent_run_id, created_at)
    SELECT ${own}, ${ids}, ${project}, CASE WHEN n % 1000 = 1 THEN 'actor' ELSE 'task' END,
      CASE WHEN n % 1000 = 1 THEN 'chat' WHEN ${rare(ended)} THEN 'rare' ELSE 'common' END,
      CASE WHEN ${rare(ended)} THEN ${ofN("3")} ELSE ${ofN(String(middle))} END, 'v1',
      CASE WHEN ${rare(ended)} THEN '{common,rare}'::text[] WHEN n % 2 = 0 THEN '{common}'::text[] END, 'default', CASE WHEN ${rare(ended)} THEN 7 ELSE 0 END, '${RETRY}',
      CASE WHEN n % 50 = 0 THEN ${ofN("n / 50 % " + others + " + 1")} WHEN n % 50 = 1 THEN ${ofN(String(middle))} END,
      CASE WHEN n % 50 < 2 THEN 1 END, CASE WHEN n % 20 = 3 THEN ${ofN(String(middle))} END,
      CASE WHEN n % 20 = 4 THEN ${ofN("1")} END, ${time}
    FROM ${series(all)}`);
  await run(`
    INSERT INTO run_results (environment_id, run_id, status, attempt_number, finished_at, epoch, applied_sequence, log_sequence,
      stdout_bytes, stderr_bytes, event_sequence)
    SELECT ${own}, ${ids}, CASE WHEN ${rare(ended)} THEN 'expired' WHEN n % 20 = 5 THEN 'failed' WHEN n % 100 = 6 THEN 'cancelled'
      WHEN n % 1000 = 8 THEN 'system_failed' ELSE 'succeeded' END,
      1, ${time}, 1, 1, 0, 0, 0, 3
    FROM ${series(ended)}`);
  const group = `CASE WHEN n % 1000 = 8 THEN ${ofN("2")} ELSE ${ofN("1")} END`;
  await run(`
    UPDATE run_results SET error_group_id = ${group} FROM ${series(ended)} WHERE run_id = ${ids} AND (n % 20 = 5 OR n % 1000 = 8)`);
  await run(`
    INSERT INTO error_group_runs (environment_id, error_group_id, run_id, seen_at, counted)
    SELECT ${own}, ${group}, ${ids}, ${time}, true FROM ${series(ended)} WHERE n % 20 = 5 OR n % 1000 = 8`);
  await run(`
    INSERT INTO executions (environment_id, run_id, worker_group_id, status, ready, priority, queue, limited, admitted, available_at,
      attempt_number, epoch, lease_id, worker_id, lease_expires_at, event_sequence, updated_at)
    SELECT ${own}, ${ids}, '${groupId}', status, status = 'queued', 0, 'default', false, false,
      CASE WHEN status = 'retry_delayed' THEN now() + interval '1 day' END, 1, 1,
      CASE WHEN status IN ('running', 'cancel_requested') THEN ${ofN("1")} END,
      CASE WHEN status IN ('running', 'cancel_requested') THEN ${ofN("1")} END,
      CASE WHEN status IN ('running', 'cancel_requested') THEN now() + interval '1 day' END, 2, ${time}
    FROM (SELECT n, CASE WHEN n - ${ended} < 40 THEN 'running' WHEN n - ${ended} < 60 THEN 'waiting' WHEN n - ${ended} < 70 THEN 'retry_delayed'
      WHEN n - ${ended} < 80 THEN 'cancel_requested' ELSE 'queued' END AS status FROM generate_series(${ended + 1}, ${all}) AS n) l`);
  await run(`
    INSERT INTO run_events (environment_id, run_id, sequence, last_sequence, events)
    SELECT ${own}, ${ofN(String(ended))}, n, n, '[{"k":"run.queued","t":0}]' FROM ${series(others)}`);
  await run(`
    INSERT INTO run_logs (environment_id, run_id, sequence, attempt_number, stream, data, at)
    SELECT ${own}, ${ofN(String(ended))}, n, 1, 'stdout', 'line', ${time} FROM ${series(others)}`);
  await run(`
    INSERT INTO deployment_events (environment_id, deployment_id, sequence, kind, message, at)
    SELECT ${own}, ${ofN(String(middle))}, n, 'created', 'made', ${time} FROM ${series(others)}`);
}

async function fillConversations({
  run,
  own,
  project,
  ids,
  time,
  series,
  rare,
  middle,
  many,
  ended,
  others,
  ofN,
}: Filling): Promise<void> {
  await run(`
    INSERT INTO tokens (environment_id, id, project_id, status, timeout_at, tags, run_id, public_digest, callback_digest, data, data_digest,
      completed_at, created_at, updated_at)
    SELECT ${own}, ${ids}, ${project}, status, now() + interval '1 day', CASE WHEN ${rare(many)} THEN '{common,rare}'::text[] ELSE '{common}'::text[] END,
      CASE WHEN n % 20 = 3 THEN ${ofN(String(ended))} END, sha256(int8send(n)), sha256(int8send(-n)),
      CASE WHEN status = 'completed' THEN '1' END, CASE WHEN status = 'completed' THEN sha256('1') END,
      CASE WHEN status = 'completed' THEN now() END, ${time}, now()
    FROM (SELECT n, CASE WHEN ${rare(many)} THEN 'pending' WHEN n % 100 = 8 THEN 'cancelled' WHEN n % 1000 = 9 THEN 'expired' ELSE 'completed' END AS status
      FROM ${series(many)}) t`);
  await run(`
    INSERT INTO sessions (environment_id, id, project_id, external_id, entrypoint_kind, entrypoint, status, current_run_id, turn, start_options,
      tags, closed_at, created_at, updated_at)
    SELECT ${own}, ${ids}, ${project}, CASE WHEN n = ${middle} THEN 'one' WHEN n % 10 = 3 AND status <> 'open' THEN 'mine' WHEN n % 10 = 4 THEN 'own-' || n END,
      CASE WHEN n % 2 = 0 THEN 'actor' ELSE 'task' END,
      CASE WHEN n % 2 = 0 THEN 'chat' WHEN ${rare(many)} THEN 'rare' ELSE 'common' END, status, ${ofN(String(ended))}, 1, '{}',
      CASE WHEN ${rare(many)} THEN '{common,rare}'::text[] WHEN n % 2 = 0 THEN '{common}'::text[] END,
      CASE WHEN status <> 'open' THEN now() END, ${time}, now()
    FROM (SELECT n, CASE WHEN ${rare(many)} THEN 'open' WHEN n % 1000 = 8 THEN 'failed' WHEN n % 1000 = 9 THEN 'cancelled'
      WHEN n % 1000 = 10 THEN 'expired' ELSE 'closed' END AS status FROM ${series(many)}) s`);
  await run(`
    INSERT INTO streams (environment_id, id, session_id, name, direction, last_sequence, gate, created_at)
    SELECT ${own}, ${ids}, ${ofN(String(middle))}, CASE n WHEN 1 THEN 'in' WHEN 2 THEN 'out' ELSE 's' || n END,
      CASE WHEN n % 2 = 1 THEN 'input' ELSE 'output' END, ${others}, 'ended', ${time} FROM ${series(others)}`);
  await run(`
    INSERT INTO stream_records (environment_id, stream_id, sequence, id, data, correlation_id, source_kind, created_at)
    SELECT ${own}, CASE s WHEN 1 THEN ${ofN("1")} ELSE ${ofN("2")} END, n, ${ids}, '1',
      CASE WHEN ${rare(others)} THEN 'rare' WHEN n % 2 = 0 THEN 'common' END, 'api', ${time}
    FROM ${series(others)}, generate_series(1, 2) AS s`);
  await run(`
    INSERT INTO messages (environment_id, id, session_id, stream_id, run_id, attempt_number, epoch, status, first_sequence,
      last_sequence, created_at, ended_at)
    SELECT ${own}, ${ids}, ${ofN(String(middle))}, ${ofN("2")}, ${ids}, 1, 1, CASE WHEN ${rare(others)} THEN 'open' ELSE 'complete' END,
      n, CASE WHEN ${rare(others)} THEN NULL ELSE n END, ${time}, CASE WHEN ${rare(others)} THEN NULL ELSE ${time} END
    FROM ${series(others)}`);
  await run(`
    INSERT INTO blobs (environment_id, digest, size_bytes, touched_at, candidate)
    SELECT ${own}, sha256(int8send(-n)), 1, now(), false FROM ${series(others)}`);
  await run(`
    INSERT INTO session_files (environment_id, session_id, id, digest, size_bytes, media_type, created_at)
    SELECT ${own}, ${ofN(String(middle))}, ${ids}, sha256(int8send(-n)), 1, 'image/png', ${time} FROM ${series(others)}`);
}

async function fillWorkspaces({
  run,
  own,
  project,
  ids,
  time,
  series,
  rare,
  middle,
  others,
  ofN,
}: Filling): Promise<void> {
  await run(`
    INSERT INTO schedules (environment_id, id, project_id, type, deduplication_key, external_id, task, cron, timezone, options, status, created_at, updated_at)
    SELECT ${own}, ${ids}, ${project}, CASE WHEN ${rare(others)} THEN 'declarative' ELSE 'imperative' END, 'key-' || n,
      CASE WHEN n % 10 = 3 THEN 'mine' WHEN n % 10 = 4 THEN 'own-' || n END, CASE WHEN ${rare(others)} THEN 'rare' ELSE 'common' END, '0 0 * * *', 'UTC', '{}',
      'inactive', ${time}, now() FROM ${series(others)}`);
  await run(`
    INSERT INTO bulk_actions (environment_id, id, project_id, action, status, run_filter, matched, more_matched, next_batch_at, created_by_kind,
      created_by_id, created_at, ended_at)
    SELECT ${own}, ${ids}, ${project}, 'cancel', 'completed', '{}', 0, false, ${time}, 'api_key', ${ids}, ${time}, ${time} FROM ${series(others)}`);
  await run(`
    INSERT INTO bulk_action_items (environment_id, bulk_action_id, run_id, outcome, created_at)
    SELECT ${own}, ${ofN(String(middle))}, ${ids}, 'cancelled', ${time} FROM ${series(others)}`);
  await run(`
    INSERT INTO schedule_occurrences (environment_id, schedule_id, scheduled_at, status, reason, created_at)
    SELECT ${own}, ${ofN(String(middle))}, ${time}, 'skipped', 'missed', ${time} FROM ${series(others)}`);
  await run(`
    INSERT INTO secrets (environment_id, id, project_id, name, status, version, created_at, updated_at)
    SELECT ${own}, ${ids}, ${project}, 'SECRET_' || n, 'active', 1, ${time}, now() FROM ${series(others)}`);
  await run(`
    INSERT INTO workspaces (environment_id, id, project_id, external_id, sandbox, sandbox_spec, status, current_version_id, version_count, tags,
      last_activity_at, created_at, updated_at)
    SELECT ${own}, ${ids}, ${project}, CASE WHEN n % 10 = 4 THEN 'own-' || n END, CASE WHEN ${rare(others)} THEN 'rare' ELSE 'default' END, '{}',
      'active', ${ids}, 1, CASE WHEN ${rare(others)} THEN '{common,rare}'::text[] ELSE '{common}'::text[] END, now(), ${time}, now()
    FROM ${series(others)}`);
  await run(`
    INSERT INTO workspace_versions (environment_id, id, workspace_id, number, cause_kind, digest, manifest_digest, file_count, size_bytes, created_at)
    SELECT ${own}, ${ids}, ${ofN(String(middle))}, n, 'create', sha256('tree'), sha256('manifest'), 0, 0, ${time} FROM ${series(others)}`);
  await run(`
    INSERT INTO processes (environment_id, id, workspace_id, kind, status, cwd, env_names, stdout_bytes, stderr_bytes, exit_code, finished_at, created_at, updated_at)
    SELECT ${own}, ${ids}, ${ofN(String(middle))}, CASE WHEN n % 2 = 0 THEN 'exec' ELSE 'pty' END, 'exited', '/', '{}', ${others} * 4, ${others} * 4, 0, now(), ${time}, now()
    FROM ${series(others)}`);
  await run(`
    INSERT INTO process_outputs (environment_id, process_id, stream, position, data, at)
    SELECT ${own}, CASE p WHEN 1 THEN ${ofN("1")} ELSE ${ofN("2")} END, stream, (n - 1) * 4, 'line', ${time}
    FROM ${series(others)}, generate_series(1, 2) AS p, unnest('{stdout,stderr}'::text[]) AS stream`);
}

async function fillPeople({
  run,
  own,
  project,
  organization,
  ids,
  time,
  series,
  rare,
  others,
  groupId,
  userId,
}: Filling): Promise<void> {
  for (const one of ["run", "session", "token", "workspace"])
    await run(`
      INSERT INTO ${one}_tags (environment_id, tag, ${one}_id)
      SELECT environment_id, unnest(tags), id FROM ${one}s WHERE tags IS NOT NULL`);

  // Who there is.
  await run(`
    INSERT INTO users (id, email, name) SELECT ${ids}, 'person-' || n || '@example.com', 'Person' FROM ${series(others)}`);
  await run(
    `INSERT INTO organizations (id, name, slug) SELECT ${ids}, 'Organization', 'organization-' || n FROM ${series(others)}`,
  );
  await run(
    `INSERT INTO members (organization_id, user_id, role) SELECT ${ids}, '${userId}', 'viewer' FROM ${series(others)}`,
  );
  await run(
    `INSERT INTO members (organization_id, user_id, role) SELECT ${organization}, ${ids}, 'viewer' FROM ${series(others)}`,
  );
  await run(`
    INSERT INTO invitations (digest, id, organization_id, email, role, expires_at, created_at, updated_at)
    SELECT sha256(int8send(n)), ${ids}, ${organization}, 'guest-' || n || '@example.com', 'viewer', now() + interval '1 day', ${time}, now() FROM ${series(others)}`);
  await run(`
    INSERT INTO projects (id, organization_id, name, slug) SELECT ${ids}, ${organization}, 'Project', 'project-' || n FROM ${series(others)}`);
  await run(`
    INSERT INTO environments (id, project_id, name, slug, worker_group_id)
    SELECT ${ids}, ${project}, 'Environment', 'environment-' || n, '${groupId}' FROM ${series(others)}`);
  await run(`
    INSERT INTO api_keys (digest, id, environment_id, name, permissions)
    SELECT sha256(int8send(n)), ${ids}, ${own}, 'key', '{runs.read}' FROM ${series(others)}`);
  await run(`
    INSERT INTO oauth_clients (id, redirect_uris, created_at, kept_until) SELECT ${ids}, '{}', now(), now() FROM ${series(others)}`);
  await run(`
    INSERT INTO oauth_grants (id, client_id, user_id, environment_id, access, generation, generation_began_at, created_at, expires_at, revoked_at)
    SELECT ${ids}, ${ids}, '${userId}', ${own}, 'read', 1, now(), now(), now() + interval '1 day', CASE WHEN n % 50 > 0 THEN now() END
    FROM ${series(others)}`);
  await run(`
    INSERT INTO audit_events (chain_id, sequence, id, action, actor_id, resource_id, content, digest)
    SELECT ${organization}, n + 1000, ${ids}, CASE WHEN ${rare(others)} THEN 'member.remove' ELSE 'api_key.create' END,
      CASE WHEN ${rare(others)} THEN 'user_rare' ELSE 'user_common' END, CASE WHEN ${rare(others)} THEN 'key_rare' ELSE 'key_common' END,
      '{}', sha256('event') FROM ${series(others)}`);
}

async function analyze(db: Database): Promise<void> {
  // Also makes the visibility map, without which an index alone is never enough.
  await db.maintain(sql`VACUUM (ANALYZE)`);
}
