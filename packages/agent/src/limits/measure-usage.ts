import { readdirSync, readFileSync } from "node:fs";
import type { ProcessFacts } from "../sandboxes/find-processes.ts";
import type { Members } from "./find-members.ts";
import { deviceKey, listHeldFiles, listTemporaryFolders, type HeldFile } from "./held-files.ts";

/** What one exec or terminal uses with all that it started; under null what left all of them. */
export type Usage = {
  id: string | null;
  tasks: number;
  memoryBytes: number;
  /** On the disk of the workspace, in files that have no name any more. */
  deletedBytes: number;
};

/** bubblewrap outside, and its init inside, are not the workspace's doing. */
const WRAPPERS = 2;

type Sight = { id: string | null; processes: ProcessFacts[]; devices: Set<string>; temporaryBytes: number };

/**
 * Measures by what the kernel tells of each process. Resident pages are quick to ask for, and count pages twice that two
 * processes share: only when that sum is over the limit each shared page is counted once.
 */
export function measureUsage(
  members: Members,
  {
    isNamespace,
    memoryLimit,
    disk,
  }: { isNamespace: boolean; memoryLimit: number | null; disk: number | null },
): Usage[] {
  const files = new Map<string, HeldFile & { owner: string | null }>();
  const sights = [...members].map(([id, processes]): Sight => {
    const inside = processes.slice(1).map(({ pid }) => pid);
    const folders = isNamespace ? listTemporaryFolders(inside) : [];
    for (const process of processes) {
      for (const file of listHeldFiles(processFolder(process)))
        if (!folders.some(({ device }) => device === file.device))
          files.set(file.key, { ...file, owner: id });
    }
    return {
      ...{ id, processes },
      devices: new Set(folders.map(({ device }) => deviceKey(device))),
      temporaryBytes: sum(folders, ({ bytes }) => bytes),
    };
  });
  const measure = (memoryOf: (sight: Sight) => number): Usage[] =>
    sights.map((sight) => {
      const own = [...files.values()].filter(({ owner }) => owner === sight.id);
      const tasks = sum(sight.processes, ({ threads }) => threads);
      return {
        id: sight.id,
        tasks: isNamespace ? Math.max(0, tasks - WRAPPERS) : tasks,
        memoryBytes:
          memoryOf(sight) +
          sight.temporaryBytes +
          sum(
            own.filter(({ isMemory }) => isMemory),
            ({ bytes }) => bytes,
          ),
        deletedBytes: sum(
          own.filter(({ device, isMemory }) => !isMemory && device === disk),
          ({ bytes }) => bytes,
        ),
      };
    });
  const quick = measure(({ processes }) => sum(processes, readResidentBytes));
  if (memoryLimit === null || sum(quick, ({ memoryBytes }) => memoryBytes) <= memoryLimit) return quick;
  return measure(({ processes, devices }) =>
    sum(processes, (process) =>
      readOwnBytes(process, (key, device) => files.has(key) || devices.has(device)),
    ),
  );
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);

/** Where the kernel tells of a process: of one of its other threads when the first has ended. */
export function processFolder({ pid, threads }: ProcessFacts): string {
  if (threads > 1) {
    try {
      const other = readdirSync(`/proc/${pid}/task`).findLast((name) => name !== String(pid));
      if (other !== undefined) return `/proc/${pid}/task/${other}`;
    } catch {
      // It has ended meanwhile.
    }
  }
  return `/proc/${pid}`;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

const kilobytes = (text: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024;

const readResidentBytes = (process: ProcessFacts): number =>
  kilobytes(readText(`${processFolder(process)}/status`), "VmRSS");

/** Its own memory and its part of what it shares, without mapped files that are counted already. */
function readOwnBytes(process: ProcessFacts, isCounted: (key: string, device: string) => boolean): number {
  const folder = processFolder(process);
  const rollup = readText(`/proc/${process.pid}/smaps_rollup`);
  if (!rollup.includes("Pss_Anon:")) {
    const status = readText(`${folder}/status`);
    return kilobytes(status, "RssAnon") + kilobytes(status, "RssShmem") + kilobytes(status, "VmSwap");
  }
  const shared = kilobytes(rollup, "Pss_Shmem");
  const counted = shared === 0 ? 0 : sumCounted(readText(`${folder}/smaps`), isCounted);
  return kilobytes(rollup, "Pss_Anon") + kilobytes(rollup, "SwapPss") + Math.max(0, shared - counted);
}

const MAPPING = /^[0-9a-f]+-[0-9a-f]+ \S+ [0-9a-f]+ ([0-9a-f]+:[0-9a-f]+) (\d+)/;

function sumCounted(smaps: string, isCounted: (key: string, device: string) => boolean): number {
  let total = 0;
  let isOfCounted = false;
  for (const line of smaps.split("\n")) {
    const mapping = MAPPING.exec(line);
    if (mapping !== null) isOfCounted = isCounted(`${mapping[1]}:${mapping[2]}`, mapping[1] as string);
    else if (isOfCounted && line.startsWith("Pss:")) total += kilobytes(line, "Pss");
  }
  return total;
}
