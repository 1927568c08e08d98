import { startChild } from "./child.ts";

/** One POST sent over and over, or to each of several paths once. */
export type HttpLoad = {
  port: number;
  /** Where each request goes; of several paths each has one, in this order. */
  path: string | readonly string[];
  headers: Record<string, string>;
  body: string;
  connections: number;
  /** Of several paths: the longest that all of them may take. */
  durationMs: number;
  /** Offered load over all connections; absent: as fast as answers come. */
  ratePerSecond?: number;
};

/** Only answers from 200 to 299 count; the rest is in `statuses`. */
export type HttpLoadResult = {
  /** Every 2xx answer, also those that came after the window: as many rows must exist. */
  acknowledged: number;
  /** 2xx answers inside the window, a second. The window of several paths ends with the last answer. */
  perSecond: number;
  statuses: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
};

/** Runs the load in a process of its own; throws when an answer was not 2xx. */
export async function runHttpLoad(load: HttpLoad): Promise<HttpLoadResult> {
  const child = startChild(new URL("./http-load-process.ts", import.meta.url));
  try {
    const result = await child.ask<HttpLoadResult>(load, load.durationMs + 30_000);
    const refused = Object.entries(result.statuses).filter(([status]) => !status.startsWith("2"));
    if (refused.length > 0)
      throw new Error(
        `POST ${[load.path].flat()[0]} was refused under load: ${JSON.stringify(result.statuses)}`,
      );
    return result;
  } finally {
    await child.stop();
  }
}
