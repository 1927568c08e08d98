import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";

export const RECORD_FILE = "supervisor.json";
export const SOCKET_FILE = "socket";
export const LOG_FILE = "log";

/** What is left of a supervisor for whoever comes after it. */
export type SupervisorRecord = { pid: number; materializationId: string; uid: number | null };

export const supervisorFolder = (dataDir: string, materializationId: string): string =>
  join(dataDir, "supervisors", materializationId);

/** What `sockaddr_un` holds, less the end. */
const MAX_SOCKET_PATH_BYTES = 100;

/** Calls with a path of the socket that is short enough for the kernel, however deep the data folder is. */
export async function withSocketPath<T>(folder: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, SOCKET_FILE);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return use(path);
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    return await use(`/proc/self/fd/${fd}/${SOCKET_FILE}`);
  } finally {
    closeSync(fd);
  }
}
