// A run's events, read as the story of its attempts.

import assert from "node:assert/strict";
import type { Uuid } from "@keelson/contract";
import { listRunEvents } from "../../../src/core/run-events/run-event-reads.ts";
import type { Database } from "../../../src/db/pool.ts";
import { sql } from "../../../src/db/sql.ts";

/** More than any run of these tests has. */
const MOST_EVENTS = 10_000;

export type StoryEvent = { k: string; t: number; a?: number; m?: string };

/** Of every run, by its uuid. Each run's are numbered without a gap. */
export async function readStories(db: Database): Promise<Map<string, StoryEvent[]>> {
  const runs = await db.query<{ environmentId: Uuid<"env">; runId: Uuid<"run"> }>(sql`
    SELECT environment_id, id AS run_id FROM runs ORDER BY id`);
  const byRun = new Map<string, StoryEvent[]>();
  for (const { environmentId, runId } of runs) {
    const events = await listRunEvents(db, environmentId, runId, 0, MOST_EVENTS);
    for (const [index, { sequence }] of events.entries())
      assert.equal(sequence, index + 1, `the events of ${runId} are numbered without a gap`);
    byRun.set(
      runId,
      events.map(({ event }) => event),
    );
  }
  return byRun;
}

export const tell = (events: readonly StoryEvent[]): string =>
  events.map(({ k, a }) => `${k}${a === undefined ? "" : `(${a})`}`).join(" ");

/** After these nobody holds the run. */
const RELEASED = new Set(["lease.lost", "run.queued", "run.suspended", "run.retry_delayed"]);
/** What only the holder of the lease can say. The server suspends a run that waits when its worker is lost. */
const OF_CODE = /^(run\.(started|waiting|succeeded|failed)|step\.|output\.|metadata\.|wait\.created)/;

/**
 * It ends once, with its last event; each attempt after the first follows a loss or a failure of the one before; and all
 * that is said of the code is said by the attempt that holds the lease.
 */
export function checkStory(runId: string, lastAttempt: number | null, events: readonly StoryEvent[]): void {
  const story = `${runId}: ${tell(events)}`;
  const ends = events.filter(({ k }) => /^run\.(succeeded|failed|cancelled|expired|system_failed)$/.test(k));
  assert.equal(ends.length, 1, `ended once · ${story}`);
  assert.equal(events.at(-1), ends[0], `ended with its end · ${story}`);
  let attempt = 0;
  let explained = true;
  let leased = false;
  for (const { k, a } of events) {
    if (k === "lease.lost" || k === "run.retry_delayed") explained = true;
    if (OF_CODE.test(k)) assert.ok(leased && a === attempt, `${k}(${a}) by the one that holds it · ${story}`);
    // A lease that was handed back before the code began is no attempt that ended.
    if (RELEASED.has(k)) leased = false;
    if (k !== "run.leased") continue;
    assert.ok(!leased, `leased once at a time · ${story}`);
    leased = true;
    assert.ok(a === attempt || a === attempt + 1, `attempts go up one by one · ${story}`);
    if (a !== attempt) assert.ok(explained, `attempt ${a} is explained · ${story}`);
    if (a !== attempt) explained = false;
    attempt = a ?? 0;
  }
  assert.equal(lastAttempt, attempt, `the result has the last attempt · ${story}`);
}
