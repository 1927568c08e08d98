// Readers of a stream that reconnect at random, to either of two servers, while many append at once and PostgreSQL and a
// server are killed: what was acknowledged is there once, and every reader sees every record once, in order.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { followToEnd, type Followed } from "./support/event-source.ts";
import { killPostmaster } from "./support/kill-at-random.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import { crashSeconds, isLong, newSeed, pick, seededRandom, type Random } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { letPass, until } from "../support/until.ts";

const OUTAGE_MS = 30_000;
const APPENDERS = isLong() ? 8 : 4;

let site: Site;
before(async () => (site = await startSite({ servers: 2, leaseDuration: "120s" })));
after(() => site?.stop());

async function startSession(): Promise<string> {
  const [first] = site.servers as [ServerProcess];
  const worker = await enrollRawWorker(site, first, "nobody");
  const deployment = await createDeployment(site, "export {};\n", [{ id: "talk" }]);
  await worker.passCheck(["talk"]);
  await promoteWhenReady(site, deployment);
  const created = await site.call(first.url, "POST", "/v1/sessions", { body: { task: "talk" } });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  return created.body.id;
}

/** Sends a request again, to either server, until it is answered. */
async function insist(path: string, body: object, random: Random): Promise<number> {
  let status = 0;
  await until("the service comes back", OUTAGE_MS, async () => {
    const server = pick(random, site.servers);
    const answer = await site.call(server.url, "POST", path, { body }).catch(() => null);
    if (answer !== null) ({ status } = answer);
    return answer !== null && status < 500;
  });
  return status;
}

/** Appends for a while, each record with a key of its own. @returns what was acknowledged, in the order of sending. */
async function append(sessionId: string, name: string, random: Random, forMs: number): Promise<string[]> {
  const said: string[] = [];
  const deadline = performance.now() + forMs;
  while (performance.now() < deadline) {
    const texts = Array.from(
      { length: 1 + Math.floor(random() * 3) },
      (_, n) => `${name} ${said.length + n}`,
    );
    const body = {
      idempotency_key: `${name}-${said.length}`,
      records: texts.map((text) => ({ data: { text, filler: "é".repeat(Math.floor(random() * 300)) } })),
    };
    const status = await insist(`/api/sessions/${sessionId}/outputs/output`, body, random);
    assert.equal(status, 201);
    said.push(...texts);
    if (random() < 0.2) await letPass(random() * 40, "appends come at random moments");
  }
  return said;
}

const textsOf = ({ events }: Followed): string[] =>
  events.map(({ data }) => (JSON.parse(data) as { data: { text: string } }).data.text);

function checkNumbers(name: string, { events }: Followed): void {
  const ids = events.map(({ id }) => Number(id));
  const wrong = ids.findIndex((id, index) => id !== index + 1);
  assert.equal(
    wrong,
    -1,
    `${name}: … ${ids.slice(Math.max(0, wrong - 3), wrong + 3).join(" ")} … where ${wrong + 1} was due`,
  );
}

test("readers of a stream that reconnect at random meet no gap, no repeat and no other order, and nothing is lost", async () => {
  const seed = newSeed();
  const random = seededRandom(seed);
  const [first, second] = site.servers as [ServerProcess, ServerProcess];
  const sessionId = await startSession();
  const forMs = crashSeconds(5) * 1_000;
  const over = new AbortController();
  const follow = (cutAfterMs: number | null, after?: string): Promise<Followed> =>
    followToEnd({
      urls: [first.url, second.url],
      path: `/api/sessions/${sessionId}/outputs/output/read`,
      credential: site.credentials.api_key,
      random,
      cutAfterMs,
      signal: over.signal,
      ...(after === undefined ? {} : { after }),
    });
  const readers = Promise.all([follow(250), follow(100), follow(600), follow(null)]);
  const appending = Promise.all(
    Array.from({ length: APPENDERS }, (_, n) => append(sessionId, `appender ${n}`, random, forMs)),
  ).catch((error: unknown) => {
    over.abort();
    throw error;
  });
  await letPass(forMs * 0.3, "PostgreSQL is killed in the middle of the appends");
  killPostmaster(site);
  await letPass(forMs * 0.3, "a server is killed some time after PostgreSQL");
  await second.kill();
  await second.start();
  const said = await appending;
  // Its run was never taken, so nothing can append after this.
  assert.equal(await insist(`/api/sessions/${sessionId}/cancel`, {}, random), 200);
  const giveUp = setTimeout(() => over.abort(), OUTAGE_MS);
  const followed = await readers;
  clearTimeout(giveUp);

  const [steady] = followed.slice(-1) as [Followed];
  const connections = followed.map((one) => one.connections);
  console.log(
    `seed ${seed} · ${said.flat().length} records acknowledged to ${APPENDERS} appenders · ${steady.events.length} read over ${connections.join(", ")} connections`,
  );
  for (const [at, one] of followed.entries()) {
    checkNumbers(`reader ${at}`, one);
    assert.equal(one.end?.event, "end");
    const texts = textsOf(one);
    for (const [n, own] of said.entries())
      assert.deepEqual(
        texts.filter((text) => text.startsWith(`appender ${n} `)),
        own,
      );
    assert.equal(texts.length, said.flat().length);
  }
  assert.ok((connections[0] ?? 0) > 10, "too few reconnections to tell");
  const again = await follow(null, steady.events.at(-1)?.id ?? "");
  assert.deepEqual([again.events, again.connections, again.end?.event], [[], 1, "end"]);
});
