import type { Run, RunEvent } from "@keelson/contract";
import { PAYLOAD } from "../floors/insert-table.ts";
import { cpuBetweenMs, readCpuMs } from "../harness/process-tree.ts";
import { listNewestRuns, startMany, waitFor, waitForSucceeded } from "../ours/api.ts";
import type { Keelson } from "../ours/keelson.ts";

export type DrainFigures = {
  /** Runs a second. */
  perSecond: number;
  /** Microseconds of processor time a run, by whose they are. */
  cpu: Record<"server" | "postgres" | "agent" | "hosts", number>;
};

/**
 * P5: runs a second that one agent drains from a backlog made while there was none: from the first lease to the last
 * success, by the times that the server recorded. Expects no agent and leaves one with that capacity.
 *
 * @param postgres the process id of the database's server.
 */
export async function measureDrain(
  keelson: Keelson,
  postgres: number,
  runs: number,
  { capacity = 100, task = "noop" } = {},
): Promise<DrainFigures> {
  const before = (await keelson.api.counts()).succeeded;
  const ids = new Set(await startMany(keelson.api, task, JSON.parse(PAYLOAD), runs));
  const agent = await keelson.startAgent(capacity);
  // The start of the agent is not the runs'.
  let seen = 0;
  await waitFor("the first run to have succeeded", 60_000, async () => {
    seen = (await keelson.api.counts()).succeeded - before;
    return seen > 0;
  });
  const pids = { server: keelson.server.pid, postgres, agent: agent.pid };
  const begun = readParts(pids);
  await waitForSucceeded(keelson.api, before + runs, 60_000);
  const ended = readParts(pids);
  const perRun = (part: keyof typeof begun): number =>
    (cpuBetweenMs(begun[part], ended[part]) * 1000) / (runs - seen);
  const cpu = {
    ...{ server: perRun("server"), postgres: perRun("postgres") },
    ...{ agent: perRun("agent"), hosts: perRun("hosts") },
  };

  const drained = (await listNewestRuns(keelson.api, runs)).filter((run) => ids.has(run.id));
  if (drained.length !== runs || drained.some((run) => run.status !== "succeeded"))
    throw new Error(`${drained.length} of ${runs} runs have succeeded`);
  const first = drained.reduce((a, b) => (startedAt(a) <= startedAt(b) ? a : b));
  const { events } = await keelson.api.call<{ events: RunEvent[] }>("GET", `/v1/runs/${first.id}/events`);
  const leased = events.find((event) => event.kind === "run.leased");
  if (leased === undefined) throw new Error(`run ${first.id} has no run.leased event`);
  const lastMs = Math.max(...drained.map((run) => Date.parse(run.finished_at as string)));
  return { perSecond: (runs * 1000) / (lastMs - Date.parse(leased.at)), cpu };
}

/** Hosts are what the agent has started. */
function readParts(pids: Record<"server" | "postgres" | "agent", number>) {
  const tree = readCpuMs(pids.agent);
  const agent = new Map([[pids.agent, tree.get(pids.agent) ?? 0]]);
  tree.delete(pids.agent);
  return { server: readCpuMs(pids.server), postgres: readCpuMs(pids.postgres), agent, hosts: tree };
}

const startedAt = (run: Run): string => run.started_at as string;
