// An installation of two servers, each with its own way to the database, of which one is made to fail in the middle of a
// write; and a worker that says what a test wants it to say.

import assert from "node:assert/strict";
import type { Answer, CallOptions } from "./caller.ts";
import { startPostgresProxy, type PostgresProxy } from "./postgres-proxy.ts";
import { enrollRawWorker, type Lease, type RawWorker } from "./raw-worker.ts";
import { createDeployment, promoteWhenReady, startSite, type ServerProcess, type Site } from "./site.ts";
import { until } from "../../support/until.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** Operations of one lease in their order, which a repeat does not number again. */
export interface Held extends Lease {
  operation(kind: string, extra?: object): Json;
}

export interface Stage {
  readonly site: Site;
  readonly proxies: readonly PostgresProxy[];
  readonly worker: RawWorker;
  /** Sends it again, to one server after the other, until one answers: a repeat is the same request. */
  insist(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** As `insist`, and what was to be made must be there. @returns the body. */
  make(path: string, body?: object): Promise<Json>;
  get(path: string): Promise<Json>;
  /** Reports until it is answered. @returns the results. */
  report(...operations: Json[]): Promise<Json[]>;
  /** Waits until the run can be leased and leases it; whatever else it gets is kept for whoever asks for it. */
  take(runId: string): Promise<Held>;
  /** Takes a run and says that its code began. */
  begin(runId: string): Promise<Held>;
  stop(): Promise<void>;
}

export const TASKS = ["work", "talk"] as const;

/** An actor whose sessions stay open when a turn fails. */
export const KEPT_OPEN = "chat";

const OUTAGE_MS = 60_000;

export interface StageOptions {
  readonly poolSize: number;
  /** Whether each server's statements are watched. */
  readonly proxied: boolean;
  readonly serverEnv?: Readonly<Record<string, string>>;
}

export async function openStage({ poolSize, proxied, serverEnv }: StageOptions): Promise<Stage> {
  const proxies: PostgresProxy[] = [];
  const closeProxies = async (): Promise<void> => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
  };
  const site = await startSite({
    servers: 2,
    leaseDuration: "300s",
    poolSize,
    ...(serverEnv !== undefined && { serverEnv }),
    ...(proxied && {
      databaseUrlOf: async (url) => {
        const proxy = await startPostgresProxy(url);
        proxies.push(proxy);
        return proxy.url;
      },
    }),
  }).catch(async (error: unknown) => {
    await closeProxies();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await site.stop();
    await closeProxies();
  };
  try {
    const worker = await enrollRawWorker(site, site.servers[0] as ServerProcess, "raw");
    const deployment = await createDeployment(
      site,
      "export {};\n",
      TASKS.map((id) => ({ id })),
      site.credentials.api_key,
      { actors: [{ id: KEPT_OPEN, session_on_failure: "keep_open" }] },
    );
    await worker.passCheck(TASKS, [KEPT_OPEN]);
    await promoteWhenReady(site, deployment);
    return { ...talkTo(site, worker), proxies, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function talkTo(site: Site, worker: RawWorker): Omit<Stage, "proxies" | "stop"> {
  let turn = 0;
  const insist: Stage["insist"] = async (method, path, options = {}) => {
    let answer = null as Answer | null;
    await until(`${method} ${path} is answered`, OUTAGE_MS, async () => {
      const server = site.servers[(turn += 1) % site.servers.length] as ServerProcess;
      answer = await site.call(server.url, method, path, options).catch(() => null);
      assert.notEqual(answer?.status, 500, JSON.stringify(answer?.body));
      return answer !== null && answer.status < 500;
    });
    return answer as Answer;
  };
  const make: Stage["make"] = async (path, body = {}) => {
    const answer = await insist("POST", path, { body });
    assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body));
    return answer.body;
  };
  const report: Stage["report"] = async (...operations) => {
    let results: Json[] = [];
    await until("a report is answered", OUTAGE_MS, async () => {
      const server = site.servers[(turn += 1) % site.servers.length] as ServerProcess;
      const answer = await worker
        .post("executions/report", { operations }, { server })
        .catch(() => ({ status: 503, body: null }));
      if (answer.status === 200) {
        ({ results } = answer.body);
        return true;
      }
      assert.equal(answer.status, 503, JSON.stringify(answer.body));
      return false;
    });
    return results;
  };
  const leases = new Map<string, Held>();
  const take: Stage["take"] = async (runId) => {
    await until(`run ${runId} is leased`, OUTAGE_MS, async () => {
      if (leases.has(runId)) return true;
      turn += 1;
      for (const lease of await worker.lease(100, "200ms", site.servers[turn % site.servers.length]))
        leases.set(lease.runId, toHeld(lease));
      return leases.has(runId);
    });
    const held = leases.get(runId) as Held;
    leases.delete(runId);
    return held;
  };
  return {
    site,
    worker,
    insist,
    make,
    get: async (path) => {
      const answer = await insist("GET", path);
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    },
    report,
    take,
    begin: async (runId) => {
      const held = await take(runId);
      const [started] = await report(held.operation("start"));
      assert.equal(started?.status, 200, JSON.stringify(started));
      return held;
    },
  };
}

function toHeld(lease: Lease): Held {
  let sequence = 0;
  return {
    ...lease,
    operation: (kind, extra = {}) => {
      sequence += 1;
      return { kind, ...lease.fields, sequence, at: new Date().toISOString(), ...extra };
    },
  };
}
