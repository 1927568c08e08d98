// Writers that repeat each call with its key until it is acknowledged, and a ledger of what was: it is there once, whatever happened meanwhile.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import pg from "pg";
import { decodeId } from "@keelson/contract";
import { until } from "../../support/until.ts";
import { bundleOf } from "./bundle.ts";
import type { Answer } from "./caller.ts";
import { enrollRawWorker } from "./raw-worker.ts";
import { createDeployment, promoteWhenReady, type ServerProcess, type Site } from "./site.ts";

/** What a writer was told is done. */
export type Written = { runs: string[]; session: string; records: string[]; tokens: string[] };

export type Load = {
  written: Written[];
  /** When each write was acknowledged, by `performance.now()`. */
  times: number[];
  /** Answers that were neither: what callers must not get. */
  wrong: string[];
  refused: number;
  isOver: boolean;
};

/** Repeats a call with its key at either server until it is done. */
async function insist(
  site: Site,
  load: Load,
  at: number,
  path: string,
  body: object,
): Promise<Answer["body"]> {
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

async function keepWriting(site: Site, load: Load, at: number, written: Written): Promise<void> {
  while (!load.isOver) {
    const key = randomUUID();
    const run = await insist(site, load, at, "/v1/tasks/a/start", { idempotency_key: key, delay: "1d" });
    written.runs.push(run.id);
    await insist(site, load, at, `/api/sessions/${written.session}/outputs/said`, {
      idempotency_key: key,
      data: key,
    });
    written.records.push(key);
    const token = await insist(site, load, at, "/v1/tokens", { idempotency_key: key });
    await insist(site, load, at, `/v1/tokens/${token.id}/complete`, { data: { key } });
    written.tokens.push(token.id);
  }
}

/** Goes on while the load is at work, and then until it has ended. */
export async function underLoad(
  site: Site,
  written: Written[],
  work: (load: Load) => Promise<void>,
): Promise<Load> {
  const load: Load = { written, times: [], wrong: [], refused: 0, isOver: false };
  const writers = Promise.all(written.map((one, at) => keepWriting(site, load, at, one)));
  writers.catch(() => undefined);
  try {
    await work(load);
  } finally {
    load.isOver = true;
    await writers;
  }
  return load;
}

export const moreThan = (load: Load, since: number, count: number): Promise<void> =>
  until(
    `${count} more writes`,
    120_000,
    async () => load.times.filter((time) => time > since).length >= count,
  );

/**
 * Compares the ledger with what is there at last. The writers were the only ones.
 *
 * @param databaseUrl past the servers, and past any pooler
 * @returns what was acknowledged, in a sentence
 */
export async function checkWritten(
  site: Site,
  databaseUrl: string,
  written: readonly Written[],
): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
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
  const total = (of: (one: Written) => unknown[]): number =>
    written.reduce((sum, one) => sum + of(one).length, 0);
  return `${total(({ runs }) => runs)} starts, ${total(({ records }) => records)} records and ${total(({ tokens }) => tokens)} completions acknowledged; 0 lost, 0 doubled`;
}

/** Deploys what the writers start. */
export async function deployForWriters(site: Site): Promise<void> {
  const worker = await enrollRawWorker(site, site.servers[0] as ServerProcess, "checker");
  const bundle = bundleOf({ a: "return 1;" });
  const { api_key: key } = site.credentials;
  const deployment = await createDeployment(site, bundle, [{ id: "a" }], key, { actors: [{ id: "chat" }] });
  await worker.passCheck(["a"], ["chat"]);
  await promoteWhenReady(site, deployment);
}

/** A ledger for each writer, which has a session of its own. */
export async function startWriters(site: Site, count: number): Promise<Written[]> {
  const { url } = site.servers[0] as ServerProcess;
  const written: Written[] = [];
  for (let at = 0; at < count; at += 1) {
    const { status, body } = await site.call(url, "POST", "/v1/sessions", { body: { actor: "chat" } });
    assert.equal(status, 201, JSON.stringify(body));
    written.push({ runs: [], session: body.id, records: [], tokens: [] });
  }
  return written;
}
