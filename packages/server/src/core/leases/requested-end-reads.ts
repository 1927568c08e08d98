import type { Uuid } from "@keelson/contract";
import type { Queryable } from "../../db/queryable.ts";
import { amongLive } from "../../db/among-live.ts";
import { sql } from "../../db/sql.ts";
import type { Among } from "../../live-ids.ts";

/** A run that its worker is to end. */
export type Cancellation = { runId: Uuid<"run">; leaseId: Uuid<"lease">; epoch: number };

/** A message that the code of a run is to end. */
export type Interrupt = Cancellation & { messageId: Uuid<"msg"> };

export type RequestedEnds = { cancellations: Cancellation[]; interrupts: Interrupt[] };

export const NO_REQUESTED_ENDS: RequestedEnds = { cancellations: [], interrupts: [] };

/**
 * What a worker is to end of what it has. It is told again until it has ended.
 *
 * @param live which leases of the worker live
 */
export async function listRequestedEnds(
  db: Queryable,
  workerId: Uuid<"wkr">,
  live: Among | null,
): Promise<RequestedEnds> {
  const rows = await db.query<Cancellation & { messageId: Uuid<"msg"> | null }>(sql`
    ${amongLive(
      live,
      sql`lease_id`,
      (isAmong) => sql`
    SELECT run_id, lease_id, epoch, NULL::uuid AS message_id
    FROM executions WHERE worker_id = ${workerId} AND status = 'cancel_requested' AND ${isAmong}
    ORDER BY lease_id`,
    )}
    UNION ALL
    SELECT e.run_id, e.lease_id, e.epoch, m.id
    FROM messages m
    JOIN executions e ON e.environment_id = m.environment_id AND e.run_id = m.run_id AND e.epoch = m.epoch
    WHERE m.status = 'open' AND NOT m.spans AND m.interrupt_requested_at IS NOT NULL AND e.worker_id = ${workerId}`);
  return {
    cancellations: rows.filter(({ messageId }) => messageId === null),
    interrupts: rows.flatMap(({ messageId, ...lease }) =>
      messageId === null ? [] : [{ ...lease, messageId }],
    ),
  };
}
