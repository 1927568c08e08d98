import { START_BODY } from "../floors/f4-bare-http.ts";
import { runHttpLoad, type HttpLoad } from "../harness/http-load.ts";
import type { Keelson } from "../ours/keelson.ts";

const FLOOD_CONNECTIONS = 64;
/** Calls of the other environment a second, over so many connections that a late answer delays no other call. */
const CALLS_PER_SECOND = 20;
const CALLER_CONNECTIONS = 8;

/** Starts a second of the flood, and milliseconds of the other's calls, each alone and both at once. */
export type FairShareFigures = {
  floodAlone: number;
  floodBeside: number;
  callP99Alone: number;
  callP99Beside: number;
};

/** P16: one environment starts runs from all its connections, and another one starts a run now and then. */
export async function measureFairShare(
  keelson: Keelson,
  otherKey: string,
  durationMs: number,
): Promise<FairShareFigures> {
  const load = (apiKey: string, connections: number): HttpLoad => ({
    port: keelson.port,
    path: "/v1/tasks/noop/start",
    headers: { authorization: `Bearer ${apiKey}` },
    body: START_BODY,
    ...{ connections, durationMs },
  });
  const flood = load(keelson.apiKey, FLOOD_CONNECTIONS);
  const calls = { ...load(otherKey, CALLER_CONNECTIONS), ratePerSecond: CALLS_PER_SECOND };
  await Promise.all([
    runHttpLoad({ ...flood, durationMs: 1_000 }),
    runHttpLoad({ ...calls, durationMs: 1_000 }),
  ]);
  const callAlone = await runHttpLoad(calls);
  const floodAlone = await runHttpLoad(flood);
  const [floodBeside, callBeside] = await Promise.all([runHttpLoad(flood), runHttpLoad(calls)]);
  return {
    ...{ floodAlone: floodAlone.perSecond, floodBeside: floodBeside.perSecond },
    ...{ callP99Alone: callAlone.p99Ms, callP99Beside: callBeside.p99Ms },
  };
}
