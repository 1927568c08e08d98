// PostgreSQL is far away: how fast runs follow one another in a limited queue, and go on or begin with what comes, is counted in round
// trips.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, describe, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { letPass, patience, until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import type { Answer } from "./support/caller.ts";
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
    actors: [{ id: "chat" }],
    queues: [{ name: "single", concurrency_limit: 1 }],
  });
  await worker.passCheck(["echo"], ["chat"]);
  await promoteWhenReady(site, deployment);
});
after(async () => {
  await site?.stop();
  await distant?.close();
});

async function call(path: string, body: object): Promise<Answer> {
  const { url } = site.servers[0] as ServerProcess;
  const answer = await site.call(url, "POST", path, { body, timeoutMs: patience() });
  assert.ok([200, 201].includes(answer.status), JSON.stringify(answer.body));
  return answer;
}

const start = (extra: object = {}): Promise<Answer> => call("/v1/tasks/echo/start", extra);

/** Reports operations of a lease, the first of which is its first. */
async function report({ fields }: Lease, ...operations: readonly object[]): Promise<void> {
  const at = new Date().toISOString();
  const numbered = operations.map((operation, index) => ({
    ...fields,
    sequence: index + 1,
    at,
    ...operation,
  }));
  const { status, body } = await worker.post(
    "executions/report",
    { operations: numbered },
    { timeoutMs: patience() },
  );
  assert.equal(status, 200, JSON.stringify(body));
  for (const result of body.results) assert.equal(result.status, 200, JSON.stringify(body));
}

const end = (lease: Lease): Promise<void> =>
  report(lease, { kind: "start" }, { kind: "release", outcome: "succeeded" });

/** All that is ready, and what that makes ready. */
async function endAll(): Promise<void> {
  for (let left = await worker.lease(50, "0ms"); left.length > 0; left = await worker.lease(50, "0ms"))
    for (const lease of left) await end(lease);
}

describe("a run of a limited queue", () => {
  // What the next test leases is of its own queue.
  afterEach(endAll);

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
      await assertRoundTrips(distant, 5, () => start(limited).then(() => undefined));
    });
  }
});

test("a token is completed, and the run goes on that waits for it, after at most five", async () => {
  let token = "";
  const prepare = async (): Promise<void> => {
    ({ id: token } = (await call("/v1/tokens", {})).body);
    await start();
    const [run] = await worker.lease(1, "20s");
    const wait = { position: 1, name: "wait", kind: "token", token_id: token };
    await report(run as Lease, { kind: "start" }, { kind: "waits", waits: [wait], parked: true });
  };
  const complete = (): Promise<void> =>
    call(`/v1/tokens/${token}/complete`, { data: 1 }).then(() => undefined);
  await assertRoundTrips(distant, 5, complete, prepare);
});

describe("input to a session", () => {
  let session = "";
  const open = async (): Promise<void> => {
    ({ id: session } = (await call("/api/sessions", { actor: "chat" })).body);
  };
  const send = (): Promise<void> =>
    call(`/api/sessions/${session}/inputs/input`, { data: 1, idempotency_key: randomUUID() }).then(
      () => undefined,
    );

  test("is stored, and the run goes on that waits for it, after at most six", async () => {
    const park = async (): Promise<void> => {
      await open();
      const [run] = await worker.lease(1, "20s");
      const wait = { position: 1, name: "wait", kind: "input", stream: "input" };
      await report(run as Lease, { kind: "start" }, { kind: "waits", waits: [wait], parked: true });
    };
    await assertRoundTrips(distant, 6, send, park);
  });

  test("is stored with the turn that it starts after at most fourteen", async () => {
    const rest = async (): Promise<void> => {
      await open();
      await endAll();
      const id = decodeId("sess", session);
      await until("the session is idle", 30_000, async () => {
        const [row] = await site.db.query<{ idle: boolean }>(sql`SELECT idle FROM sessions WHERE id = ${id}`);
        return row?.idle === true;
      });
    };
    await assertRoundTrips(distant, 14, send, rest);
  });
});
