// PostgreSQL is far away, and runs of a limited queue follow one another: how fast they do is counted in round trips.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { letPass, patience } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import { startDistantPostgres, type DistantPostgres } from "./support/distant-postgres.ts";
import { enrollRawWorker, type Lease, type RawWorker } from "./support/raw-worker.ts";
import { assertRoundTrips } from "./support/round-trips.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";

const RUNS = 10;

let distant: DistantPostgres;
let site: Site;
let worker: RawWorker;
before(async () => {
  site = await startSite({
    ...{ servers: 1, leaseDuration: "120s" },
    databaseUrlOf: async (url) => (distant ??= await startDistantPostgres(url)).url,
  });
  worker = await enrollRawWorker(site, site.servers[0] as ServerProcess, "worker");
  const { api_key: key } = site.credentials;
  const bundle = bundleOf({ echo: "return payload;" });
  const deployment = await createDeployment(site, bundle, [{ id: "echo" }], key, {
    queues: [{ name: "single", concurrency_limit: 1 }],
  });
  await worker.passCheck(["echo"]);
  await promoteWhenReady(site, deployment);
});
after(async () => {
  await site?.stop();
  await distant?.close();
});

async function start(limited: object): Promise<void> {
  const { url } = site.servers[0] as ServerProcess;
  const options = { body: limited, timeoutMs: patience() };
  const { status, body } = await site.call(url, "POST", "/v1/tasks/echo/start", options);
  assert.equal(status, 201, JSON.stringify(body));
}

async function end({ fields }: Lease): Promise<void> {
  const operations = ["start", "release"].map((kind, index) => ({
    ...{ kind, ...fields, sequence: index + 1, at: new Date().toISOString() },
    ...(kind === "release" && { outcome: "succeeded" }),
  }));
  const { status, body } = await worker.post("executions/report", { operations }, { timeoutMs: patience() });
  assert.deepEqual(
    [status, body.results.map((result: { status: number }) => result.status)],
    [200, [200, 200]],
    JSON.stringify(body),
  );
}

describe("a run of a limited queue", () => {
  const LIMITED = { "a concurrency key": { concurrency_key: "one" }, "a queue": { queue: "single" } };
  for (const [what, limited] of Object.entries(LIMITED)) {
    test(`is given to a worker that waits four round trips after the end of the one before, of ${what}`, async () => {
      for (let count = 0; count < RUNS; count += 1) await start(limited);
      let [run] = await worker.lease(1, "20s");
      let next: Promise<Lease[]> = Promise.resolve([]);
      const prepare = async (): Promise<void> => {
        next = worker.lease(1, "20s");
        await letPass(1_200, "the poll looks, and once more after half a second, and waits");
      };
      const endOne = async (): Promise<void> => {
        await end(run as Lease);
        [run] = await next;
        assert.ok(run);
      };
      // The first of them is for the worker's token, which is not asked for again within a second.
      await assertRoundTrips(distant, 4, endOne, prepare);
      await end(run as Lease);
    });

    test(`is stored after at most five, of ${what}`, async () => {
      // The first of them is for the current deployment, which is looked up once a second.
      await assertRoundTrips(distant, 5, () => start(limited));
    });
  }
});
