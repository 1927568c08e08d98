// The PostgreSQL that is written to goes, and its synchronous standby takes over: callers get 503 with `Retry-After` and no other refusal,
// the servers find the new one by themselves, and what was acknowledged is there once.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import pg from "pg";
import { decodeId } from "@keelson/contract";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { bundleOf } from "./support/bundle.ts";
import type { Answer } from "./support/caller.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import {
  ENDINGS,
  startReplicatedPostgres,
  type Ending,
  type ReplicatedPostgres,
} from "./support/replicated-postgres.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";

const WRITERS = isLong() ? 12 : 4;
const ROUNDS: readonly Ending[] = isLong() ? [...ENDINGS, ...ENDINGS, ...ENDINGS] : ["killed", "demoted"];
/** Of each writer before the other one takes over, and after it. */
const ENOUGH = isLong() ? 60 : 10;
/** How soon the first write is taken after the address has moved: a silent one has to be found out. */
const longestMs = (ending: Ending): number => (ending === "silent" ? 10_000 : 1_000);

let postgres: ReplicatedPostgres;
let site: Site;
before(async () => {
  postgres = await startReplicatedPostgres();
  site = await startSite({ servers: 2, leaseDuration: "120s", databaseUrlOf: async () => postgres.url });
  const server = site.servers[0] as ServerProcess;
  const worker = await enrollRawWorker(site, server, "checker");
  const bundle = bundleOf({ a: "return 1;" });
  const { api_key: key } = site.credentials;
  const deployment = await createDeployment(site, bundle, [{ id: "a" }], key, [{ id: "chat" }]);
  await worker.passCheck(["a"], ["chat"]);
  await promoteWhenReady(site, deployment);
});
after(async () => {
  await site?.stop();
  await postgres?.stop();
});

/** What a writer was told is done. */
type Written = { runs: string[]; session: string; records: string[]; tokens: string[] };

type Load = {
  written: Written[];
  /** When each write was acknowledged, by `performance.now()`. */
  times: number[];
  /** Answers that were neither: what callers must not get. */
  wrong: string[];
  refused: number;
  isOver: boolean;
};

/** Repeats a call with its key at either server until it is done. */
async function insist(load: Load, at: number, path: string, body: object): Promise<Answer["body"]> {
  let turn = at;
  let done: Answer["body"];
  await until(`${path} is done`, 120_000, async () => {
    const { url } = site.servers[turn % site.servers.length] as ServerProcess;
    turn += 1;
    const answer = await site
      .call(url, "POST", path, { body, timeoutMs: 30_000 })
      .catch((error: unknown) => void load.wrong.push(String(error)));
    if (answer !== undefined && answer.status < 300) done = answer.body;
    else if (answer?.status === 503 && answer.retryAfter) load.refused += 1;
    else if (answer !== undefined) load.wrong.push(JSON.stringify([path, answer]));
    return done !== undefined;
  });
  load.times.push(performance.now());
  return done;
}

async function keepWriting(load: Load, at: number, written: Written): Promise<void> {
  while (!load.isOver) {
    const key = randomUUID();
    const run = await insist(load, at, "/v1/tasks/a/start", { idempotency_key: key, delay: "1d" });
    written.runs.push(run.id);
    await insist(load, at, `/api/sessions/${written.session}/outputs/said`, {
      idempotency_key: key,
      data: key,
    });
    written.records.push(key);
    const token = await insist(load, at, "/v1/tokens", { idempotency_key: key });
    await insist(load, at, `/v1/tokens/${token.id}/complete`, { data: { key } });
    written.tokens.push(token.id);
  }
}

/** Goes on while the load is at work, and then until it has ended. */
async function underLoad(written: Written[], work: (load: Load) => Promise<void>): Promise<Load> {
  const load: Load = { written, times: [], wrong: [], refused: 0, isOver: false };
  const writers = Promise.all(written.map((one, at) => keepWriting(load, at, one)));
  writers.catch(() => undefined);
  try {
    await work(load);
  } finally {
    load.isOver = true;
    await writers;
  }
  return load;
}

const moreThan = (load: Load, since: number, count: number): Promise<void> =>
  until(
    `${count} more writes`,
    120_000,
    async () => load.times.filter((time) => time > since).length >= count,
  );

/** What is there at last, past the servers. */
async function checkWritten(written: readonly Written[]): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.primaryUrl });
  await client.connect();
  try {
    const count = async (text: string, values: unknown[] = []): Promise<number> =>
      Number((await client.query<{ count: string }>(text, values)).rows[0]?.count);
    const runs = written.flatMap((one) => one.runs);
    assert.equal(new Set(runs).size, runs.length);
    const uuids = runs.map((id) => decodeId("run", id));
    assert.equal(await count("SELECT count(*) FROM runs WHERE id = ANY($1)", [uuids]), runs.length);
    assert.equal(await count("SELECT count(*) FROM runs WHERE session_id IS NULL"), runs.length);
    const tokens = written.flatMap((one) => one.tokens).map((id) => decodeId("tok", id));
    assert.equal(
      await count("SELECT count(*) FROM tokens WHERE id = ANY($1) AND status = 'completed'", [tokens]),
      tokens.length,
    );
    assert.equal(await count("SELECT count(*) FROM tokens"), tokens.length);
  } finally {
    await client.end();
  }
  for (const { session, records } of written) {
    const { url } = site.servers[0] as ServerProcess;
    const read: string[] = [];
    for (let cursor = "0"; ;) {
      const page = await site.call(
        url,
        "GET",
        `/api/sessions/${session}/outputs/said?limit=200&cursor=${cursor}`,
      );
      read.push(...page.body.records.map(({ data }: { data: string }) => data));
      if (page.body.records.length === 0) break;
      cursor = page.body.next_cursor;
    }
    assert.deepEqual(read, records);
  }
}

test("the standby takes over, however the one in front goes, and nothing is lost or doubled", async (t) => {
  const { url } = site.servers[0] as ServerProcess;
  const written: Written[] = [];
  for (let at = 0; at < WRITERS; at += 1) {
    const { status, body } = await site.call(url, "POST", "/v1/sessions", { body: { actor: "chat" } });
    assert.equal(status, 201, JSON.stringify(body));
    written.push({ runs: [], session: body.id, records: [], tokens: [] });
  }
  for (const [round, ending] of ROUNDS.entries()) {
    if (round > 0) await postgres.replace();
    let movedAt = 0;
    const load = await underLoad(written, async (running) => {
      await moreThan(running, 0, WRITERS * ENOUGH);
      movedAt = await postgres.failOver(ending, async () => {
        const earlier = running.refused;
        await until("a write is refused", 60_000, async () => running.refused > earlier);
      });
      await moreThan(running, movedAt, WRITERS * ENOUGH);
    });
    const firstMs = Math.min(...load.times.filter((time) => time > movedAt)) - movedAt;
    t.diagnostic(
      `${ending}: first write ${Math.round(firstMs)} ms after the address had moved; ${load.times.length} writes, ${load.refused} times 503`,
    );
    assert.deepEqual(load.wrong, []);
    if (isLong()) assert.ok(firstMs <= longestMs(ending), `${ending}: ${firstMs} ms`);
  }
  await checkWritten(written);
  const total = (of: (one: Written) => unknown[]): number =>
    written.reduce((sum, one) => sum + of(one).length, 0);
  t.diagnostic(
    `${total(({ runs }) => runs)} starts, ${total(({ records }) => records)} records and ${total(({ tokens }) => tokens)} completions acknowledged; 0 lost, 0 doubled`,
  );
});
