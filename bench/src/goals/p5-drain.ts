import type { Run, RunEvent } from "@keelson/contract";
import { PAYLOAD } from "../floors/insert-table.ts";
import { listNewestRuns, startMany, waitForSucceeded } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

/**
 * P5: runs a second that one agent drains from a backlog made while there was none: from the first lease to the last
 * success, by the times that the server recorded. Expects no agent and leaves one with that capacity.
 */
export async function measureDrain(keelson: Keelson, runs: number, capacity = 100): Promise<number> {
  const before = (await keelson.api.counts()).succeeded;
  const ids = new Set(await startMany(keelson.api, "noop", JSON.parse(PAYLOAD), runs));
  await keelson.startAgent(capacity);
  await waitForSucceeded(keelson.api, before + runs, 60_000);

  const drained = (await listNewestRuns(keelson.api, runs)).filter((run) => ids.has(run.id));
  if (drained.length !== runs || drained.some((run) => run.status !== "succeeded"))
    throw new Error(`${drained.length} of ${runs} runs have succeeded`);
  const first = drained.reduce((a, b) => (startedAt(a) <= startedAt(b) ? a : b));
  const { events } = await keelson.api.call<{ events: RunEvent[] }>("GET", `/v1/runs/${first.id}/events`);
  const leased = events.find((event) => event.kind === "run.leased");
  if (leased === undefined) throw new Error(`run ${first.id} has no run.leased event`);
  const lastMs = Math.max(...drained.map((run) => Date.parse(run.finished_at as string)));
  return (runs * 1000) / (lastMs - Date.parse(leased.at));
}

const startedAt = (run: Run): string => run.started_at as string;
