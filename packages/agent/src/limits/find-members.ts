import { lstatSync } from "node:fs";
import { isMarked, listProcesses, type ProcessFacts } from "../sandboxes/find-processes.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";

/** What runs in a workspace, by the exec or terminal that it came from; under null what left all of them. */
export type Members = Map<string | null, ProcessFacts[]>;

type Family = Pick<Sandbox, "materializationId" | "uid"> & { surroundings: { isolation: string } };

/**
 * Finds the processes of a workspace as its supervisor's tier can know them. In a process namespace everything descends from
 * its bubblewrap. In the process tier programs may leave their parents: they are found by session and group, by the
 * workspace's own uid, and by the mark in the environment with which they began.
 */
export function createMemberFinder({ materializationId, uid, surroundings }: Family) {
  const isNamespace = surroundings.isolation === "namespace";
  /** Answers of the environment, by pid and start: it is asked once for each process. */
  let known = new Map<string, boolean>();

  const isStray = (process: ProcessFacts, asked: Map<string, boolean>): boolean => {
    if (uid !== null) return ownerOf(process.pid) === uid;
    const key = `${process.pid}:${process.startedAt}`;
    const answer = known.get(key) ?? isMarked(process.pid, { owner: materializationId, uid: null });
    if (answer !== null) asked.set(key, answer);
    return answer === true;
  };

  return (roots: readonly { id: string; pid: number }[]): Members => {
    const all = listProcesses();
    const members: Members = new Map(roots.map(({ id }) => [id, []]));
    const origins = new Map(roots.map(({ id, pid }) => [pid, id]));
    const byParent = Map.groupBy(all, ({ ppid }) => ppid);
    const taken = new Set<number>();
    const take = (id: string | null, process: ProcessFacts): void => {
      const queue = [process];
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        if (taken.has(next.pid)) continue;
        taken.add(next.pid);
        const list = members.get(id) ?? [];
        members.set(id, list);
        list.push(next);
        queue.push(...(byParent.get(next.pid) ?? []));
      }
    };
    for (const process of all) {
      const id = origins.get(process.pid);
      if (id !== undefined) take(id, process);
    }
    if (isNamespace) return members;
    const asked = new Map<string, boolean>();
    for (const process of all) {
      if (taken.has(process.pid)) continue;
      const id = origins.get(process.session) ?? origins.get(process.group);
      if (id !== undefined) take(id, process);
      else if (isStray(process, asked)) take(null, process);
    }
    known = asked;
    return members;
  };
}

function ownerOf(pid: number): number | null {
  return lstatSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid ?? null;
}
