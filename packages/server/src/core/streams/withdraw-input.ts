import type { StreamDirection } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError, notFound } from "../../domain-error.ts";
import { directionMismatch } from "./ensure-streams.ts";
import { decideWithdraw, type RecordRow, type StreamKey } from "./stream.ts";
import { findRecord, lockStream } from "./stream-reads.ts";
import { markWithdrawn } from "./withdrawal-writes.ts";

/**
 * Takes back a record that no run has received. Whoever receives records of the stream, or starts a turn because of them, locks
 * its row first, so a record is either received or withdrawn. Withdrawing again changes nothing.
 *
 * @returns the record as it is then
 * @throws DomainError `not_found`, `stream_direction_mismatch`, `already_received`.
 */
export async function withdrawInput(
  tx: Tx,
  target: StreamKey & { direction: StreamDirection },
  sequence: number,
  now: number,
): Promise<RecordRow> {
  const stream = await lockStream(tx, target);
  if (stream === null) throw notFound();
  if (stream.direction !== target.direction) throw directionMismatch(target.name, stream.direction);
  const record = await findRecord(tx, stream.environmentId, stream.id, sequence);
  if (record === null) throw notFound();
  const decision = decideWithdraw(stream, record);
  switch (decision.kind) {
    case "none":
      return record;
    case "refuse":
      throw new DomainError(
        "already_received",
        `A run has already received record ${sequence} of stream "${stream.name}", so it cannot be withdrawn. Cancel the run to stop its work.`,
        { stream: stream.name, sequence },
      );
    case "withdraw": {
      const { withdrawnSequences } = decision;
      await markWithdrawn(tx, stream.environmentId, stream.id, { sequence, withdrawnSequences }, now);
      return { ...record, data: "null", withdrawnAt: now };
    }
  }
}
