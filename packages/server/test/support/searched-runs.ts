// Runs of two environments, put into their tables as a test says, without a server: the test is who fills the index.

import { randomUUID } from "node:crypto";
import type { RunFailure, Uuid } from "@keelson/contract";
import type { ItemContext } from "../../src/core/loop-failures/failed-items.ts";
import type { RunTexts } from "../../src/core/runs/run-text-reads.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { timestamp } from "../../src/db/timestamp.ts";
import { timeOfUuid } from "../../src/uuid.ts";
import { createTestDatabase } from "./database.ts";
import { createTestClock, type TestClock } from "./test-clock.ts";

export type SearchedRun = RunTexts & {
  status: "queued" | "succeeded" | "failed";
  parentRunId: string | null;
};

export type SearchScene = {
  db: Database;
  clock: TestClock;
  context: ItemContext;
  environments: readonly [Uuid<"env">, Uuid<"env">];
  stop(): Promise<void>;
};

export async function startSearchScene(): Promise<SearchScene> {
  const database = await createTestDatabase();
  const db = createDatabase({ url: database.url, poolSize: 4, statementNames: true });
  const clock = createTestClock();
  const environments = [randomUUID(), randomUUID()] as unknown as readonly [Uuid<"env">, Uuid<"env">];
  await db.transaction(async (tx) => {
    // Projects and groups are of no interest here.
    await tx.query(rawSql("SET LOCAL session_replication_role = replica"));
    await tx.query(sql`
      INSERT INTO environments (id, project_id, name, slug, worker_group_id)
      SELECT id, gen_random_uuid(), id::text, id::text, gen_random_uuid() FROM unnest(${environments}::uuid[]) AS e (id)`);
  });
  return {
    db,
    clock,
    environments,
    context: { db, clock: clock.now, noteLoopFailure: (_, error) => console.error(error) },
    stop: async () => {
      await db.close();
      await database.drop();
    },
  };
}

/** Inserts runs in one statement each, as they are at their start or, when they have ended, at their end. */
export async function insertRuns(
  db: Queryable,
  environmentId: Uuid<"env">,
  runs: readonly SearchedRun[],
): Promise<void> {
  for (const run of runs) {
    await db.query(sql`
      INSERT INTO runs (environment_id, id, project_id, entrypoint_kind, entrypoint, deployment_id, deployment_version, payload,
        metadata, tags, queue, priority, retry, parent_run_id, created_at)
      VALUES (${environmentId}, ${run.id}, gen_random_uuid(), 'task', ${run.entrypoint}, gen_random_uuid(), 'v1', ${run.payload},
        ${run.metadata}, ${run.tags}::text[], 'default', 0, '{}', ${run.parentRunId}::uuid, ${timestamp(timeOfUuid(run.id))})`);
    await db.query(sql`
      INSERT INTO run_tags (environment_id, tag, run_id)
      SELECT DISTINCT ${environmentId}::uuid, t.tag, ${run.id}::uuid FROM unnest(${run.tags}::text[]) AS t (tag)`);
    if (run.status === "queued") await insertLive(db, environmentId, run.id);
    else await insertResult(db, environmentId, run);
  }
}

async function insertLive(db: Queryable, environmentId: Uuid<"env">, runId: Uuid<"run">): Promise<void> {
  await db.query(sql`
    INSERT INTO executions (environment_id, run_id, worker_group_id, status, ready, priority, queue, limited, admitted, event_sequence,
      updated_at)
    VALUES (${environmentId}, ${runId}, gen_random_uuid(), 'queued', true, 0, 'default', false, false, 1, now())`);
}

async function insertResult(db: Queryable, environmentId: Uuid<"env">, run: SearchedRun): Promise<void> {
  await db.query(sql`
    INSERT INTO run_results (environment_id, run_id, status, failure, metadata, finished_at, epoch, applied_sequence, log_sequence,
      stdout_bytes, stderr_bytes, event_sequence)
    VALUES (${environmentId}, ${run.id}, ${run.status}, ${run.failure}, ${run.metadata}, now(), 0, 0, 0, 0, 0, 3)`);
}

/** A queued run ends, with an error or other metadata. */
export async function endRun(db: Database, environmentId: Uuid<"env">, run: SearchedRun): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(
      sql`DELETE FROM executions WHERE environment_id = ${environmentId} AND run_id = ${run.id}`,
    );
    await insertResult(tx, environmentId, run);
  });
}

export const failureText = (message: string, stack: string | null = null): string =>
  JSON.stringify({ kind: "application_error", message, stack, retryable: false } satisfies RunFailure);
