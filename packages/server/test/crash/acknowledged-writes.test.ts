// What a caller was told is done is there after any process was killed: starts over HTTP, and log chunks of a worker.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { decodeId, type Uuid } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { bundleOf } from "./support/bundle.ts";
import { countVictims, killAtRandom } from "./support/kill-at-random.ts";
import { enrollRawWorker, type Lease, type RawWorker } from "./support/raw-worker.ts";
import { crashSeconds, isLong, newSeed, pick, seededRandom, type Random } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { letPass, until } from "../support/until.ts";

const STARTERS = isLong() ? 12 : 6;
const LANES = 4;
const ENOUGH_KILLS = 3;
/** Longer than any outage that the test makes. */
const OUTAGE_MS = 30_000;

let site: Site;
// The raw worker's leases outlive every outage of the test: what is looked at is durability alone.
before(async () => (site = await startSite({ servers: 2, leaseDuration: "120s" })));
after(() => site?.stop());

interface Ledger {
  /** Run id of each acknowledged start, with the key it was sent under. */
  starts: Map<string, string | null>;
  /** Keys whose start was acknowledged at last. */
  keys: Set<string>;
  unanswered: number;
  /** Acknowledged chunks of each run, in order. */
  chunks: Map<string, string[]>;
  repeatedAppends: number;
}

async function keepStarting(ledger: Ledger, random: Random, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const key = random() < 0.5 ? randomUUID() : null;
    // A start without a key is sent once: when no answer comes nobody knows, and nothing is owed.
    await until("the service comes back", OUTAGE_MS, async () => {
      const { url } = pick(random, site.servers);
      try {
        const body = { payload: { key }, ...(key === null ? {} : { idempotency_key: key }) };
        const answer = await site.call(url, "POST", "/v1/tasks/echo/start", { body });
        if (answer.status === 201) {
          const id = answer.body.id as string;
          ledger.starts.set(id, key);
          if (key !== null) ledger.keys.add(key);
          return true;
        }
        assert.equal(answer.status, 503, JSON.stringify(answer.body));
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        ledger.unanswered += 1;
      }
      return key === null;
    });
  }
}

async function keepAppending(
  worker: RawWorker,
  lease: Lease,
  ledger: Ledger,
  random: Random,
  isOver: () => boolean,
): Promise<void> {
  const acknowledged: string[] = [];
  ledger.chunks.set(lease.runId, acknowledged);
  for (let sequence = 2; !isOver(); sequence += 1) {
    const text = `chunk ${sequence} of ${lease.runId}\n`;
    const at = new Date().toISOString();
    const chunks = [
      { stream: random() < 0.7 ? "stdout" : "stderr", data: Buffer.from(text).toString("base64"), at },
    ];
    await until("the service comes back", OUTAGE_MS, async () => {
      try {
        const answer = await worker.post(
          "executions/logs",
          { ...lease.fields, sequence, at, chunks },
          { server: pick(random, site.servers) },
        );
        if (answer.status === 200) return true;
        assert.equal(
          answer.status,
          503,
          `an append after acknowledged ones was refused: ${JSON.stringify(answer.body)}`,
        );
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
      }
      ledger.repeatedAppends += 1;
      return false;
    });
    acknowledged.push(text);
    await letPass(2, "appends come at a rate");
  }
}

const countChunks = ({ chunks }: Ledger): number =>
  [...chunks.values()].reduce((sum, { length }) => sum + length, 0);

async function readLogs(runId: string): Promise<string[]> {
  const { url } = site.servers[0] as ServerProcess;
  const texts: string[] = [];
  let cursor: string | null = "0";
  while (cursor !== null) {
    const { status, body } = await site.call(url, "GET", `/v1/runs/${runId}/logs?limit=200&cursor=${cursor}`);
    assert.equal(status, 200, JSON.stringify(body));
    for (const chunk of body.logs as { data: string }[])
      texts.push(Buffer.from(chunk.data, "base64").toString());
    cursor = body.next_cursor as string | null;
  }
  return texts;
}

async function leaseLanes(worker: RawWorker, url: string): Promise<Lease[]> {
  for (let lane = 0; lane < LANES; lane += 1) {
    assert.equal((await site.call(url, "POST", "/v1/tasks/echo/start", { body: {} })).status, 201);
  }
  const leases: Lease[] = [];
  while (leases.length < LANES) leases.push(...(await worker.lease(LANES - leases.length, "5s")));
  for (const lease of leases) {
    const started = await worker.post("executions/start", {
      ...lease.fields,
      sequence: 1,
      at: new Date().toISOString(),
    });
    assert.equal(started.status, 200, JSON.stringify(started.body));
  }
  return leases;
}

async function countLost(ids: string[]): Promise<number> {
  const uuids = ids.map((id) => decodeId("run", id) as Uuid<"run">);
  const [row] = await site.db.query<{ count: number }>(
    sql`SELECT count(*) FROM runs WHERE id = ANY(${uuids}::uuid[])`,
  );
  return ids.length - (row?.count ?? 0);
}

test("acknowledged starts and log chunks survive SIGKILL of servers, agents and PostgreSQL", async () => {
  const seed = newSeed();
  const random = seededRandom(seed);
  const [first, second] = site.servers as [ServerProcess, ServerProcess];
  const worker = await enrollRawWorker(site, first, "ledger");
  const deployment = await createDeployment(site, bundleOf({ echo: "return payload;" }), [
    { id: "echo", execution: "shared" },
  ]);
  await worker.passCheck(["echo"]);
  await promoteWhenReady(site, deployment);
  const leases = await leaseLanes(worker, first.url);
  const agent = site.agent({ name: "agent 1", server: second, capacity: 16 });
  await agent.start();

  const ledger: Ledger = {
    starts: new Map(),
    keys: new Set(),
    unanswered: 0,
    chunks: new Map(),
    repeatedAppends: 0,
  };
  const over = new AbortController();
  const isOver = (): boolean => over.signal.aborted;
  const load = Promise.all([
    ...Array.from({ length: STARTERS }, () => keepStarting(ledger, random, isOver)),
    ...leases.map((lease) => keepAppending(worker, lease, ledger, random, isOver)),
  ]);
  // A load that fails ends the killing too.
  load.catch(() => over.abort());
  const forMs = crashSeconds(3) * 1_000;
  const isEnough = (kills: number): boolean =>
    kills >= ENOUGH_KILLS && ledger.starts.size > 200 && countChunks(ledger) > 200;
  const killings = await killAtRandom(site, [first, second, agent], {
    random,
    forMs,
    everyMs: 900,
    isEnough,
    signal: over.signal,
  });
  over.abort();
  await load;
  await until(
    "the server answers again",
    15_000,
    async () => (await site.call(first.url, "GET", "/readyz")).status === 200,
  );

  const lostStarts = await countLost([...ledger.starts.keys()]);
  let chunks = 0;
  const lostChunks: string[] = [];
  for (const [runId, acknowledged] of ledger.chunks) {
    const kept = await readLogs(runId);
    chunks += acknowledged.length;
    lostChunks.push(...acknowledged.filter((text) => !kept.includes(text)));
    assert.deepEqual(kept.slice(0, acknowledged.length), acknowledged, "chunks are kept once, in order");
  }
  const keyed = await site.db.query<{ count: number }>(sql`
    SELECT count(*) FROM runs WHERE payload LIKE '{"key":"%' GROUP BY payload`);
  console.log(
    `seed ${seed} · killed ${countVictims(killings)} · ${ledger.starts.size} starts acknowledged (${ledger.keys.size} with a key, ` +
      `${ledger.unanswered} calls unanswered), lost ${lostStarts} · ${chunks} log chunks acknowledged (${ledger.repeatedAppends} repeats), lost ${lostChunks.length}`,
  );
  assert.equal(lostStarts, 0);
  assert.deepEqual(lostChunks, []);
  assert.equal(keyed.filter((row) => row.count > 1).length, 0, "a key that was sent again made one run");
  assert.ok(killings.victims.length >= ENOUGH_KILLS, "too little was killed to tell");
});
