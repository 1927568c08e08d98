import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Writable } from "node:stream";
import { dirname, join } from "node:path";
import { spawnExpendable } from "../limits/spawn-expendable.ts";
import { PROCESS_MARK } from "../sandboxes/find-processes.ts";
import { SYSTEM_PATH, type SandboxMeans } from "../sandboxes/sandbox.ts";
import { buildSeccompFilter } from "../sandboxes/seccomp-filter.ts";
import { accountFiles, foldersAbove, systemFiles, temporary } from "../sandboxes/system-files.ts";
import { wrapInBubblewrap } from "../sandboxes/wrap-in-bubblewrap.ts";
import type { HostHome } from "./host-homes.ts";
import type { HostSpec } from "./host-key.ts";
import { HOST_ENTRY, hostProgram, toHostProcess, type HostProcess } from "./host-process.ts";

/** What bubblewrap reads and closes before the program begins, by descriptor; those below are the host's own. */
const FILES = { options: 6, seccomp: 7, passwd: 8, group: 9 } as const;

/**
 * Starts a host in the namespace tier, in a process group of its own. It sees the system's programs, what Node and the bundle
 * need, its own folders and those that the task declares, each at its own path. The network is the machine's: a run reaches
 * the server by it.
 */
export function spawnIsolatedHost(
  home: HostHome,
  spec: HostSpec,
  environment: Record<string, string>,
  means: SandboxMeans,
  ticketsFd: number | null,
): HostProcess {
  const uid = home.user?.uid ?? null;
  const env = { ...environment, ...home.environment };
  const id = uid ?? process.getuid?.() ?? 0;
  const { argv, options, ...start } = wrapInBubblewrap({
    ...{ means, uid, env, insideUid: id, hostname: "task", network: "on", optionsFd: FILES.options },
    options: hostOptions(home, spec),
    program: hostProgram(spec.memoryMb),
    startsAsAgent: false,
  });
  const [file, ...args] = argv as [string, ...string[]];
  const mark = home.environment[PROCESS_MARK];
  const child = spawnExpendable(() =>
    spawn(file, args, {
      stdio: [
        ...(["ignore", "pipe", "pipe", "pipe", "pipe", ticketsFd ?? "ignore"] as const),
        ...Object.keys(FILES).map(() => "pipe" as const),
      ],
      cwd: "/",
      env: { PATH: SYSTEM_PATH, ...(mark === undefined ? {} : { [PROCESS_MARK]: mark }) },
      detached: true,
      ...(start.uid === null ? {} : { uid: start.uid, gid: start.uid }),
    }),
  );
  const host = toHostProcess(child);
  const contents: Record<keyof typeof FILES, string | Buffer> = {
    options: options.join("\0"),
    seccomp: buildSeccompFilter(process.arch, { pinned: false }),
    ...accountFiles({ name: "task", id, home: env.HOME ?? home.work }),
  };
  for (const [name, fd] of Object.entries(FILES)) {
    const pipe = (child.stdio as unknown[])[fd] as Writable;
    // A bubblewrap that ends without reading says so by its end.
    pipe.on("error", () => undefined);
    pipe.end(contents[name as keyof typeof FILES], () => pipe.destroy());
  }
  return host;
}

function hostOptions(home: HostHome, { bundleRoot, folders, memoryMb }: HostSpec): string[] {
  // What is in another one is mounted after it.
  const declared = folders.toSorted((a, b) => a.path.length - b.path.length);
  const programs = [dirname(HOST_ENTRY), packageOf(HOST_ENTRY), process.execPath, bundleRoot];
  return [
    ...[...systemFiles(FILES), "--proc", "/proc", "--dev", "/dev", ...temporary("/dev/shm", memoryMb)],
    ...["--remount-ro", "/dev", ...temporary("/tmp", memoryMb), ...temporary("/var/tmp", memoryMb)],
    ...declared.flatMap(({ path, writable }) => [
      ...foldersAbove(path),
      ...[writable ? "--bind" : "--ro-bind", path, path],
    ]),
    ...programs.flatMap((path) => [...foldersAbove(path), "--ro-bind", path, path]),
    ...[...foldersAbove(home.path), "--bind", home.path, home.path, "--remount-ro", "/"],
    ...["--chdir", home.work, "--seccomp", String(FILES.seccomp)],
  ];
}

/** What says which kind of module a file is. */
function packageOf(file: string): string {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (existsSync(path)) return path;
    if (folder === "/") throw new Error(`There is no package.json above ${file}.`);
  }
}
