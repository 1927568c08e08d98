import type { Schedule } from "@keelson/sdk";

/** The line a person reads of a schedule: id, key, what it starts and when, and why it does not. */
export function describeSchedule(schedule: Schedule): string {
  const what = `${schedule.id} ${schedule.deduplication_key}: ${schedule.task} at ${schedule.cron} (${schedule.timezone})`;
  const when = schedule.next_run_at === null ? schedule.status : `next ${schedule.next_run_at}`;
  const why =
    schedule.status_reason === null ? "" : `; ${schedule.status}: ${schedule.status_reason.message}`;
  return `${what}, ${when}${why}`;
}
