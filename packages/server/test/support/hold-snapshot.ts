import pg from "pg";
import type { Database } from "../../src/db/pool.ts";

/** Holds a snapshot of now, as a backup does, while the work goes on, or until it releases it. */
export async function holding(
  { directUrl }: Pick<Database, "directUrl">,
  work: (release: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: directUrl });
  await client.connect();
  let isHeld = true;
  const release = async (): Promise<void> => {
    if (isHeld) await client.query("COMMIT");
    isHeld = false;
  };
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    await client.query("SELECT FROM executions LIMIT 1");
    await work(release);
  } finally {
    await release();
    await client.end();
  }
}
