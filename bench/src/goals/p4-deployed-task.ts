import { setTimeout as sleep } from "node:timers/promises";
import { waitForIdle } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";
import { measureEndToEnd } from "./p4-end-to-end.ts";
import { measureDrain, type DrainFigures } from "./p5-drain.ts";

export type MeasuredTask = { mode: "default" | "shared"; task: string; capacity: number };

/** 16 is what an agent has when nobody says how much. */
export const MEASURED_TASKS: readonly MeasuredTask[] = [
  { mode: "default", task: "noop", capacity: 16 },
  { mode: "default", task: "noop", capacity: 100 },
  { mode: "shared", task: "noop-shared", capacity: 16 },
];

/** An agent has enrolled and waits for work by then; it has run nothing. */
const ENROLLED_MS = 3_000;

export type DeployedTaskFigures = {
  /** P4 with an agent that has run nothing yet. */
  cold: number;
  /** P4 again, with the same agent. */
  warm: number;
  /** P5, which begins with an agent that has run nothing. */
  drain: DrainFigures;
};

/** P4 and P5 of a task of the deployed project. Expects no agent and leaves one. */
export async function measureDeployedTask(
  keelson: Keelson,
  postgres: number,
  { task, tasks, callers, capacity }: { task: string; tasks: number; callers: number; capacity: number },
): Promise<DeployedTaskFigures> {
  const agent = await keelson.startAgent(capacity);
  await sleep(ENROLLED_MS);
  const cold = await measureEndToEnd(keelson, Math.ceil(tasks / 5), callers, task);
  const warm = await measureEndToEnd(keelson, tasks, callers, task);
  await waitForIdle(keelson.api, 60_000);
  await agent.stop();
  const drain = await measureDrain(keelson, postgres, tasks, { capacity, task });
  return { cold, warm, drain };
}
