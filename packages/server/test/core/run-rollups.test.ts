// Ended runs are counted by minute and hour, each once: the sums are those of a count over all rows.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { createRunCounting } from "../../src/core/run-rollups/count-ended-runs.ts";
import { dropEnded } from "../../src/core/retention/drop-ended.ts";
import { HOUR_MS, ROLLUPS_KEPT_MS } from "../../src/core/run-rollups/run-rollup.ts";
import { sampleRunGauges } from "../../src/core/run-rollups/sample-run-gauges.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { checkRollups, countAs, countEnded, isCounted } from "../support/count-runs.ts";
import { failRun } from "../support/failed-run.ts";
import { NEVER_DROPPED } from "../support/never-dropped.ts";
import { recordQueries } from "../support/record-queries.ts";
import { productionOf, startRunScene, type RunScene } from "../support/run-scene.ts";
import { until } from "../support/until.ts";

const DAY_MS = 24 * HOUR_MS;
const IN_TIME_MS = 60_000;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }, { id: "other" }] });
});
after(() => scene.stop());

const count = (): Promise<void> => countEnded(scene.server.db, scene.clock.now);
const context = () => ({
  db: scene.server.db,
  clock: scene.clock.now,
  noteLoopFailure: () => undefined,
  isSettled: () => true,
});
const environmentId = (): string => decodeId("env", scene.server.credentials.environment_id) ?? "";

/** Stores runs without results. @returns their ids, which are as old as ids of 2023. */
async function insertRuns(runs: number): Promise<string[]> {
  const rows = await scene.server.db.query<{ id: string }>(sql`
    INSERT INTO runs
    SELECT (jsonb_populate_record(r, jsonb_build_object('id', '0187' || substr(gen_random_uuid()::text, 5)))).*
    FROM runs r, generate_series(1, ${runs})
    WHERE r.id = (SELECT id FROM runs WHERE environment_id = ${environmentId()} LIMIT 1)
    RETURNING id`);
  return rows.map(({ id }) => id);
}

/** Ends them within ten minutes. Not numbered are results that an old server has written. */
async function insertResults(
  db: Queryable,
  ids: readonly string[],
  { ageMs = 0, numbered = true } = {},
): Promise<void> {
  await db.query(sql`
    INSERT INTO run_results (environment_id, run_id, status, finished_at, epoch, applied_sequence, log_sequence, stdout_bytes,
      stderr_bytes, event_sequence ${rawSql(numbered ? "" : ", end_number")})
    SELECT ${environmentId()}, id, 'succeeded', to_timestamp((${scene.clock.now() - ageMs}::float8 - random() * 600000) / 1000),
      0, 0, 0, 0, 0, 0 ${rawSql(numbered ? "" : ", NULL")}
    FROM unnest(${ids}::uuid[]) AS i (id)`);
}

/** A statement with more of them may take longer than one may on a busy machine. */
const INSERTED_AT_ONCE = 5_000;

async function insertEnded(runs: number, options = {}): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < runs) {
    const some = await insertRuns(Math.min(INSERTED_AT_ONCE, runs - ids.length));
    await insertResults(scene.server.db, some, options);
    ids.push(...some);
  }
  return ids;
}

async function drop(days: number, runsMs: number | null): Promise<Record<string, number>> {
  const dropped: Record<string, number> = {};
  await dropEnded({
    ...context(),
    clock: () => scene.clock.now() + days * DAY_MS,
    retention: { ...NEVER_DROPPED, runsMs },
    countDropped: (kind, many) => void (dropped[kind] = (dropped[kind] ?? 0) + many),
    noteSwept: () => undefined,
  });
  return dropped;
}

test("runs of every outcome are counted by the server's own loop, in their environment", async () => {
  const production = await productionOf(scene);
  await production.deploy({ tasks: [{ id: "plain" }] });
  await failRun(scene, "plain", { message: "no" });
  for (let times = 0; times < 3; times += 1) {
    await scene.start("other");
    await scene.worker.finish(await scene.worker.takeOne());
  }
  await scene.cancel((await scene.start("plain", { delay: "1h" })).id);
  await production.start("plain");
  await scene.worker.finish(await scene.worker.takeOne());
  scene.clock.advance(90_000);
  await scene.start("other");
  await scene.worker.finish(await scene.worker.takeOne());
  await until("all are counted", IN_TIME_MS, () => isCounted(scene.server.db));
  assert.ok((await checkRollups(scene.server.db)) >= 12);
});

test("a start, a claim and a report send no statement and write no row for it", async () => {
  await count();
  const queries = await recordQueries(async () => {
    await scene.start("plain");
    await scene.worker.finish(await scene.worker.takeOne());
  });
  const ours = /run_rollup|run_gauge|uncounted_runs|end_number/;
  const change = /INSERT INTO runs |INSERT INTO run_results |UPDATE executions /;
  const changes = queries.filter(({ text }) => change.test(text));
  assert.ok(changes.some(({ text }) => text.includes("INSERT INTO run_results ")));
  for (const changed of changes) {
    // The transaction of a change is what its connection sent from BEGIN to COMMIT.
    const sent = queries.filter(({ connection }) => connection === changed.connection);
    const at = sent.indexOf(changed);
    const from = sent.findLastIndex(({ text }, index) => index < at && /^(BEGIN|COMMIT)/.test(text));
    const to = sent.findIndex(({ text }, index) => index > at && /^(BEGIN|COMMIT)/.test(text));
    for (const { text } of sent.slice(Math.max(0, from), to === -1 ? undefined : to))
      assert.doesNotMatch(text, ours);
  }
});

test("a run that cannot be counted stops no other, is kept, and is counted in the end", async () => {
  await count();
  const { db } = scene.server;
  const ids = await insertRuns(1_000);
  const bad = ids[500];
  await db.query(sql`UPDATE runs SET entrypoint = 'bad' WHERE id = ${bad}`);
  await db.query(sql`
    CREATE FUNCTION refuse_bad() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.entrypoint = 'bad' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$`);
  await db.query(sql`
    CREATE TRIGGER refuse_bad BEFORE INSERT ON run_rollups FOR EACH ROW EXECUTE FUNCTION refuse_bad()`);
  await insertResults(db, ids, { ageMs: HOUR_MS });
  await count();
  const uncounted = async (): Promise<string[]> =>
    (await db.query<{ id: string }>(sql`SELECT run_id AS id FROM uncounted_runs`)).map(({ id }) => id);
  assert.deepEqual(await uncounted(), [bad]);
  await assert.rejects(checkRollups(db));
  await db.query(sql`DROP TRIGGER refuse_bad ON run_rollups`);
  scene.clock.advance(2_000);
  await until("the run is counted after all", IN_TIME_MS, async () => {
    await count();
    return (await uncounted()).length === 0;
  });
  await checkRollups(db);
});

test("a run whose transaction commits late counts, though later ones were there before", async () => {
  await count();
  const { db } = scene.server;
  const round = createRunCounting(context());
  const [late, ...others] = await insertRuns(4);
  assert.ok(late !== undefined);
  // The oldest transaction has its number, and is held open while others commit.
  await db.transaction(async (tx) => {
    await insertResults(tx, [late]);
    await insertResults(db, others);
    for (let times = 0; times < 3; times += 1) await round();
    assert.equal(await isCounted(db), false, "what has a higher number waits for what has a lower one");
  });
  await until("all are counted", IN_TIME_MS, async () => {
    await round();
    return isCounted(db);
  });
  await checkRollups(db);
});

test("after an absence, two servers catch up together, and each run counts once", async () => {
  await insertEnded(25_000);
  const rounds = [createRunCounting(context()), createRunCounting(context())];
  let smallest = Number.POSITIVE_INFINITY;
  await until("all are counted", IN_TIME_MS, async () => {
    const pauses = await Promise.all(rounds.map((round) => round()));
    smallest = Math.min(smallest, ...pauses.map((pause) => pause ?? Number.POSITIVE_INFINITY));
    return isCounted(scene.server.db);
  });
  assert.ok(smallest < 1_000, "it goes on soon while there is more");
  await checkRollups(scene.server.db);
});

test("a clock that leapt leaves out nothing, until its time is certain", async () => {
  await count();
  const { db, clock } = { db: scene.server.db, clock: () => scene.clock.now() + 100 * DAY_MS };
  await insertEnded(5);
  // The server's own loop may have been first, with its own clock.
  await countAs({ ...context(), clock, isSettled: () => false });
  await checkRollups(db);
});

describe("runs that ended before runs were counted", () => {
  test("are counted in pieces, and none is dropped before", async () => {
    await count();
    const { db } = scene.server;
    const old = await insertEnded(12_000, { numbered: false });
    await db.query(sql`
      UPDATE run_rollup_progress SET filled = false, filled_environment_id = '00000000-0000-0000-0000-000000000000',
        filled_run_id = '00000000-0000-0000-0000-000000000000'`);
    const round = createRunCounting(context());
    assert.equal(typeof (await round()), "number");
    const [at] = await db.query<{ filled: boolean }>(sql`SELECT filled FROM run_rollup_progress`);
    assert.equal(at?.filled, false);
    const { body } = await scene.call("GET", "/v1/runs/metrics");
    assert.equal(body.history_complete, false);
    await count();
    await checkRollups(db);
    assert.equal((await scene.call("GET", "/v1/runs/metrics")).body.history_complete, true);
    await db.query(sql`DELETE FROM run_results WHERE run_id = ANY(${old}::uuid[])`);
  });
});

test("retention drops no run before it is counted, and counts stay when it is dropped", async () => {
  await count();
  const { db } = scene.server;
  const sums = async (): Promise<number> => {
    const [row] = await db.query<{ sum: number }>(
      sql`SELECT sum(succeeded)::bigint AS sum FROM run_rollups WHERE minutes = 60 AND entrypoint_kind = 'all'`,
    );
    return row?.sum ?? 0;
  };
  const before = await sums();
  let ids: string[] = [];
  const left = async (): Promise<number> =>
    (await db.query(sql`SELECT run_id FROM run_results WHERE run_id = ANY(${ids}::uuid[])`)).length;
  await db.transaction(async (tx) => {
    // Nobody counts what comes after it before it is over, the server's own loop neither.
    await tx.query(sql`SELECT pg_current_xact_id() IS NOT NULL AS taken`);
    ids = await insertEnded(4, { ageMs: 2 * HOUR_MS });
    await drop(1, HOUR_MS);
    assert.equal(await left(), 4);
  });
  await count();
  assert.equal(await sums(), before + 4);
  await db.query(sql`
    INSERT INTO uncounted_runs (environment_id, run_id) VALUES (${environmentId()}, ${ids[0]})`);
  await drop(1, HOUR_MS);
  assert.equal(await left(), 1);
});

test("rows go when they are old, and those of hours stay longer", async () => {
  await scene.start("plain");
  await scene.worker.finish(await scene.worker.takeOne());
  await count();
  const { db } = scene.server;
  await scene.start("plain");
  await db.transaction((tx) => sampleRunGauges(tx, scene.clock.now() + 60_000, 1_000));
  const rows = async (): Promise<Record<string, boolean>> => {
    const found = await db.query<{ name: string }>(sql`
      SELECT 'rollups ' || minutes AS name FROM run_rollups UNION SELECT 'gauges ' || minutes FROM run_gauges`);
    return Object.fromEntries(found.map(({ name }) => [name, true]));
  };
  const all = { "rollups 1": true, "rollups 60": true, "gauges 1": true, "gauges 60": true };
  await drop(1, null);
  assert.deepEqual(await rows(), all);
  assert.ok(((await drop(ROLLUPS_KEPT_MS[1] / DAY_MS + 1, null))["run_rollups"] ?? 0) > 0);
  assert.deepEqual(await rows(), { "rollups 60": true, "gauges 60": true });
  await drop(ROLLUPS_KEPT_MS[60] / DAY_MS + 1, null);
  assert.deepEqual(await rows(), {});
  await scene.cancelAll();
});
