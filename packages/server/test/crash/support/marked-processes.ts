// What runs of a materialization on this machine: everything its sandbox started is marked in its environment.

import { readdirSync, readFileSync } from "node:fs";

/** Without zombies, which nobody has asked after yet. */
export function markedProcesses(materializationId: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const stat = readOf(pid, "stat");
      if (stat === "" || stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z")) return false;
      return readOf(pid, "environ").includes(`KEELSON_SANDBOX_PROCESS=${materializationId}/`);
    });
}

/** Empty for one that has ended meanwhile. */
function readOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}
