import { readFileSync } from "node:fs";

/** Where the limit cannot be read: what macOS gives a process that has asked for all it may have. */
const ASSUMED_FILES = 10_240;
/** For blobs that are read and written, logs, and the connections of an embedded database. */
const RESERVED_FILES = 128;

/** Files that this process may open. Node has raised it to all that the system allows. Source: proc(5), `limits`. */
function openFileLimit(): number {
  try {
    const soft = /^Max open files +(\w+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return soft === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(soft ?? ASSUMED_FILES);
  } catch {
    return ASSUMED_FILES;
  }
}

/** How many connections of callers the process can hold, so that files and the database find room besides them. */
export function maxConnections(databasePoolSize: number, limit: number = openFileLimit()): number {
  return limit - Math.min(Math.floor(limit / 2), RESERVED_FILES + databasePoolSize);
}
