// What an autoscaler does: looks at a group's load, starts agents when there are too few, drains some when there are too many.

import assert from "node:assert/strict";
import type { GroupCapacity } from "@keelson/contract";
import type { ServerProcess, Site } from "./site.ts";
import type { SpawnedProcess } from "./spawned-process.ts";
import { letPass } from "../../support/until.ts";

const LOOK_EVERY_MS = 100;

export interface Scaler {
  /** Those that were started and have not ended. */
  living(): SpawnedProcess[];
  /** How many were started, and how many drained, so far. */
  readonly started: number;
  readonly drained: number;
  /** The most that got work at once. */
  readonly most: number;
  load(): Promise<GroupCapacity>;
  /** Ends the looking; the agents stay. */
  stop(): Promise<void>;
}

export function startScaler(
  site: Site,
  server: ServerProcess,
  options: { group: string; capacity: number; maximum: number },
): Scaler {
  const { group, capacity, maximum } = options;
  const living = new Set<SpawnedProcess>();
  const stopping = new AbortController();
  let started = 0;
  let drained = 0;
  let most = 0;

  const call = async (method: string, path: string, body?: object) => {
    const answer = await site.call(server.url, method, `/capacity/v1/worker-groups/${group}${path}`, {
      as: site.credentials.capacity_key,
      ...(body === undefined ? {} : { body }),
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  };
  const load = async (): Promise<GroupCapacity> => (await call("GET", "")) as GroupCapacity;

  const startOne = async (): Promise<void> => {
    started += 1;
    const agent = site.agent({ name: `scaled ${started}`, server, capacity });
    await agent.start();
    living.add(agent);
    void agent.ended().then(() => living.delete(agent));
  };

  const look = async (): Promise<void> => {
    const { recommended_workers: recommended, workers } = await load();
    const { active, registered } = workers;
    most = Math.max(most, active);
    const wanted = Math.min(maximum, recommended);
    const there = active + registered;
    if (there < wanted) await Promise.all(Array.from({ length: wanted - there }, startOne));
    else if (there > wanted)
      drained += (await call("POST", "/drain", { count: there - wanted })).workers.length;
  };

  const looking = (async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await look();
      await letPass(LOOK_EVERY_MS, "a scaler looks at a rate");
    }
  })();
  // Awaited by `stop`; a failure meanwhile is no unhandled one.
  looking.catch(() => undefined);

  return {
    living: () => [...living],
    get started() {
      return started;
    },
    get drained() {
      return drained;
    },
    get most() {
      return most;
    },
    load,
    stop: async () => {
      stopping.abort();
      await looking;
    },
  };
}
