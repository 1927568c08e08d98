import type { Isolation, Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { sql, type Sql } from "../../db/sql.ts";

/** A condition on a worker: its machine can give a sandbox, or a task, the isolation that it needs. Claims and status reasons share it. */
export const canIsolate = (isolation: Sql, required: Sql): Sql =>
  sql`(${isolation} = 'namespace' OR ${required} = 'process')`;

/** The strongest isolation that works on a worker's machine; null when it never asked for workspaces. */
export async function findWorkerIsolation(db: Queryable, workerId: Uuid<"wkr">): Promise<Isolation | null> {
  const [row] = await db.query<{ isolation: Isolation | null }>(sql`
    SELECT isolation FROM workers WHERE id = ${workerId}`);
  return row?.isolation ?? null;
}
