import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuBetweenMs, readCpuMs, readMemoryMib } from "../harness/process-tree.ts";
import { deployBundle, waitForSucceeded } from "../ours/api.ts";
import { startKeelson } from "../ours/keelson.ts";

export type Footprint = { firstStartMs: number; restartMs: number; idleMib: number; idleCpuPercent: number };

/**
 * P11: a server with its built-in PostgreSQL. From an empty folder until the first start is accepted, which takes a
 * cluster, the migrations, an agent's dry boot of the deployment and its promotion; then a restart on the same folder
 * until a start is accepted; then what server and PostgreSQL use when nothing is asked of them, without an agent.
 */
export async function measureFootprint(dir: string, idleMs: number): Promise<Footprint> {
  const dataDir = path.join(dir, "footprint");
  let from = performance.now();
  const first = await startKeelson(dataDir);
  let firstStartMs: number;
  try {
    await first.startAgent(1);
    await deployBundle(first.api);
    await first.api.start("noop", {});
    firstStartMs = performance.now() - from;
    await waitForSucceeded(first.api, 1, 10_000);
  } finally {
    await first.stop();
  }

  from = performance.now();
  const second = await startKeelson(dataDir);
  try {
    await second.api.start("noop", {});
    const restartMs = performance.now() - from;
    await sleep(3_000); // What a start leaves to do is done.
    const before = readCpuMs(second.server.pid);
    await sleep(idleMs);
    const usedMs = cpuBetweenMs(before, readCpuMs(second.server.pid));
    return {
      firstStartMs,
      restartMs,
      idleMib: readMemoryMib(second.server.pid),
      idleCpuPercent: (100 * usedMs) / idleMs,
    };
  } finally {
    await second.stop();
  }
}
