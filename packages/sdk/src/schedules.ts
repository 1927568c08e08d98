import { DECLARED_ID_PATTERN } from "@keelson/contract/plain";
import { registry } from "./registry.ts";
import type { ScheduleDefinition } from "./schedule-definition.ts";
import { UsageError } from "./keelson-error.ts";

/** A declared schedule. */
export type DeclaredSchedule = Readonly<ScheduleDefinition> & {
  /** Tells it from other declarations. */
  readonly kind: "schedule";
  /** Its deduplication key. */
  readonly id: string;
};

/**
 * Declares a schedule that starts runs of a task: `schedules.task({ id, task, cron, timezone })`. The deployment that
 * declares the schedule activates it, a later one changes it, and a deployment that does not declare it removes it. A
 * run's payload is a `ScheduledPayload`.
 *
 * Throws a UsageError for an invalid id, and for an id that is declared twice.
 */
function declareSchedule(options: ScheduleDefinition & { id: string }): DeclaredSchedule {
  if (typeof options.id !== "string" || !new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new UsageError(
      `schedules.task(): ${JSON.stringify(options.id)} is not a schedule id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  const { schedules } = registry();
  if (schedules.has(options.id)) {
    throw new UsageError(
      `schedules.task(): "${options.id}" is declared twice; each schedule needs an id of its own`,
    );
  }
  const declared: DeclaredSchedule = Object.freeze({ ...options, kind: "schedule" as const });
  schedules.set(options.id, declared);
  return declared;
}

/** Declares schedules, which deployments synchronize. */
export const schedules: { task: typeof declareSchedule } = Object.freeze({ task: declareSchedule });
