// What a test file that does not end is waiting for, by Node's own diagnostic report.

import { mkdir, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const REPORT_WAIT_MS = 10_000;
const EVERY_MS = 100;

/** The part of a report that is read. Source: Node's manual, "Diagnostic report". */
interface Report {
  readonly javascriptStack?: { readonly stack?: readonly string[] };
  readonly libuv?: readonly Handle[];
}

interface Handle {
  readonly type: string;
  readonly is_active?: boolean;
  readonly is_referenced?: boolean;
  readonly pid?: number;
  readonly firesInMsFromNow?: number;
  readonly localEndpoint?: { readonly host?: string; readonly port?: number } | null;
  readonly remoteEndpoint?: { readonly host?: string; readonly port?: number } | null;
}

/** Flags by which a process writes a report into the folder when it is asked for one. */
export const reportFlags = (folder: string): string[] => [
  "--report-on-signal",
  // Nor does it ask for the names of addresses.
  "--report-exclude-network",
  "--report-signal=SIGUSR2",
  `--report-directory=${folder}`,
];

/** Lines: where the code of the file's process stands, and what keeps the process going. */
export async function describeHang(file: string, folder: string): Promise<string[]> {
  const pid = await findProcessOf(file);
  if (pid === null) return ["Its process was not found."];
  await mkdir(folder, { recursive: true });
  process.kill(pid, "SIGUSR2");
  for (const deadline = performance.now() + REPORT_WAIT_MS; performance.now() < deadline;) {
    await sleep(EVERY_MS);
    const name = (await readdir(folder)).find((each) => each.includes(`.${pid}.`));
    if (name === undefined) continue;
    try {
      return describeReport(JSON.parse(await readFile(path.join(folder, name), "utf8")) as Report);
    } catch {
      // It is being written.
    }
  }
  return ["Its process did not say what it waits for: it is busy."];
}

/** The child of this process that runs the file. */
async function findProcessOf(file: string): Promise<number | null> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (parent === process.pid && command.split("\0").includes(file)) return Number(pid);
  }
  return null;
}

function describeReport({ javascriptStack, libuv = [] }: Report): string[] {
  const stack = (javascriptStack?.stack ?? []).filter((line) => line.includes("file://"));
  const handles = libuv.filter(
    ({ is_active, is_referenced }) => is_active === true && is_referenced === true,
  );
  return [...stack, ...new Set(handles.map((handle) => `waits for ${describeHandle(handle)}`))];
}

function describeHandle({ type, pid, firesInMsFromNow, localEndpoint, remoteEndpoint }: Handle): string {
  if (type === "process") return `process ${pid}`;
  if (type === "timer") return `a timer of ${firesInMsFromNow} ms`;
  if (remoteEndpoint) return `${type} to ${remoteEndpoint.host}:${remoteEndpoint.port}`;
  if (localEndpoint) return `${type} at ${localEndpoint.host}:${localEndpoint.port}`;
  return type;
}
