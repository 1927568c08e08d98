import type { Schedule } from "@keelson/sdk";

/** The line a person reads of a schedule: id, key, what it starts and when, and why it does not. */
export function describeSchedule(schedule: Schedule): string {
  const what = `${schedule.id} ${schedule.deduplicationKey}: ${schedule.task} at ${schedule.cron} (${schedule.timezone})`;
  const when = schedule.nextRunAt === null ? schedule.status : `next ${schedule.nextRunAt}`;
  const why = schedule.statusReason === null ? "" : `; ${schedule.status}: ${schedule.statusReason.message}`;
  return `${what}, ${when}${why}`;
}
