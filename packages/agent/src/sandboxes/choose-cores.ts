import { readFileSync } from "node:fs";
import { spread } from "./sandbox.ts";

/** The cores that this process may use, as the kernel lists them: `0-3,8`. */
function listCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  return list.split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number);
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index);
  });
}

/**
 * What runs a program on a number of cores, rounded up, shared by all that it starts. Workspaces begin at different cores.
 */
export function affinityArguments(
  taskset: string | null,
  cpu: number | null,
  materializationId: string,
): string[] {
  if (taskset === null || cpu === null) return [];
  const cores = listCores();
  const count = Math.ceil(cpu);
  if (count >= cores.length) return [];
  const first = spread(materializationId) % cores.length;
  const chosen = Array.from({ length: count }, (_, index) => cores[(first + index) % cores.length]);
  return [taskset, "--cpu-list", chosen.join(",")];
}
