import { toString as describe } from "cronstrue";

/** A cron expression in words, such as `At 07:30, Monday through Friday`. Null: it is none, or says too much. */
export function describeCron(cron: string): string | null {
  try {
    return describe(cron, { use24HourTimeFormat: true, verbose: false });
  } catch (error) {
    // It throws its message as a text.
    if (typeof error !== "string" && !(error instanceof Error)) throw error;
    return null;
  }
}
