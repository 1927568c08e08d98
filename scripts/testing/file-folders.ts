// A test file has folders of its own for what it writes, on disk and in memory. They are also how its leftovers are found:
// a process that a test started knows one of them by its environment, its arguments, its working directory or an open file.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeTestFolder, removeTestFolder } from "../../packages/server/test/support/test-folder.ts";

/** What ends with a delay of its own is not left behind. */
const GRACE_MS = 1_000;
const EVERY_MS = 100;
const SHOWN_CHARACTERS = 100;

export interface FileFolders {
  /** What a test finds its folders by. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends and removes what is left. @returns what that was, a line each */
  close(): Promise<string[]>;
}

export interface RunFolders {
  /** For what all files use, in memory. */
  readonly common: string;
  /** The folders of the n-th file. */
  open(n: number): Promise<FileFolders>;
  close(): Promise<void>;
}

/** Short names: the path of a socket has about a hundred characters. */
export async function openRunFolders(): Promise<RunFolders> {
  const disk = await mkdtemp(path.join(tmpdir(), "kt-"));
  await chmod(disk, 0o711);
  const memory = await makeTestFolder();
  const common = path.join(memory, "common");
  await mkdir(common);
  return {
    common,
    open: async (n) => {
      const folders = [path.join(disk, String(n)), path.join(memory, String(n))] as const;
      for (const folder of folders) {
        await mkdir(folder);
        // As the machine's own temporary folder: programs of other users write there too.
        await chmod(folder, 0o1777);
      }
      return {
        env: { TMPDIR: folders[0], KEELSON_TEST_MEMORY: folders[1] },
        close: async () => {
          const processes = await endProcessesOf(folders);
          const left = await Promise.all(folders.map((folder) => listEntries(folder)));
          await Promise.all(folders.map((folder) => removeTestFolder(folder)));
          return [...processes, ...left.flat()];
        },
      };
    },
    close: async () => {
      await rm(disk, { recursive: true, force: true });
      await removeTestFolder(memory);
    },
  };
}

const listEntries = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).map((name) => `folder or file ${path.join(folder, name)}`);

async function endProcessesOf(folders: readonly string[]): Promise<string[]> {
  const deadline = performance.now() + GRACE_MS;
  let left = findProcesses(folders);
  while (left.size > 0 && performance.now() < deadline) {
    await sleep(EVERY_MS);
    left = findProcesses(folders);
  }
  for (const pid of left.keys()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended just now.
    }
  }
  return [...left].map(([pid, command]) => `process ${pid}: ${command}`);
}

const orElse = <T>(read: () => T, otherwise: T): T => {
  try {
    return read();
  } catch {
    // It has ended, or is a part of the kernel.
    return otherwise;
  }
};

/** Of a supervisor, whose environment is empty, its log is the only trace. */
const listOpenFiles = (pid: number): string[] =>
  orElse(() => readdirSync(`/proc/${pid}/fd`), []).map((name) =>
    orElse(() => readlinkSync(`/proc/${pid}/fd/${name}`), ""),
  );

/** In one go, after each test file: to wait for each of a thousand small files takes more than twice the processor. */
function findProcesses(folders: readonly string[]): Map<number, string> {
  const found = new Map<number, string>();
  const pids = orElse(() => readdirSync("/proc"), [])
    .map(Number)
    .filter((pid) => pid > 1);
  for (const pid of pids) {
    if (pid === process.pid) continue;
    const environment = orElse(() => readFileSync(`/proc/${pid}/environ`, "latin1"), "");
    const command = orElse(() => readFileSync(`/proc/${pid}/cmdline`, "latin1"), "");
    const cwd = orElse(() => readlinkSync(`/proc/${pid}/cwd`), "");
    // One that has ended and that nobody has waited for has none of these.
    const facts = [environment, command, `${cwd}/`, ...listOpenFiles(pid), ""].join("\0");
    if (folders.some((folder) => facts.includes(`${folder}/`) || facts.includes(`${folder}\0`)))
      found.set(pid, command.replaceAll("\0", " ").slice(0, SHOWN_CHARACTERS));
  }
  return found;
}
