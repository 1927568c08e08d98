// A backup of a million runs while others are started: they begin as quickly as before, and the restore is equal.
// The short form proves what the moment has to copy: `core/backup-moment`.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { after, before, test } from "node:test";
import { loadConfig } from "../../src/config.ts";
import { findCountedNumber } from "../../src/core/backups/run-history-reads.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import type { Queryable } from "../../src/db/queryable.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { startEmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { runRestore } from "../../src/run-restore.ts";
import { bareEnvironment } from "../support/bare-environment.ts";
import { isCounted } from "../support/count-runs.ts";
import { isLong } from "../support/seeded-random.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { until } from "../support/until.ts";
import { deployCode } from "./support/deploy-code.ts";
import { LOOK, shown, watchLoad, type Seen } from "./support/even-load.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";

const execute = promisify(execFile);
const COMMAND = path.join(import.meta.dirname, "../../../cli/src/main.ts");

const RUNS = 1_000_000;
const BATCH = 50_000;
const WINDOW_MS = 10_000;

let site: Site;
let server: ServerProcess;
let folder: string;
before(async () => {
  if (!isLong()) return;
  folder = await makeTestFolder();
  site = await startSite({ servers: 1, leaseDuration: "15s" });
  server = site.servers[0] as ServerProcess;
  await site.agent({ name: "agent", server, capacity: 16 }).start();
  await deployCode(site, server, LOOK);
});
after(async () => {
  await site?.stop();
  if (folder !== undefined) await rm(folder, { recursive: true });
});

/** Writes the newest run again under so many ids of the past hours, with the numbers of their ends. */
async function fill(db: Database): Promise<void> {
  const copyOf = async (table: string, key: string): Promise<string> => {
    const columns = await db.query<{ name: string }>(sql`
      SELECT attname AS name FROM pg_attribute
      WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' AND attname <> 'end_number'`);
    const names = columns.map(({ name }) => name);
    const values = names.map((name) => (name === key ? "p.id" : `m.${name}`));
    return `INSERT INTO ${table} (${names.join(", ")}) SELECT ${values.join(", ")} FROM past p, (SELECT * FROM ${table} ORDER BY ${key} DESC LIMIT 1) m`;
  };
  const past = `WITH past AS MATERIALIZED (
    SELECT uuidv7(-interval '1 hour' - n * interval '5 ms') AS id FROM generate_series(1, ${BATCH}) AS n)`;
  const [runs, results] = [await copyOf("runs", "id"), await copyOf("run_results", "run_id")];
  for (let made = 0; made < RUNS; made += BATCH)
    await db.query(rawSql(`${past}, made AS (${runs}) ${results}`));
  await db.query(rawSql("VACUUM ANALYZE runs"));
  await db.query(rawSql("VACUUM ANALYZE run_results"));
  await until("all are counted", 600_000, () => isCounted(db));
}

const DIGESTS = ["runs", "run_results", "run_events", "run_journal", "run_logs", "run_tags"];

/** Of the runs that had ended before the backup began, what each table has. */
async function digest(db: Queryable, endedUpTo: number): Promise<string[]> {
  const digests: string[] = [];
  for (const table of DIGESTS) {
    const key = table === "runs" ? "id" : "run_id";
    const [row] = await db.query<{ rows: number; sum: string }>(
      rawSql(`SELECT count(*) AS rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text AS sum
        FROM ${table} t JOIN run_results x ON x.environment_id = t.environment_id AND x.run_id = t.${key}
        WHERE x.end_number <= ${endedUpTo}`),
    );
    digests.push(`${table} ${row?.rows} ${row?.sum}`);
  }
  return digests;
}

/** The process of the backup's session. */
async function findSession(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ pid: number }>(sql`
    SELECT pid FROM pg_stat_activity
    WHERE application_name = 'keelson backup' AND datname = current_database()`);
  return row?.pid ?? null;
}

test(
  "a backup of a million runs slows nothing down, and is restored as it was",
  { skip: !isLong() },
  async (t) => {
    await watchLoad(site, server, 5_000);
    await fill(site.db);
    const number = await findCountedNumber(site.db);
    const free: Seen[] = [];
    for (let n = 0; n < 3; n += 1) {
      free.push(await watchLoad(site, server, WINDOW_MS));
      t.diagnostic(`before: ${shown(free.at(-1) as Seen)}`);
    }
    const begun = performance.now();
    const progress = { isOver: false };
    const backup = execute(
      process.execPath,
      ["--conditions=@keelson/source", COMMAND, "--json", "backup", folder],
      {
        env: { ...bareEnvironment(), KEELSON_DATA_DIR: `${site.dir}/data`, DATABASE_URL: site.postgres.url },
      },
    ).finally(() => (progress.isOver = true));
    backup.catch(() => undefined);
    await until("the backup is at work", 60_000, async () => (await findSession(site.db)) !== null);
    const during: Seen[] = [];
    while (!progress.isOver) {
      during.push(await watchLoad(site, server, WINDOW_MS, (await findSession(site.db)) ?? 0));
      t.diagnostic(`during: ${shown(during.at(-1) as Seen)}`);
    }
    const written = JSON.parse((await backup).stdout) as { rows: number; size_bytes: number };
    t.diagnostic(
      `${written.rows} rows, ${(written.size_bytes / 2 ** 20).toFixed(1)} MiB in ${Math.round(performance.now() - begun)} ms`,
    );
    t.diagnostic(`after it: ${shown(await watchLoad(site, server, WINDOW_MS))}`);
    const expected = await digest(site.db, number);
    const dataDir = `${folder}/restored`;
    await mkdir(dataDir);
    await copyFile(`${site.dir}/data/master.key`, `${dataDir}/master.key`);
    await runRestore(loadConfig({ KEELSON_DATA_DIR: dataDir }), {
      ...{ place: folder, checkOnly: false, signal: new AbortController().signal },
      ...{ tell: () => undefined, notice: () => undefined },
    });
    const postgres = await startEmbeddedServer({ dataDir: `${dataDir}/postgres` });
    const db = createDatabase({ url: postgres.url, poolSize: 1, statementNames: false });
    try {
      assert.deepEqual(await digest(db, number), expected);
      t.diagnostic(`restored: ${expected.join("; ")}`);
    } finally {
      await db.close();
      await postgres.stop();
    }
    const median = (seen: readonly Seen[], of: (one: Seen) => number): number =>
      seen.map(of).toSorted((a, b) => a - b)[Math.floor(seen.length / 2)] as number;
    const [p50Before, p50] = [free, during].map((seen) => median(seen, (one) => one.p50)) as [number, number];
    const [cpuBefore, cpu] = [free, during].map((seen) => median(seen, (one) => one.cpuMs)) as [
      number,
      number,
    ];
    assert.ok(p50 <= 1.5 * p50Before + 1, `p50 ${p50Before} → ${p50} ms`);
    assert.ok(cpu <= 1.5 * cpuBefore, `PostgreSQL ${cpuBefore} → ${cpu} ms a run`);
  },
);
