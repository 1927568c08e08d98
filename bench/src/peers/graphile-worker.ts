import { setTimeout as sleep } from "node:timers/promises";
import { startChild, type Child } from "../harness/child.ts";
import { percentile } from "../harness/statistics.ts";
import type { GraphileCommand } from "./graphile-worker-process.ts";

const MODULE = new URL("./graphile-worker-process.ts", import.meta.url);

const ask = <T>(child: Child, command: GraphileCommand): Promise<T> => child.ask<T>(command, 60_000);

/** Jobs a second that one graphile-worker process drains from a backlog. */
export async function measureGraphileDrain(url: string, jobs: number): Promise<number> {
  const filler = startChild(MODULE);
  const worker = startChild(MODULE);
  try {
    await ask(filler, { do: "fill", url, jobs });
    const { jobsPerSecond } = await ask<{ jobsPerSecond: number }>(worker, { do: "drain", url, jobs });
    return jobsPerSecond;
  } finally {
    await Promise.all([filler.stop(), worker.stop()]);
  }
}

/** Idle: from the call that adds a job in one process to its handler in another, p50 in milliseconds. */
export async function measureGraphileLatency(url: string, samples: number): Promise<number> {
  const adder = startChild(MODULE);
  const worker = startChild(MODULE);
  try {
    await ask(adder, { do: "fill", url, jobs: 0 });
    await ask(worker, { do: "listen", url });
    const latencies: number[] = [];
    for (let i = 0; i < samples + 20; i += 1) {
      const running = worker.next<{ runningAtMs: number }>(10_000);
      const { calledAtMs } = await ask<{ calledAtMs: number }>(adder, { do: "add", url });
      const { runningAtMs } = await running;
      if (i >= 20) latencies.push(runningAtMs - calledAtMs);
      await sleep(5);
    }
    return percentile(latencies, 0.5);
  } finally {
    await Promise.all([adder.stop(), worker.stop()]);
  }
}
