import { DECLARED_ID_PATTERN } from "@keelson/contract/plain";
import { registry } from "./registry.ts";
import type { ScheduleDefinition } from "./schedule-definition.ts";

/** A declared schedule. */
export type DeclaredSchedule = Readonly<ScheduleDefinition> & {
  /** Tells it from other declarations. */
  readonly kind: "schedule";
  /** Its deduplication key. */
  readonly id: string;
};

/**
 * Declares that runs of a task start by themselves: `schedules.task({ id, task, cron, timezone })`. The schedule comes into
 * force with the deployment, changes with the next one and ends with one that does not declare it. A run's payload is a
 * `ScheduledPayload`.
 *
 * Throws a TypeError for an id that cannot be used and an Error for one that is declared twice.
 */
function declareSchedule(options: ScheduleDefinition & { id: string }): DeclaredSchedule {
  if (typeof options.id !== "string" || !new RegExp(DECLARED_ID_PATTERN).test(options.id)) {
    throw new TypeError(
      `schedules.task(): ${JSON.stringify(options.id)} is not a schedule id (letters, digits, . _ -, up to 128 characters)`,
    );
  }
  const { schedules } = registry();
  if (schedules.has(options.id)) {
    throw new Error(
      `schedules.task(): "${options.id}" is declared twice; each schedule needs an id of its own`,
    );
  }
  const declared: DeclaredSchedule = Object.freeze({ ...options, kind: "schedule" as const });
  schedules.set(options.id, declared);
  return declared;
}

/** Declares schedules, which deployments synchronize. */
export const schedules: { task: typeof declareSchedule } = Object.freeze({ task: declareSchedule });
