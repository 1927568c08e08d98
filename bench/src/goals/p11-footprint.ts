import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuBetweenMs, readCpuMs, readMemoryMib } from "../harness/process-tree.ts";
import { deployBundle, waitForSucceeded } from "../ours/api.ts";
import { startKeelson } from "../ours/keelson.ts";

export type Footprint = {
  firstStartMs: number;
  restartMs: number;
  /** Of server and PostgreSQL. */
  idleMib: number;
  idleCpuPercent: number;
  /** Of the agent beside them. */
  idleAgentCpuPercent: number;
};

export type IdleTimes = { settleMs: number; watchMs: number };

/**
 * P11: a server with its built-in PostgreSQL. From an empty folder until the first start is accepted, which takes a
 * cluster, the migrations, an agent's dry boot of the deployment and its promotion; then a restart on the same folder
 * until a start is accepted; then what server, PostgreSQL and an agent use when nothing has been asked of them for a while.
 */
export async function measureFootprint(dir: string, { settleMs, watchMs }: IdleTimes): Promise<Footprint> {
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
    const agent = await second.startAgent(16);
    await waitForSucceeded(second.api, 2, 30_000);
    await sleep(settleMs);
    const read = () => ({ server: readCpuMs(second.server.pid), agent: readCpuMs(agent.pid) });
    const before = read();
    await sleep(watchMs);
    const after = read();
    const percentOf = (part: keyof typeof before): number =>
      (100 * cpuBetweenMs(before[part], after[part])) / watchMs;
    return {
      firstStartMs,
      restartMs,
      idleMib: readMemoryMib(second.server.pid),
      idleCpuPercent: percentOf("server"),
      idleAgentCpuPercent: percentOf("agent"),
    };
  } finally {
    await second.stop();
  }
}
