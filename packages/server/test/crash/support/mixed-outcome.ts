// What a mixed load has left behind, read past the servers, and what must be true of it.

import assert from "node:assert/strict";
import { encodeId } from "@keelson/contract";
import type { Database } from "../../../src/db/pool.ts";
import { sql } from "../../../src/db/sql.ts";
import type { Acknowledged } from "./mixed-load.ts";
import { tell, type StoryEvent } from "./run-story.ts";

/** Given beyond `max_attempts` when infrastructure ends attempts. */
const EXTRA_ATTEMPTS = 5;

export interface EndedRun {
  readonly runId: string;
  readonly entrypoint: string;
  readonly payload: string | null;
  readonly maxAttempts: number;
  readonly status: string | null;
  readonly attemptNumber: number | null;
  readonly output: string | null;
  readonly failure: string | null;
}

export const readRuns = (db: Database): Promise<EndedRun[]> =>
  db.query<EndedRun>(sql`
    SELECT r.id AS "runId", r.entrypoint, r.payload, (r.retry::jsonb ->> 'maxAttempts')::integer AS "maxAttempts",
      x.status, x.attempt_number AS "attemptNumber", x.output, x.failure
    FROM runs r LEFT JOIN run_results x ON x.environment_id = r.environment_id AND x.run_id = r.id`);

/**
 * Only kills may have kept a run from succeeding, and only as many as spend its budget: each of its attempts was lost,
 * and each loss follows something that was killed.
 */
export function checkSpent(run: EndedRun, events: readonly StoryEvent[], times: readonly number[]): void {
  const story = `${run.runId} (${run.entrypoint}) is ${run.status}: ${run.failure} · ${tell(events)}`;
  assert.equal(run.status, "system_failed", story);
  const attempts = run.maxAttempts + EXTRA_ATTEMPTS;
  assert.equal(run.attemptNumber, attempts, story);
  let begun = events[0]?.t ?? 0;
  let lost = 0;
  for (const { k, t } of events) {
    if (k === "run.leased") begun = t;
    if (k !== "lease.lost") continue;
    lost += 1;
    assert.ok(
      times.some((killed) => killed >= begun - SLACK_MS && killed <= t + SLACK_MS),
      `a loss without a kill · ${story}`,
    );
  }
  assert.ok(lost >= attempts, story);
}

/** Clocks are one machine's; what a kill brings about takes a while to be seen. */
const SLACK_MS = 1_000;

/** One run for each start that was answered, and for each child that a parent has called. */
export function checkStarts(runs: readonly EndedRun[], acknowledged: Acknowledged): void {
  const byId = new Map(runs.map((run) => [encodeId("run", run.runId), run] as const));
  const labels = runs.flatMap(({ payload }) => labelOf(payload) ?? []);
  assert.deepEqual(labels.length, new Set(labels).size, "a start that was repeated made one run");
  for (const [id, label] of acknowledged.runs) {
    const run = byId.get(id);
    assert.ok(run !== undefined, `${label} was acknowledged and is there`);
    if (run.entrypoint === "parent" && run.status === "succeeded")
      for (const child of [1, 2, 3])
        assert.ok(labels.includes(`${label}/${child}`), `${label}/${child} is there`);
  }
}

const labelOf = (payload: string | null): string | undefined =>
  (JSON.parse(payload ?? "null") as { label?: string } | null)?.label;

/** The output is what the last attempt has given, and no other one. */
export function checkOutput({ runId, payload, attemptNumber, output }: EndedRun): void {
  const given = JSON.parse(output ?? "null") as { label: string; attempt: number };
  assert.deepEqual([given.label, given.attempt], [labelOf(payload), attemptNumber], runId);
}

type Entry = {
  runId: string;
  entrypoint: string;
  kind: string;
  name: string;
  value: string | null;
  attemptNumber: number;
};

/** An attempt that was superseded writes nothing any more, and what a run says of its steps is what is kept of them. */
export async function checkJournals(db: Database, runs: readonly EndedRun[]): Promise<number> {
  const entries = await db.query<Entry>(sql`
    SELECT j.run_id AS "runId", r.entrypoint, j.kind, j.name, j.value, j.attempt_number AS "attemptNumber"
    FROM run_journal j JOIN runs r ON r.environment_id = j.environment_id AND r.id = j.run_id
    ORDER BY j.run_id, j.sequence`);
  const byRun = Map.groupBy(entries, ({ runId }) => runId);
  for (const [runId, journal] of byRun) checkRising(`the journal of ${runId}`, journal);
  for (const { runId, entrypoint, status, output } of runs) {
    if (entrypoint !== "steps" || status !== "succeeded") continue;
    const steps = (byRun.get(runId) ?? []).filter(({ kind }) => kind === "step");
    const { first, second } = JSON.parse(output ?? "null") as { first: string; second: string };
    assert.deepEqual(
      steps.map(({ name, value }) => [name, JSON.parse(value ?? "null")]),
      [
        ["first", first],
        ["second", second],
      ],
      runId,
    );
  }
  return entries.filter(({ kind }) => kind === "step").length;
}

/** What was printed under a lease was written under it. */
export async function checkLogs(db: Database): Promise<void> {
  const chunks = await db.query<{ runId: string; attemptNumber: number }>(sql`
    SELECT run_id AS "runId", attempt_number AS "attemptNumber" FROM run_logs ORDER BY run_id, sequence`);
  for (const [runId, log] of Map.groupBy(chunks, (chunk) => chunk.runId))
    checkRising(`the log of ${runId}`, log);
}

function checkRising(what: string, written: readonly { attemptNumber: number }[]): void {
  const attempts = written.map(({ attemptNumber }) => attemptNumber);
  assert.deepEqual(
    attempts,
    attempts.toSorted((a, b) => a - b),
    what,
  );
}

/** Each input is answered once, in order. */
export async function checkAnswers(db: Database, { inputs }: Acknowledged): Promise<number> {
  const rows = await db.query<{ sessionId: string; data: string }>(sql`
    SELECT t.session_id AS "sessionId", r.data
    FROM streams t JOIN stream_records r ON r.environment_id = t.environment_id AND r.stream_id = t.id
    WHERE t.name = 'answers' ORDER BY t.session_id, r.sequence`);
  const answers = Map.groupBy(rows, ({ sessionId }) => encodeId("sess", sessionId));
  for (const [session, sent] of inputs)
    assert.deepEqual(
      (answers.get(session) ?? []).map(({ data }) => JSON.parse(data) as unknown),
      sent,
      session,
    );
  return rows.length;
}
