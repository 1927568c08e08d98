import type { ScheduleType, SkipReason } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { nextRunOf } from "./next-run.ts";
import type { ScheduleRow } from "./schedule-reads.ts";
import { insertOccurrences, updateDefinition, type Definition } from "./schedule-writes.ts";
import { decideDueSlots, decideFirstSlot, hasSlots, skipped, type ScheduleStanding } from "./schedule.ts";

/** Slots are overdue for as long as no server runs; a change that comes right after that leaves no more than these. */
const MAX_OVERDUE_SLOTS = 10_000;

/**
 * Puts another definition in force. Slots that stay due under it keep their time; those that are due at this moment and
 * are no slots of the new one are settled as skipped.
 */
export async function changeDefinition(
  tx: Tx,
  schedule: ScheduleRow,
  definition: Definition & { type: ScheduleType },
  standing: ScheduleStanding,
  now: number,
): Promise<void> {
  const { cron, timezone } = definition;
  const isActive = hasSlots(standing.status);
  const wasRemoved = schedule.status === "removed";
  const keepsTimes =
    isActive && schedule.nextRunAt !== null && cron === schedule.cron && timezone === schedule.timezone;
  const lastSlotAt = keepsTimes
    ? schedule.lastSlotAt
    : await skipOverdueSlots(tx, schedule, isActive ? "changed" : "deactivated", now);
  const nextRunAt = !isActive
    ? null
    : keepsTimes
      ? schedule.nextRunAt
      : decideFirstSlot(now, lastSlotAt, nextRunOf(cron, timezone));
  await updateDefinition(tx, {
    ...definition,
    environmentId: schedule.environmentId,
    id: schedule.id,
    nextRunAt,
    lastSlotAt,
    ...standing,
    createdAt: wasRemoved ? now : schedule.createdAt,
    now,
  });
}

/** Settles what is due now without starting it. @returns the newest slot of the ledger. */
export async function skipOverdueSlots(
  tx: Tx,
  { environmentId, id: scheduleId, nextRunAt, lastSlotAt, cron, timezone }: ScheduleRow,
  reason: SkipReason,
  now: number,
): Promise<number | null> {
  if (nextRunAt === null) return lastSlotAt;
  const { missed, newest } = decideDueSlots(nextRunAt, now, MAX_OVERDUE_SLOTS, nextRunOf(cron, timezone));
  const slots = newest === null ? missed : [...missed, newest];
  await insertOccurrences(
    tx,
    slots.map((slot) => ({ ...skipped(slot, reason), environmentId, scheduleId })),
    now,
  );
  return slots.at(-1) ?? lastSlotAt;
}
