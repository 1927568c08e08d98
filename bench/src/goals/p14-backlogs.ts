import type { StartBatch } from "@keelson/contract";
import { startMany, waitFor } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

const KEYS = 10;
const TASK = "noop-shared";

/** What sets the runs of a backlog apart. */
export type Backlog = "none" | "keys" | "one queue" | "many queues";

type Fields = Partial<StartBatch["starts"][number]>;

const FIELDS: Record<Backlog, (index: number) => Fields> = {
  none: () => ({}),
  keys: (index) => ({ concurrency_key: `key-${index % KEYS}` }),
  "one queue": () => ({ queue: "limited" }),
  "many queues": (index) => ({ queue: `limited-${index % 900}` }),
};

/**
 * P14 and P20: runs a second of the first `drained` runs of a backlog, by an agent at its default capacity. Backlogs of a kind
 * differ in what lies behind these. Expects no agent and leaves one, and the rest of the backlog.
 */
export async function measureBacklog(
  keelson: Keelson,
  kind: Backlog,
  { runs, drained }: { runs: number; drained: number },
): Promise<number> {
  await startMany(keelson.api, TASK, null, runs, FIELDS[kind]);
  await keelson.startAgent(16);
  const countEnded = async (): Promise<number> => (await keelson.api.counts()).succeeded;
  // The start of the agent is not the runs'.
  let first = 0;
  await waitFor("the first run to have succeeded", 60_000, async () => {
    first = await countEnded();
    return first > 0;
  });
  const from = performance.now();
  let last = first;
  await waitFor("the measured runs to have succeeded", 120_000, async () => {
    last = await countEnded();
    return last >= drained;
  });
  return ((last - first) * 1_000) / (performance.now() - from);
}
