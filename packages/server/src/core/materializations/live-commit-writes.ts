import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { USED_AGAIN_MS } from "./materialization.ts";

/** Digests are bytes; notes are JSON text. */
export type LiveCommit = {
  environmentId: Uuid<"env">;
  workspaceId: Uuid<"ws">;
  materializationId: Uuid<"mat">;
  workerId: Uuid<"wkr">;
  epoch: number;
  versionId: Uuid<"wsv">;
  parentVersionId: Uuid<"wsv">;
  causeKind: string;
  causeId: string | null;
  commitId: string;
  digest: Buffer;
  manifestDigest: Buffer;
  fileCount: number;
  sizeBytes: number;
  notes: string | null;
  /** All that the version needs, each once. */
  blobs: readonly Buffer[];
  /** Processes whose changes it has, and which have exited. */
  ended: readonly EndedProcess[];
  now: number;
};

export type EndedProcess = {
  id: Uuid<"exec" | "pty">;
  kind: "exec" | "pty";
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  error: string | null;
};

/**
 * Makes a stored tree the next version of a live workspace and ends the processes whose changes it has, in one statement:
 * somebody waits for the end, and a transaction takes nineteen round trips. Does the usual case and nothing in every other.
 *
 * The locks are those of `commitMaterialization` and `endCommitted`, in the same order, and what it decides by is compared
 * again under them. What the statement sees may be older than its lock, as the retention of versions has the same lock and
 * does not change the row: so no need of the workspace is taken for known here, and each is inserted again.
 */
export async function insertLiveCommit(
  db: Queryable,
  c: LiveCommit,
): Promise<{ number: number; createdAt: number } | null> {
  const { environmentId, ended } = c;
  const [row] = await db.query<{ number: number; createdAt: number }>(sql`
    WITH held AS (
      SELECT w.environment_id, w.id AS workspace_id, w.version_count + 1 AS number, m.id AS materialization_id
      FROM workspaces w
      JOIN workspace_versions v ON v.environment_id = w.environment_id AND v.id = w.current_version_id
      JOIN materializations m ON m.environment_id = w.environment_id AND m.workspace_id = w.id
      WHERE w.environment_id = ${environmentId} AND w.id = ${c.workspaceId} AND w.current_version_id = ${c.parentVersionId}
        AND v.digest <> ${c.digest} AND m.id = ${c.materializationId} AND m.epoch = ${c.epoch} AND m.worker_id = ${c.workerId}
        AND m.status = 'live'
      FOR NO KEY UPDATE OF w, m
    ), told AS (
      SELECT id, kind, exit_code, signal, timed_out, error
      FROM unnest(${ended.map((e) => e.id)}::uuid[], ${ended.map((e) => e.kind)}::text[], ${ended.map((e) => e.exitCode)}::integer[],
        ${ended.map((e) => e.signal)}::text[], ${ended.map((e) => e.timedOut)}::boolean[], ${ended.map((e) => e.error)}::text[])
        AS t (id, kind, exit_code, signal, timed_out, error)
    ), ending AS (
      SELECT p.id FROM told t JOIN processes p ON p.environment_id = ${environmentId} AND p.id = t.id AND p.kind = t.kind
      WHERE p.workspace_id = ${c.workspaceId} AND p.materialization_id = ${c.materializationId} AND p.status = 'running'
        AND EXISTS (SELECT FROM held)
      ORDER BY p.id FOR NO KEY UPDATE OF p
    ), stored AS (
      SELECT b.digest FROM unnest(${c.blobs}::bytea[]) AS n (digest)
      JOIN blobs b ON b.environment_id = ${environmentId} AND b.digest = n.digest
      WHERE b.size_bytes IS NOT NULL AND b.removing_since IS NULL AND EXISTS (SELECT FROM held)
      ORDER BY b.digest FOR SHARE OF b
    ), whole AS (
      SELECT h.* FROM held h
      WHERE (SELECT count(*) FROM ending) = ${ended.length} AND (SELECT count(*) FROM stored) = ${c.blobs.length}
    ), pointed AS (
      UPDATE workspaces w SET current_version_id = ${c.versionId}, version_count = w.version_count + 1,
        last_activity_at = greatest(w.last_activity_at, ${timestamp(c.now)}), updated_at = ${timestamp(c.now)}
      FROM whole h WHERE w.environment_id = h.environment_id AND w.id = h.workspace_id
    ), committed AS (
      UPDATE materializations m SET dirty = false, active_at = greatest(m.active_at, ${timestamp(c.now)})
      FROM whole h WHERE m.environment_id = h.environment_id AND m.id = h.materialization_id
        AND (m.dirty OR m.active_at < ${timestamp(c.now - USED_AGAIN_MS)})
    ), needed AS (
      INSERT INTO workspace_blobs (environment_id, workspace_id, digest)
      SELECT h.environment_id, h.workspace_id, s.digest FROM whole h CROSS JOIN stored s
      ON CONFLICT DO NOTHING
    ), inputs AS (
      DELETE FROM process_inputs i USING ending e, whole h WHERE i.environment_id = h.environment_id AND i.process_id = e.id
    ), controls AS (
      DELETE FROM process_controls o USING ending e, whole h WHERE o.environment_id = h.environment_id AND o.process_id = e.id
    ), ended AS (
      UPDATE processes p SET status = 'exited', awaits_run = false, exit_code = t.exit_code, signal = t.signal,
        timed_out = t.timed_out, error = t.error, version_id = ${c.versionId}, env = NULL, input_closed = true,
        finished_at = ${timestamp(c.now)}, updated_at = ${timestamp(c.now)}
      FROM ending e JOIN told t ON t.id = e.id CROSS JOIN whole h
      WHERE p.environment_id = h.environment_id AND p.id = e.id
    )
    INSERT INTO workspace_versions (environment_id, id, workspace_id, number, parent_version_id, cause_kind, cause_id, commit_id,
      digest, manifest_digest, file_count, size_bytes, notes, created_at)
    SELECT h.environment_id, ${c.versionId}::uuid, h.workspace_id, h.number, ${c.parentVersionId}::uuid, ${c.causeKind}::text,
      ${c.causeId}::text, ${c.commitId}::text, ${c.digest}::bytea, ${c.manifestDigest}::bytea, ${c.fileCount}::integer,
      ${c.sizeBytes}::bigint, ${c.notes}::text, ${timestamp(c.now)}
    FROM whole h
    RETURNING number, created_at`);
  return row ?? null;
}
