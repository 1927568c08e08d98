import type { Uuid } from "@keelson/contract";
import { CLOCK_LEAD_MS } from "../../clock.ts";
import { joinByKey, lockByKey } from "../../db/join-by-key.ts";
import type { Queryable, Tx } from "../../db/queryable.ts";
import { joinSql, sql, type Sql } from "../../db/sql.ts";
import { timestamp } from "../../db/timestamp.ts";
import { firstShard } from "../count-shards.ts";
import { MAX_LEASE_MS } from "../workers/worker.ts";
import { eventsToStore, type EventRow } from "../run-events/run-event.ts";
import type {
  Added,
  Change,
  Execution,
  ExecutionKey,
  NewJournalEntry,
  NewLogChunk,
  RowVersion,
} from "./execution.ts";
import { amongRuns } from "./execution-reads.ts";
import { sightingParts } from "./sighting-writes.ts";

type CountDelta = { environmentId: Uuid<"env">; status: string; delta: number };

function countDeltas(changes: readonly Change[]): CountDelta[] {
  const deltas = new Map<string, CountDelta>();
  const add = (environmentId: Uuid<"env">, status: string, delta: number): void => {
    const key = `${environmentId} ${status}`;
    const entry = deltas.get(key);
    if (entry === undefined) deltas.set(key, { environmentId, status, delta });
    else entry.delta += delta;
  };
  for (const { execution, statusBefore, ending } of changes) {
    const after = ending?.status ?? execution.status;
    if (after === statusBefore) continue;
    add(execution.environmentId, statusBefore, -1);
    add(execution.environmentId, after, 1);
  }
  return [...deltas.values()]
    .filter((entry) => entry.delta !== 0)
    .sort((a, b) => (a.environmentId + a.status < b.environmentId + b.status ? -1 : 1));
}

/**
 * Writes what the operations of one transaction decided, whatever their number, in one statement: live rows updated,
 * ended ones replaced by their results, events, log chunks and counts. The rows are locked by this transaction. Parts
 * without rows are left out, so a few texts are prepared for the mixes that occur.
 */
export async function writeChanges(tx: Tx, changes: readonly Change[], added: Added = {}): Promise<void> {
  const parts = partsOf(changes, added, ALWAYS);
  if (parts.length > 0) await tx.send(sql`WITH ${joinSql(parts, ", ")} SELECT 1`);
}

/** @param when the condition under which anything is written */
function partsOf(changes: readonly Change[], { logs = [], journal = [] }: Added, when: Sql): Sql[] {
  const live = changes.filter((change) => change.ending === null);
  const ended = changes.filter(hasEnded);
  const eventful = changes.filter((change) => change.events.length > 0);
  for (const change of eventful) change.execution.eventSequence += change.events.length;
  const events = eventful.flatMap(toEventRows);
  const deltas = countDeltas(changes);
  return [
    ...(live.length > 0 ? [updateLive(live, when)] : []),
    ...(ended.length > 0 ? [insertEnded(ended, when)] : []),
    ...(ended.some(({ execution }) => execution.endAwaited) ? [insertAwaited(ended, when)] : []),
    ...(ended.some(({ execution }) => execution.waitCount > 0) ? [cancelWaits(ended, when)] : []),
    ...(journal.length > 0 ? [journalPart(journal, when)] : []),
    ...(events.length > 0 ? [insertEvents(events, when)] : []),
    ...(logs.length > 0 ? [insertLogs(logs, when)] : []),
    ...(deltas.length > 0 ? [addCounts(deltas, when)] : []),
    ...(ended.some(({ errorGroup }) => errorGroup !== null) ? sightingParts(ended) : []),
  ];
}

const ALWAYS = sql`true`;

/** Of the statement that has the CTE `unchanged`. */
const UNCHANGED = sql`(SELECT holds FROM unchanged)`;

/**
 * The same in one statement that is a transaction by itself, for changes that were decided on rows that nobody has locked since: it
 * locks them, and writes nothing when one is not as it was.
 *
 * @param versions of the rows, as they were decided on
 * @returns the version of the rows that are left; null when nothing was written
 */
export async function writeIfUnchanged(
  db: Queryable,
  changes: readonly Change[],
  added: Added,
  versions: ReadonlyMap<Uuid<"run">, RowVersion>,
): Promise<RowVersion | null> {
  const keys = changes.map(({ execution }) => execution).sort(byKey);
  const parts = [lockUnchanged(keys, versions), ...partsOf(changes, added, UNCHANGED)];
  const [row] = await db.query<{ version: RowVersion | null }>(sql`
    WITH ${joinSql(parts, ", ")}
    SELECT CASE WHEN ${UNCHANGED} THEN pg_current_xact_id()::xid::text END AS version`);
  return row?.version ?? null;
}

const lockUnchanged = (
  keys: readonly ExecutionKey[],
  versions: ReadonlyMap<Uuid<"run">, RowVersion>,
): Sql => sql`
  unchanged AS MATERIALIZED (
    SELECT count(*) = ${keys.length} AS holds FROM (
      SELECT FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[],
        ${keys.map((key) => versions.get(key.runId) ?? null)}::xid[]) AS k (environment_id, run_id, version)
      ${lockByKey("FOR UPDATE", "executions", "x", sql`x.environment_id = k.environment_id AND x.run_id = k.run_id AND x.xmin = k.version`, "1")}
    ) r
  )`;

const byKey = (a: ExecutionKey, b: ExecutionKey): number =>
  `${a.environmentId} ${a.runId}` < `${b.environmentId} ${b.runId}` ? -1 : 1;

type EndedChange = Change & { ending: NonNullable<Change["ending"]> };
const hasEnded = (change: Change): change is EndedChange => change.ending !== null;

const NOTHING: Sql = sql``;

/** Columns that only runs with durable calls or setbacks change: what is assigned, the values, and their names. */
type MoreColumns = { assignments: Sql; values: Sql; names: Sql };
const NO_MORE: MoreColumns = { assignments: NOTHING, values: NOTHING, names: NOTHING };

const durableColumns = (live: readonly Execution[]): MoreColumns => ({
  assignments: sql`, end_awaited = u.end_awaited, journal_sequence = u.journal_sequence, journal_bytes = u.journal_bytes,
      wait_count = u.wait_count, active_ms = u.active_ms, resumed_at = to_timestamp(u.resumed_at / 1000), setbacks = u.setbacks`,
  values: sql`, ${live.map((e) => e.endAwaited)}::boolean[], ${live.map((e) => e.journalSequence)}::integer[],
      ${live.map((e) => e.journalBytes)}::integer[], ${live.map((e) => e.waitCount)}::integer[],
      ${live.map((e) => e.activeMs)}::bigint[], ${live.map((e) => e.resumedAt)}::float8[],
      ${live.map((e) => e.setbacks)}::smallint[]`,
  names: sql`, end_awaited, journal_sequence, journal_bytes, wait_count, active_ms, resumed_at, setbacks`,
});

/**
 * Each row is looked up by its key and joined by its place: a join by the key would be planned as a comparison of each row
 * with each entry of the list. That no row has moved since is sure, because this transaction has locked them.
 */
function updateLive(changes: readonly Change[], when: Sql): Sql {
  const live = changes.map((change) => change.execution);
  const more = changes.some((change) => change.durable) ? durableColumns(live) : NO_MORE;
  return sql`
  updated AS (
    UPDATE executions e SET status = u.status, ready = u.ready, admitted = u.admitted,
      available_at = to_timestamp(u.available_at / 1000), expires_at = to_timestamp(u.expires_at / 1000),
      attempt_started_at = to_timestamp(u.attempt_started_at / 1000), started_at = to_timestamp(u.started_at / 1000),
      deadline_at = to_timestamp(u.deadline_at / 1000), worker_id = u.worker_id,
      lease_expires_at = CASE WHEN u.worker_id IS NOT NULL THEN e.lease_expires_at END,
      applied_sequence = u.applied_sequence, recovering = u.recovering,
      cancel_requested_at = to_timestamp(u.cancel_requested_at / 1000), event_sequence = u.event_sequence,
      log_sequence = u.log_sequence, stdout_bytes = u.stdout_bytes, stderr_bytes = u.stderr_bytes, metadata = u.metadata,
      updated_at = now()${more.assignments}
    FROM unnest(
      ${live.map((e) => e.environmentId)}::uuid[], ${live.map((e) => e.runId)}::uuid[], ${live.map((e) => e.status)}::text[],
      ${live.map((e) => e.ready)}::boolean[], ${live.map((e) => e.admitted)}::boolean[], ${live.map((e) => e.availableAt)}::float8[],
      ${live.map((e) => e.expiresAt)}::float8[], ${live.map((e) => e.attemptStartedAt)}::float8[],
      ${live.map((e) => e.startedAt)}::float8[], ${live.map((e) => e.deadlineAt)}::float8[], ${live.map((e) => e.workerId)}::uuid[],
      ${live.map((e) => e.appliedSequence)}::integer[], ${live.map((e) => e.recovering)}::boolean[],
      ${live.map((e) => e.cancelRequestedAt)}::float8[], ${live.map((e) => e.eventSequence)}::integer[],
      ${live.map((e) => e.logSequence)}::integer[], ${live.map((e) => e.stdoutBytes)}::bigint[],
      ${live.map((e) => e.stderrBytes)}::bigint[], ${live.map((e) => e.metadata)}::text[]${more.values}
    ) AS u (environment_id, run_id, status, ready, admitted, available_at, expires_at, attempt_started_at, started_at,
      deadline_at, worker_id, applied_sequence, recovering, cancel_requested_at, event_sequence, log_sequence, stdout_bytes,
      stderr_bytes, metadata${more.names})
    ${joinByKey("executions", "x", sql`x.environment_id = u.environment_id AND x.run_id = u.run_id`, "ctid AS place")}
    WHERE e.ctid = x.place AND ${when}
  )`;
}

/** The column that only failed runs have. */
const groupColumn = (ended: readonly EndedChange[]): Pick<MoreColumns, "values" | "names"> => ({
  values: sql`, ${ended.map(({ errorGroup }) => errorGroup?.id ?? null)}::uuid[]`,
  names: sql`, error_group_id`,
});

function insertEnded(ended: readonly EndedChange[], when: Sql): Sql {
  const more = ended.some(({ errorGroup }) => errorGroup !== null) ? groupColumn(ended) : NO_MORE;
  return sql`
  ended AS (
    SELECT * FROM unnest(
      ${ended.map((c) => c.execution.environmentId)}::uuid[], ${ended.map((c) => c.execution.runId)}::uuid[],
      ${ended.map((c) => c.ending.status)}::text[],
      ${ended.map((c) => (c.execution.attemptNumber > 0 ? c.execution.attemptNumber : null))}::integer[],
      ${ended.map((c) => c.ending.output)}::text[],
      ${ended.map((c) => (c.ending.failure === null ? null : JSON.stringify(c.ending.failure)))}::text[],
      ${ended.map((c) => c.execution.metadata)}::text[], ${ended.map((c) => c.execution.firstLeasedAt)}::float8[],
      ${ended.map((c) => c.execution.startedAt)}::float8[], ${ended.map((c) => c.ending.at)}::float8[], ${ended.map((c) => c.execution.leaseId)}::uuid[],
      ${ended.map((c) => c.execution.epoch)}::integer[], ${ended.map((c) => c.execution.appliedSequence)}::integer[],
      ${ended.map((c) => c.execution.logSequence)}::integer[], ${ended.map((c) => c.execution.stdoutBytes)}::bigint[],
      ${ended.map((c) => c.execution.stderrBytes)}::bigint[], ${ended.map((c) => c.execution.eventSequence)}::integer[]${more.values}
    ) AS x (environment_id, run_id, status, attempt_number, output, failure, metadata, first_leased_at, started_at, finished_at, lease_id,
      epoch, applied_sequence, log_sequence, stdout_bytes, stderr_bytes, event_sequence${more.names})
    WHERE ${when}
  ), results AS (
    INSERT INTO run_results (environment_id, run_id, status, attempt_number, output, failure, metadata, first_leased_at, started_at,
      finished_at, lease_id, epoch, applied_sequence, log_sequence, stdout_bytes, stderr_bytes, event_sequence${more.names})
    SELECT environment_id, run_id, status, attempt_number, output, failure, metadata, to_timestamp(first_leased_at / 1000), to_timestamp(started_at / 1000),
      to_timestamp(finished_at / 1000), lease_id, epoch, applied_sequence, log_sequence, stdout_bytes, stderr_bytes, event_sequence${more.names}
    FROM ended
  ), gone AS (
    DELETE FROM executions e WHERE ${amongRuns(ended.map(({ execution }) => execution))} AND ${when}
  )`;
}

/** Whoever waits for these ends is told after the commit; until then the row keeps that from being forgotten. */
function insertAwaited(ended: readonly EndedChange[], when: Sql): Sql {
  const awaited = ended.filter(({ execution }) => execution.endAwaited);
  return sql`
  awaited AS (
    INSERT INTO awaited_endings (environment_id, run_id)
    SELECT * FROM unnest(${awaited.map((c) => c.execution.environmentId)}::uuid[], ${awaited.map((c) => c.execution.runId)}::uuid[])
    WHERE ${when}
    ON CONFLICT DO NOTHING
  )`;
}

/** What an ended run still waited for is nobody's any more. */
function cancelWaits(ended: readonly EndedChange[], when: Sql): Sql {
  const waiting = ended.filter(({ execution }) => execution.waitCount > 0);
  return sql`
  unneeded AS (
    UPDATE run_waits w SET status = 'cancelled', settled_at = to_timestamp(x.at / 1000)
    FROM unnest(${waiting.map((c) => c.execution.environmentId)}::uuid[], ${waiting.map((c) => c.execution.runId)}::uuid[],
      ${waiting.map((c) => c.ending.at)}::float8[]) AS x (environment_id, run_id, at)
    WHERE w.environment_id = x.environment_id AND w.run_id = x.run_id AND w.status = 'pending' AND NOT w.accepted AND ${when}
  )`;
}

/** Entries by themselves: those whose outcomes are known after everything else is written. */
export async function insertJournal(tx: Tx, journal: readonly NewJournalEntry[]): Promise<void> {
  if (journal.length > 0) await tx.send(sql`WITH ${journalPart(journal, ALWAYS)} SELECT 1`);
}

const journalPart = (journal: readonly NewJournalEntry[], when: Sql): Sql => sql`
  journaled AS (
    INSERT INTO run_journal (environment_id, run_id, sequence, position, place, kind, name, value, error, attempt_number, at)
    SELECT environment_id, run_id, sequence, position, place, kind, name, value, error, attempt_number, to_timestamp(at / 1000)
    FROM unnest(
      ${journal.map((j) => j.environmentId)}::uuid[], ${journal.map((j) => j.runId)}::uuid[], ${journal.map((j) => j.sequence)}::integer[],
      ${journal.map((j) => j.position)}::integer[], ${journal.map((j) => j.place)}::integer[], ${journal.map((j) => j.kind)}::text[], ${journal.map((j) => j.name)}::text[],
      ${journal.map((j) => j.value)}::text[], ${journal.map((j) => j.error)}::text[], ${journal.map((j) => j.attemptNumber)}::integer[],
      ${journal.map((j) => j.at)}::float8[]
    ) AS j (environment_id, run_id, sequence, position, place, kind, name, value, error, attempt_number, at)
    WHERE ${when}
    ON CONFLICT (environment_id, run_id, position) DO NOTHING
  )`;

type RunEventRow = EventRow & ExecutionKey;

function toEventRows({ execution, events, ending }: Change): RunEventRow[] {
  const {
    environmentId,
    runId,
    firstLeasedAt: leasedAt,
    startedAt,
    eventSequence,
    attemptNumber,
  } = execution;
  const row = eventsToStore(
    {
      // The first events are never among those of a change.
      createdAt: 0,
      leasedAt,
      startedAt,
      eventSequence,
      ending: ending === null ? null : { ...ending, attemptNumber },
    },
    events,
  );
  return row === null ? [] : [{ environmentId, runId, ...row }];
}

const insertEvents = (rows: readonly RunEventRow[], when: Sql): Sql => sql`
  events AS (
    INSERT INTO run_events (environment_id, run_id, sequence, last_sequence, events)
    SELECT * FROM unnest(
      ${rows.map((row) => row.environmentId)}::uuid[], ${rows.map((row) => row.runId)}::uuid[],
      ${rows.map((row) => row.sequence)}::integer[], ${rows.map((row) => row.sequence + row.events.length - 1)}::integer[],
      ${rows.map((row) => JSON.stringify(row.events))}::text[])
    WHERE ${when}
  )`;

const insertLogs = (logs: readonly NewLogChunk[], when: Sql): Sql => sql`
  chunks AS (
    INSERT INTO run_logs (environment_id, run_id, sequence, attempt_number, stream, data, at)
    SELECT environment_id, run_id, sequence, attempt_number, stream, data, to_timestamp(at / 1000)
    FROM unnest(
      ${logs.map((l) => l.environmentId)}::uuid[], ${logs.map((l) => l.runId)}::uuid[], ${logs.map((l) => l.sequence)}::integer[],
      ${logs.map((l) => l.attemptNumber)}::integer[], ${logs.map((l) => l.stream)}::text[], ${logs.map((l) => l.data)}::bytea[],
      ${logs.map((l) => l.at)}::float8[]
    ) AS l (environment_id, run_id, sequence, attempt_number, stream, data, at)
    WHERE ${when}
  )`;

const addCounts = (deltas: readonly CountDelta[], when: Sql): Sql => sql`
  counted AS (
    INSERT INTO run_counts (environment_id, status, shard, count)
    SELECT d.environment_id, d.status, pg_backend_pid() % 64 + ${firstShard()}, d.delta
    FROM unnest(${deltas.map((d) => d.environmentId)}::uuid[], ${deltas.map((d) => d.status)}::text[], ${deltas.map((d) => d.delta)}::bigint[])
      AS d (environment_id, status, delta)
    WHERE ${when}
    ON CONFLICT (environment_id, status, shard) DO UPDATE SET count = run_counts.count + excluded.count
  )`;

/** Leases that end later than any can: who granted or renewed them had a clock that was ahead. */
export async function shortenLeases(
  db: Queryable,
  { now, leaseDurationMs }: { now: number; leaseDurationMs: number },
): Promise<void> {
  await db.query(sql`
    UPDATE executions SET lease_expires_at = ${timestamp(now + leaseDurationMs)}
    WHERE worker_id IS NOT NULL AND lease_expires_at > ${timestamp(now + MAX_LEASE_MS + CLOCK_LEAD_MS)}`);
}

/**
 * Runs that wait for a time which a clock that was ahead has set, as long after now as after that clock's time: retries, and runs
 * that have continued. A run that was never leased waits for the time that its caller said.
 */
export async function shortenBackoffs(db: Queryable, now: number): Promise<void> {
  await db.query(sql`
    UPDATE executions SET available_at = available_at - (updated_at - ${timestamp(now)}), updated_at = ${timestamp(now)}
    WHERE (status = 'retry_delayed' OR (status = 'queued' AND available_at IS NOT NULL AND attempt_number > 0))
      AND updated_at > ${timestamp(now + CLOCK_LEAD_MS)}`);
}
