import type { ExecutionKey } from "../executions/execution.ts";
import type { JournalKind, Uuid } from "@keelson/contract";
import { joinByKey } from "../../db/join-by-key.ts";
import type { Queryable } from "../../db/queryable.ts";
import { joinSql, sql } from "../../db/sql.ts";

/** An entry of a run's journal. JSON is text; the value of a `wait` stands in the wait. */
export type JournalRow = ExecutionKey & {
  position: number;
  /** Null: the SDK that made the call kept none. */
  place: number | null;
  kind: JournalKind;
  name: string;
  value: string | null;
  error: string | null;
  attemptNumber: number;
};

/** An entry `j` of a run `k`. */
const OF_RUN = sql`j.environment_id = k.environment_id AND j.run_id = k.run_id`;

/** The journals of these runs, each in the order in which its code saw the outcomes. */
export async function listJournals(db: Queryable, keys: readonly ExecutionKey[]): Promise<JournalRow[]> {
  if (keys.length === 0) return [];
  return db.query<JournalRow>(sql`
    SELECT j.environment_id, j.run_id, j.position, j.place, j.kind, j.name, j.value, j.error,
      j.attempt_number
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("run_journal", "j", OF_RUN)}
    ORDER BY j.environment_id, j.run_id, j.sequence`);
}

export type JournalPosition = ExecutionKey & { position: number };

/** The entries at these positions, as far as there are any. */
export async function listJournalEntries(
  db: Queryable,
  positions: readonly JournalPosition[],
): Promise<JournalRow[]> {
  if (positions.length === 0) return [];
  return db.query<JournalRow>(sql`
    SELECT j.environment_id, j.run_id, j.position, j.place, j.kind, j.name, j.value, j.error,
      j.attempt_number
    FROM unnest(${positions.map((p) => p.environmentId)}::uuid[], ${positions.map((p) => p.runId)}::uuid[],
      ${positions.map((p) => p.position)}::integer[]) AS k (environment_id, run_id, position)
    ${joinByKey("run_journal", "j", sql`${OF_RUN} AND j.position = k.position`)}`);
}

/** The commands that runs have started; those that could not be made have no value. */
export function listExecEntries(
  db: Queryable,
  keys: readonly ExecutionKey[],
): Promise<{ environmentId: Uuid<"env">; runId: Uuid<"run">; value: string }[]> {
  return db.query(sql`
    SELECT j.environment_id, j.run_id, j.value
    FROM unnest(${keys.map((key) => key.environmentId)}::uuid[], ${keys.map((key) => key.runId)}::uuid[]) AS k (environment_id, run_id)
    ${joinByKey("run_journal", "j", OF_RUN)}
    WHERE j.kind = 'exec' AND j.value IS NOT NULL`);
}

export type KeptCall = JournalRow & {
  /** Its place among the entries. */
  sequence: number;
  at: number;
};

/** The calls of a run whose outcomes are kept, in the order in which its code saw them. */
export function listKeptCalls(
  db: Queryable,
  { environmentId, runId }: ExecutionKey,
  { position }: { position: number | null },
  after: number,
  limit: number,
): Promise<KeptCall[]> {
  const conditions = [sql`environment_id = ${environmentId} AND run_id = ${runId} AND sequence > ${after}`];
  if (position !== null) conditions.push(sql`position = ${position}`);
  return db.query<KeptCall>(sql`
    SELECT environment_id, run_id, sequence, position, place, kind, name, value, error, attempt_number, at
    FROM run_journal
    WHERE ${joinSql(conditions, " AND ")}
    ORDER BY sequence LIMIT ${limit}`);
}
