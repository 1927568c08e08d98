import type { Pool } from "pg";

/** The least table that a run could be stored in; one primary key and no other index. */
export const ENVIRONMENT_ID = "01900000-0000-7000-8000-000000000002";
export const PAYLOAD = JSON.stringify({
  customer: "c-1041",
  amount: 1999,
  note: "a payload of ordinary size, for a task that does nothing",
});

/** Makes the table empty, so that no round is slowed by the rows of the one before. */
export async function resetTable(pool: Pool): Promise<void> {
  await pool.query("DROP TABLE IF EXISTS floor_inserts");
  await pool.query(
    "CREATE TABLE floor_inserts (id uuid PRIMARY KEY, environment_id uuid NOT NULL, payload text NOT NULL, created_at timestamptz NOT NULL)",
  );
}
