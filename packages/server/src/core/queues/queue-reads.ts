import type { Tx } from "../../db/queryable.ts";
import { sql } from "../../db/sql.ts";
import type { Queue } from "./slot.ts";

export type Limits = Queue & { total: number | null; perKey: number };

/** Locks those that have a row, in the order that every transaction that locks several keeps. */
export const lockLimits = (tx: Tx, queues: readonly Queue[]): Promise<Limits[]> =>
  tx.query<Limits>(sql`
    SELECT q.environment_id, q.name AS queue, q.concurrency_limit AS total, q.concurrency_key_limit AS per_key
    FROM unnest(${queues.map((queue) => queue.environmentId)}::uuid[], ${queues.map((queue) => queue.queue)}::text[])
      AS k (environment_id, name)
    JOIN queues q ON q.environment_id = k.environment_id AND q.name = k.name
    ORDER BY q.environment_id, q.name
    FOR UPDATE OF q`);
