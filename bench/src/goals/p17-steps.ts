import type { Run } from "@keelson/contract";
import { median } from "../harness/statistics.ts";
import { waitForEnd, type Api } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

/** So many steps at each end of the run are looked at. */
const LOOKED_AT = 200;
const LIMIT_MS = 120_000;

export type StepFigures = {
  /** Milliseconds from step to step, p50, at the beginning and at the end of the run. */
  first: number;
  last: number;
  /** Milliseconds until the first new call of an attempt whose journal has twice as many entries, as many as it may have. */
  resumed: number;
};

/** P17: one run with so many steps that follow each other, and one that begins again behind its journal. Expects an agent. */
export async function measureSteps(keelson: Keelson, count: number): Promise<StepFigures> {
  const { output } = await runOnce(keelson.api, "steps", { count });
  const times = output as number[];
  // The first steps are the compiler's.
  const first = median(times.slice(20, 20 + LOOKED_AT));
  const last = median(times.slice(-LOOKED_AT));
  const resumed = (await runOnce(keelson.api, "resumes", { count: count * 2 - 10 })).output as number;
  return { first, last, resumed };
}

/** P20: milliseconds of each chunk of children that one run waits for. Expects an agent. */
export async function measureFanOut(keelson: Keelson, chunks: number, size: number): Promise<number[]> {
  return (await runOnce(keelson.api, "fans-out", { chunks, size })).output as number[];
}

async function runOnce(api: Api, task: string, payload: unknown): Promise<Run> {
  const { id } = await api.start(task, payload);
  return waitForEnd(api, id, LIMIT_MS);
}
