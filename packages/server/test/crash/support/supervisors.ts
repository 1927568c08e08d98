import { readdirSync, readFileSync } from "node:fs";
import type { SpawnedProcess } from "./spawned-process.ts";

/** The supervisors that an agent has started, by their parent. */
export const supervisorsOf = (agent: SpawnedProcess): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const parent = /^\d+ \(.*\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1];
        return (
          Number(parent) === agent.pid &&
          readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("supervisor/main")
        );
      } catch {
        // It has just ended.
        return false;
      }
    })
    .map(Number);
