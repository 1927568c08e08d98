import { setTimeout as sleep } from "node:timers/promises";
import { waitForIdle } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";
import { measureEndToEnd } from "./p4-end-to-end.ts";
import { measureDrain, type DrainFigures } from "./p5-drain.ts";

/** What an agent has when nobody says how much, and what is measured for tasks in one process. */
export const DEFAULT_CAPACITIES = [16, 100] as const;

/** An agent has enrolled and waits for work by then; it has run nothing. */
const ENROLLED_MS = 3_000;

export type DefaultTaskFigures = {
  /** P4 with an agent that has run nothing yet. */
  cold: number;
  /** P4 again, with the same agent. */
  warm: number;
  /** P5, which begins with an agent that has run nothing. */
  drain: DrainFigures;
};

/** P4 and P5 of a task in its default mode. Expects no agent and leaves one. */
export async function measureDefaultTask(
  keelson: Keelson,
  postgres: number,
  { tasks, callers, capacity }: { tasks: number; callers: number; capacity: number },
): Promise<DefaultTaskFigures> {
  const agent = await keelson.startAgent(capacity);
  await sleep(ENROLLED_MS);
  const cold = await measureEndToEnd(keelson, Math.ceil(tasks / 5), callers);
  const warm = await measureEndToEnd(keelson, tasks, callers);
  await waitForIdle(keelson.api, 60_000);
  await agent.stop();
  const drain = await measureDrain(keelson, postgres, tasks, capacity);
  return { cold, warm, drain };
}
