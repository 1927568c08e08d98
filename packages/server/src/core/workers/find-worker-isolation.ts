import type { Isolation } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";

/** The strongest isolation that works on a worker's machine; null when it never asked for workspaces. */
export async function findWorkerIsolation(db: Queryable, workerId: string): Promise<Isolation | null> {
  const [row] = await db.query<{ isolation: Isolation | null }>(sql`
    SELECT isolation FROM workers WHERE id = ${workerId}`);
  return row?.isolation ?? null;
}
