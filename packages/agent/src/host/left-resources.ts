import { subscribe } from "node:diagnostics_channel";
import type { Worker } from "node:worker_threads";

/**
 * Tells whether code that the process has left can still be at work: something that keeps an event loop alive, such as a timer, a
 * socket or a child process, is there that was not there when this was called, or a thread. What does not keep it alive, as an
 * idle connection of `fetch`, is no sign of work. Call it when the bundle is loaded, before it has run anything.
 */
export function watchResources(): () => boolean {
  const before = countResources();
  const threads = new Set<Worker>();
  // Node does not count threads among what keeps an event loop alive.
  subscribe("worker_threads", (message) => {
    const { worker } = message as { worker: Worker };
    threads.add(worker);
    worker.once("exit", () => threads.delete(worker));
  });
  return () => {
    if (threads.size > 0) return true;
    for (const [kind, count] of countResources()) if (count > (before.get(kind) ?? 0)) return true;
    return false;
  };
}

function countResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
