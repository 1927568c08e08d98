import { setTimeout as sleep } from "node:timers/promises";
import { startChild } from "../harness/child.ts";
import { cpuBetweenMs, readCpuMs } from "../harness/process-tree.ts";
import { startSseReaders } from "../harness/sse-readers.ts";
import type { Keelson } from "../ours/keelson.ts";
import { createAppender, openStream } from "../ours/session.ts";

const READERS = 1_000;
const PER_SECOND = 10;

/** Processor time of the server as a share of one core, and the latency of its events. */
export type FanOut = { cpuPercent: number; p99Ms: number };

/** P10: a thousand readers of one stream, ten records a second. */
export async function measureFanOut(keelson: Keelson, events: number): Promise<FanOut> {
  const { appendPath, readPath } = await openStream(keelson);
  const appender = createAppender(keelson, appendPath);
  const headers = { authorization: `Bearer ${keelson.apiKey}` };
  try {
    return await measure(keelson.port, keelson.server.pid, readPath, headers, events, async () => {
      const startedAt = performance.now();
      for (let n = 0; n < events; n += 1) {
        const waitMs = startedAt + (n * 1000) / PER_SECOND - performance.now();
        if (waitMs > 0) await sleep(waitMs);
        await appender.append(`{"data":{"at":${process.hrtime.bigint()}}}`);
      }
    });
  } finally {
    appender.close();
  }
}

/** The same from a server that does nothing else. */
export async function measureBareFanOut(events: number): Promise<FanOut> {
  const server = startChild(new URL("../floors/bare-fan-out-server.ts", import.meta.url));
  try {
    const { port } = await server.next<{ port: number }>(10_000);
    return await measure(port, server.pid, "/", {}, events, async () => {
      server.process.send({ events, perSecond: PER_SECOND });
    });
  } finally {
    await server.stop();
  }
}

async function measure(
  port: number,
  pid: number,
  path: string,
  headers: Record<string, string>,
  events: number,
  cause: () => Promise<void>,
): Promise<FanOut> {
  const readers = startSseReaders({ port, path, headers, readers: READERS, events });
  try {
    await readers.opened;
    const before = readCpuMs(pid);
    const startedAt = performance.now();
    await cause();
    const { p99Ms } = await readers.finished((events * 1000) / PER_SECOND + 30_000);
    const cpuMs = cpuBetweenMs(before, readCpuMs(pid));
    return { cpuPercent: (cpuMs / (performance.now() - startedAt)) * 100, p99Ms };
  } finally {
    await readers.stop();
  }
}
