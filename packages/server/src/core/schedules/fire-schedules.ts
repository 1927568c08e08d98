import { encodeId, type ScheduleOptions } from "@keelson/contract";
import type { Tx } from "../../db/queryable.ts";
import { DomainError } from "../../domain-error.ts";
import type { NewUuid } from "../../uuid.ts";
import type { DeploymentCache } from "../entrypoints/deployment-cache.ts";
import { wakeKeys } from "../feeds/wake-keys.ts";
import type { ItemContext } from "../loop-failures/failed-items.ts";
import { processInBatches } from "../loop-failures/process-items.ts";
import type { RunQuota } from "../quotas/run-quota.ts";
import { NO_LINKS, type NewRun } from "../runs/new-run.ts";
import { resolveStart, type StartSources } from "../runs/resolve-start.ts";
import { startRunsWithin } from "../runs/start-runs-within.ts";
import { nextRunOf } from "./next-run.ts";
import { lockDueSchedules, type DueSchedule } from "./schedule-reads.ts";
import { recordFired, type FiredSchedule, type OccurrenceInsert } from "./schedule-writes.ts";
import {
  decideDueSlots,
  decideFired,
  faultOf,
  scheduledPayload,
  skipped,
  taskNotFound,
  type DueSlots,
  type ScheduleFault,
} from "./schedule.ts";

export type FireContext = { deployments: DeploymentCache; runQuota: RunQuota; newUuid: NewUuid };

/** What one transaction takes at once. Slots bound its time after an outage: the rest stays due for the next round. */
const SCHEDULES_AT_ONCE = 100;
const SLOTS_AT_ONCE = 1_000;

/** Fires all due schedules that are free to be taken. @returns how many schedules there were. */
export async function fireDueSchedules(context: FireContext & ItemContext): Promise<number> {
  let taken = 0;
  await processInBatches(context, {
    loop: "fire-schedules",
    limit: SCHEDULES_AT_ONCE,
    take: async (tx, limit, now) => {
      const rows = await lockDueSchedules(tx, now, limit);
      // Also those whose backlog is longer than their share are due again.
      return { rows, more: rows.length > 0 };
    },
    itemOf: ({ environmentId, id }) => ({ environmentId, itemId: id }),
    stateOf: ({ nextRunAt }) => String(nextRunAt),
    apply: async (tx, due, now) => {
      await fireSchedules(context, tx, due, now);
      return due.length;
    },
    done: (fired) => {
      taken += fired ?? 0;
    },
  });
  return taken;
}

/**
 * Settles due slots: the newest of each schedule starts its run, older ones were missed. The run, the ledger and the next
 * slot are written in one transaction under the schedule's lock, so a slot is settled once whoever fires it and wherever
 * a server dies.
 */
export async function fireSchedules(
  context: FireContext,
  tx: Tx,
  due: readonly DueSchedule[],
  now: number,
): Promise<void> {
  // Each gets its share, so that one with a long backlog does not hold up the others.
  const limit = Math.max(1, Math.floor(SLOTS_AT_ONCE / due.length));
  // Read in this transaction: while it is open, no other connection is waited for.
  const sources = { deployments: context.deployments.within(tx), admit: context.runQuota.within(tx) };
  const firings = await Promise.all(
    due.map(async (schedule): Promise<Firing> => {
      const nextRun = nextRunOf(schedule.cron, schedule.timezone);
      const slots = decideDueSlots(schedule.nextRunAt, now, limit, nextRun);
      const start =
        slots.newest === null ? null : await tryStart(sources, context.newUuid, schedule, slots.newest, now);
      return { schedule, slots, start };
    }),
  );
  const runs = firings.flatMap(({ start }) => (start !== null && "run" in start ? [start.run] : []));
  const inserted = await startRunsWithin(tx, runs);
  // A run that was not inserted was resolved against a deployment that is no longer current: its schedule stays due.
  const settled = firings.filter(
    ({ start }) => start === null || "fault" in start || inserted.has(start.run.id),
  );
  if (settled.length > 0) {
    const occurrences = settled.flatMap(occurrencesOf);
    tx.note({ kind: "occurrences", occurrences, at: now });
    await recordFired(
      tx,
      occurrences,
      settled.map((firing) => firedOf(firing, now)),
      now,
    );
  }
  for (const run of runs) if (inserted.has(run.id)) tx.wake(wakeKeys.work(run.workerGroupId));
}

type Start = { run: NewRun } | { fault: ScheduleFault };
type Firing = { schedule: DueSchedule; slots: DueSlots; start: Start | null };

async function tryStart(
  { deployments, admit }: StartSources,
  newUuid: NewUuid,
  schedule: DueSchedule,
  slot: number,
  now: number,
): Promise<Start> {
  const { environmentId, projectId, organizationId, workerGroupId, task, currentDeploymentId } = schedule;
  // By id: the pointer was read in this transaction, and may be newer than the one that the cache trusts.
  const deployment =
    currentDeploymentId === null ? null : await deployments.byId(environmentId, currentDeploymentId);
  if (deployment?.tasks.get(task) === undefined)
    return { fault: taskNotFound(task, deployment?.version ?? null, now) };
  const options = JSON.parse(schedule.options) as ScheduleOptions;
  const payload = scheduledPayload(encodeId("sched", schedule.id), schedule, slot);
  const request = {
    ...{ organizationId, projectId, environmentId, workerGroupId },
    kind: "task",
    entrypoint: task,
    body: { ...options, payload },
    links: { ...NO_LINKS, scheduleId: schedule.id },
    ...{ idempotencyKey: null, clientVersion: null, cliVersion: null, sdkVersion: null },
  } as const;
  try {
    const pinned = { ...deployments, current: () => Promise.resolve(deployment) };
    return { run: await resolveStart({ deployments: pinned, admit }, request, newUuid, now) };
  } catch (error) {
    // A busy server decides nothing about the schedule: the slot is tried again.
    if (!(error instanceof DomainError) || error.code === "unavailable") throw error;
    const kind = error.code === "invalid_payload" ? "payload_invalid" : "start_refused";
    // PostgreSQL's text has no NUL, and a payload's schema may name anything.
    return { fault: { kind, message: error.message.slice(0, 2_000).replaceAll("\0", "\ufffd"), at: now } };
  }
}

function occurrencesOf({ schedule, slots, start }: Firing): OccurrenceInsert[] {
  const { environmentId, id: scheduleId } = schedule;
  const occurrences = slots.missed.map((slot) => skipped(slot, "missed"));
  if (slots.newest !== null && start !== null) {
    const scheduledAt = slots.newest;
    occurrences.push(
      "fault" in start
        ? skipped(scheduledAt, start.fault.kind, start.fault.message)
        : { scheduledAt, status: "fired", runId: start.run.id, reason: null, message: null },
    );
  }
  return occurrences.map((occurrence) => ({ ...occurrence, environmentId, scheduleId }));
}

function firedOf({ schedule, slots, start }: Firing, now: number): FiredSchedule {
  const { environmentId, id, status, lastFiredSlotAt, lastRunAt, lastRunId } = schedule;
  const common = {
    ...{ environmentId, id, nextRunAt: slots.next },
    lastSlotAt: slots.newest ?? slots.missed.at(-1) ?? schedule.nextRunAt,
  };
  if (start !== null && "run" in start)
    return {
      ...common,
      ...decideFired(status, null),
      ...{ lastFiredSlotAt: slots.newest, lastRunAt: now, lastRunId: start.run.id },
    };
  const standing = start === null ? { status, fault: faultOf(schedule) } : decideFired(status, start.fault);
  return { ...common, ...standing, lastFiredSlotAt, lastRunAt, lastRunId };
}
