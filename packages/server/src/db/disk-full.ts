// Tells that PostgreSQL has no room on its disk: the statement was rolled back, and reads go on.

const DISK_FULL = "53100";
/** PostgreSQL has a state for the first alone. */
const MESSAGES = /No space left on device|Disk quota exceeded/;

/** Whether `error`, or a cause of it, says that the disk of the database is full. */
export function isDatabaseDiskFull(error: unknown): boolean {
  for (let link = error; link instanceof Error; link = link.cause) {
    const { code, severity } = link as { code?: unknown; severity?: unknown };
    if (code === DISK_FULL) return true;
    if (severity !== undefined && MESSAGES.test(link.message)) return true;
  }
  return false;
}
