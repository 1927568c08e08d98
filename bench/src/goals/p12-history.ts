import { Client } from "pg";
import type { BenchPostgres } from "../harness/postgres.ts";
import { waitForSucceeded } from "../ours/api.ts";
import { withKeelson } from "../ours/deployed.ts";

/** The database whose tables hold a history; P1, P5 and P6 are measured again on copies of it. */
export const HISTORY_TEMPLATE = "keelson_history";

const BATCH = 50_000;

/**
 * Makes the history: one run is really run, and its rows are written again under so many new ids, whose time is in the
 * past. The rows are copied by whatever columns the tables have, so a new column needs nothing here.
 */
export async function prepareHistory(postgres: BenchPostgres, runs: number): Promise<void> {
  await withKeelson(postgres, async (keelson, databaseUrl, databaseName) => {
    await keelson.startAgent(1);
    await keelson.api.start("noop", { of: "history" });
    await waitForSucceeded(keelson.api, 1, 10_000);
    await keelson.stop();
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      await fill(client, runs);
    } finally {
      await client.end();
    }
    await postgres.createDatabase(HISTORY_TEMPLATE, databaseName);
  });
}

async function fill(client: Client, runs: number): Promise<void> {
  await client.query("SET synchronous_commit = off");
  await client.query("CREATE TEMP TABLE past (id uuid NOT NULL)");
  const copies = [
    await copyStatement(client, "runs", "id"),
    await copyStatement(client, "run_results", "run_id"),
  ];
  for (let made = 0; made < runs; made += BATCH) {
    await client.query("TRUNCATE past");
    // Two runs a second, back from an hour ago.
    await client.query(
      `INSERT INTO past SELECT uuidv7(-interval '1 hour' - n * interval '500 ms') FROM generate_series($1::int, $2::int) AS n`,
      [made + 1, Math.min(runs, made + BATCH)],
    );
    for (const copy of copies) await client.query(copy);
  }
  await client.query("DROP TABLE past");
  await client.query(
    `UPDATE run_counts SET count = count + $1 WHERE status = 'succeeded' AND shard = (SELECT min(shard) FROM run_counts WHERE status = 'succeeded')`,
    [runs],
  );
  // Otherwise the first measurement would meet the autovacuum of all of it.
  await client.query("VACUUM (ANALYZE)");
}

/** Every column as it is in the model row, but the id. */
async function copyStatement(client: Client, table: string, idColumn: string): Promise<string> {
  const { rows } = await client.query<{ column_name: string }>(
    `SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position`,
    [table],
  );
  const columns = rows.map((row) => row.column_name);
  const values = columns.map((column) => (column === idColumn ? "past.id" : `model.${column}`));
  // The model is the run that was really run: the newest, since all others are in the past.
  return `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")}
          FROM past, (SELECT * FROM ${table} WHERE ${idColumn} = (SELECT id FROM runs ORDER BY id DESC LIMIT 1)) AS model`;
}
