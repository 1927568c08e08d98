import type { SandboxLimits } from "../sandboxes/sandbox.ts";
import type { Usage } from "./measure-usage.ts";

/** Who is to be ended because of a limit of the workspace, and what its caller is told. */
export type Excess = { id: string | null; reason: string };

const MIB = 1024 * 1024;
const mebibytes = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`;

/**
 * The exec or terminal to end when all of a workspace use more than it may: the one that uses the most, and of equals the
 * newest, which is the last in the list.
 *
 * @param memoryLimit bytes; null is no limit.
 */
export function decideExcess(
  usages: readonly Usage[],
  { processes, memoryLimit }: { processes: number; memoryLimit: number | null },
): Excess | null {
  const tasks = usages.reduce((sum, usage) => sum + usage.tasks, 0);
  if (tasks > processes) {
    const most = largest(usages, (usage) => usage.tasks);
    return { id: most.id, reason: tooManyProcesses(tasks, processes) };
  }
  const bytes = usages.reduce((sum, usage) => sum + usage.memoryBytes, 0);
  if (memoryLimit === null || bytes <= memoryLimit) return null;
  const most = largest(usages, (usage) => usage.memoryBytes);
  return {
    id: most.id,
    reason: `The programs of the workspace together used ${mebibytes(bytes)} of memory, and its sandbox allows ${mebibytes(memoryLimit)} (resources.memory). The worker ended this command, which used the most: ${mebibytes(most.memoryBytes)}. Use less memory, or raise resources.memory.`,
  };
}

const tooManyProcesses = (tasks: number, limit: number): string =>
  `The workspace had ${tasks} processes and threads, and its limit is ${limit}. The worker ended this command, which had the most. Start fewer at a time.`;

export const noRoomForProcess = (limit: number): string =>
  `The command could not be started: the workspace has all of the ${limit} processes and threads that it may have. End some of its commands first.`;

export const ranOutOfProcesses = (limit: number): string =>
  `The command failed while other commands had all of the ${limit} processes and threads that the workspace may have. End some of them first, and run it again.`;

export const endedForMemory = (mebibytesAllowed: number): string =>
  `The programs of the workspace reached the ${mebibytesAllowed} MiB of memory that its sandbox allows (resources.memory), and the kernel ended some of them. Use less memory, or raise resources.memory.`;

export const endedForMemoryOfHost =
  "The worker's machine, or the service that its agent is in, ran out of memory, and the kernel ended programs of the workspace before others. Use less memory, limit it by resources.memory, or give the worker more.";

/** The exec or terminal that wrote the most since the last look; null when nobody wrote. */
export function decideDiskExcess(
  written: ReadonlyMap<string | null, number>,
  { usedBytes, limits: { diskBytes } }: { usedBytes: number; limits: Pick<SandboxLimits, "diskBytes"> },
): Excess | null {
  const writers = [...written].filter(([, bytes]) => bytes > 0).map(([id, bytes]) => ({ id, bytes }));
  if (usedBytes <= diskBytes || writers.length === 0) return null;
  const { id } = largest(writers, ({ bytes }) => bytes);
  return {
    id,
    reason: `${describeFullQuota(usedBytes, diskBytes)} The worker ended this command, which wrote the most. ${ADVICE}`,
  };
}

export const describeFullQuota = (usedBytes: number, diskBytes: number): string =>
  `The files of the workspace take ${mebibytes(usedBytes)} of disk, and the worker allows ${mebibytes(diskBytes)} (KEELSON_AGENT_WORKSPACE_DISK_MIB).`;

const ADVICE = "Delete files: until then new commands can delete and read files, and write none.";
export const restrictedByQuota = (usedBytes: number, diskBytes: number): string =>
  `${describeFullQuota(usedBytes, diskBytes)} ${ADVICE}`;

function largest<T>(items: readonly T[], of: (item: T) => number): T {
  return items.reduce((most, item) => (of(item) >= of(most) ? item : most));
}
