import type { Uuid } from "@keelson/contract";
import { sql, type Sql } from "../../db/sql.ts";

/**
 * The worker that a statement gives work to, if it still gets any: a query for a CTE. It is locked until the work is its own,
 * so that a drain comes before that or after it: a worker that was told of its drain is given nothing that it does not hear of.
 *
 * @param given a CTE that has rows when there is something to give
 */
export const claimerOf = (workerId: Uuid<"wkr">, given: Sql): Sql => sql`
  SELECT w.id FROM workers w
  WHERE w.id = ${workerId} AND w.status = 'active' AND EXISTS (SELECT FROM ${given})
  FOR KEY SHARE OF w`;

/** The same in the transaction of others, which does not wait for a worker that is just being drained: that one gets nothing. */
export const lenderOf = (workerId: Uuid<"wkr">, given: Sql): Sql => sql`
  ${claimerOf(workerId, given)} SKIP LOCKED`;

/** The same of several workers, whatever there is to give. */
export const lendersOf = (workerIds: readonly Uuid<"wkr">[]): Sql => sql`
  SELECT w.id FROM workers w
  WHERE w.id = ANY(${workerIds}::uuid[]) AND w.status = 'active'
  FOR KEY SHARE OF w SKIP LOCKED`;
