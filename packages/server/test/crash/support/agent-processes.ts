// What the agents of one site have started on this machine, told apart from what other tests run beside it.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Site } from "./site.ts";

export interface AgentProcesses {
  /** What an agent is given as its environment, so that its task hosts are known. */
  readonly env: Record<string, string>;
  /** The processes that runs run in, idle ones among them. */
  hosts(): number[];
  supervisors(): number[];
  /** What commands in workspaces run in, wrappers included. */
  execs(): number[];
}

const MARK = "KEELSON_TEST_SITE";

export function findAgentProcesses({ dir }: Pick<Site, "dir">): AgentProcesses {
  const runs = (entry: string): number[] =>
    listPids().filter((pid) => isAlive(pid) && read(pid, "cmdline").includes(`/${entry}/main.`));
  const supervisors = (): number[] =>
    // Its environment is empty; what it says goes into a file of its agent's.
    runs("supervisor").filter((pid) => linkOf(pid, "fd/2").startsWith(dir));
  return {
    env: { KEELSON_TASK_ENV: MARK, [MARK]: dir },
    hosts: () => runs("host").filter((pid) => read(pid, "environ").includes(`${MARK}=${dir}`)),
    supervisors,
    execs: () => {
      const family = new Set(supervisors());
      const parents = new Map(listPids().map((pid) => [pid, parentOf(pid)] as const));
      const isOurs = (pid: number): boolean => {
        const parent = parents.get(pid);
        return parent !== undefined && (family.has(parent) || isOurs(parent));
      };
      // A supervisor has a helper of its own besides, which bears no mark.
      return [...parents.keys()].filter(
        (pid) => isOurs(pid) && isAlive(pid) && read(pid, "environ").includes("KEELSON_SANDBOX_PROCESS="),
      );
    },
  };
}

const listPids = (): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Behind the name, which is in parentheses and may hold anything. */
const statOf = (pid: number): string[] => {
  const stat = read(pid, "stat");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
};

const isAlive = (pid: number): boolean => !["", "Z", "X"].includes(statOf(pid)[0] as string);
const parentOf = (pid: number): number => Number(statOf(pid)[1]);

/** Empty for one that has ended meanwhile. */
function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}

function linkOf(pid: number, name: string): string {
  try {
    return readlinkSync(`/proc/${pid}/${name}`);
  } catch {
    return "";
  }
}
