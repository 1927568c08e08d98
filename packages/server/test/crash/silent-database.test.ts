// A network that drops what is sent to PostgreSQL, without a word to either side: statements under way, idle connections
// and LISTEN. And then one that carries new connections, while the old ones stay silent for ever.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bundleOf } from "./support/bundle.ts";
import { startPostgresProxy, type PostgresProxy } from "./support/postgres-proxy.ts";
import { enrollRawWorker } from "./support/raw-worker.ts";
import { createDeployment, promoteWhenReady, startSite, type Site } from "./support/site.ts";
import { isLong } from "../support/seeded-random.ts";
import { letPass, until } from "../support/until.ts";

/** Many more than there are connections: they wait for those, and for each other's statements. */
const CALLERS = 48;
/** The longest that a request may wait for its 503. */
const ANSWER_MS = 15_000;
/** From the network's recovery to answers. */
const RECOVERY_MS = 5_000;

/** The last server has PostgreSQL for itself: what happens there the others must hear of. */
const SERVERS = 3;
const proxies: PostgresProxy[] = [];
let site: Site;
let urls: string[];
before(async () => {
  site = await startSite({
    servers: SERVERS,
    leaseDuration: "120s",
    poolSize: 4,
    databaseUrlOf: async (url, at) => {
      if (at === SERVERS - 1) return url;
      const proxy = await startPostgresProxy(url);
      proxies.push(proxy);
      return proxy.url;
    },
  });
  urls = site.servers.map(({ url }) => url);
  const [server] = site.servers;
  assert.ok(server);
  const worker = await enrollRawWorker(site, server, "checker");
  const deployment = await createDeployment(site, bundleOf({ echo: "return payload;" }), [{ id: "echo" }]);
  await worker.passCheck(["echo"]);
  await promoteWhenReady(site, deployment);
});
after(async () => {
  await site?.stop();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

const CALLS = [
  ["GET", "/v1/runs"],
  ["POST", "/v1/tasks/echo/start"],
  ["POST", "/v1/tokens"],
  ["GET", "/v1/tasks"],
] as const;

/** Calls without an end, many at a time; each tells its status and how long it took. */
function keepCalling(url: string, isOver: () => boolean): Promise<{ status: number; tookMs: number }[][]> {
  return Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => {
      const answers: { status: number; tookMs: number }[] = [];
      const [method, path] = CALLS[caller % CALLS.length] as (typeof CALLS)[number];
      while (!isOver()) {
        const begun = performance.now();
        const { status } = await site.call(url, method, path, {
          timeoutMs: 60_000,
          ...(method === "POST" && { body: {} }),
        });
        answers.push({ status, tookMs: performance.now() - begun });
        await letPass(20, "each caller calls at a rate");
      }
      return answers;
    }),
  );
}

/** Until each of the calls succeeds, at once and again. */
const serves = async (url: string): Promise<boolean> => {
  for (const [method, path] of CALLS) {
    const answer = await site.call(url, method, path, {
      timeoutMs: 60_000,
      ...(method === "POST" && { body: {} }),
    });
    if (answer.status >= 500) return false;
  }
  return true;
};

async function fallSilent(at: number, silentMs: number): Promise<void> {
  const [proxy, url] = [proxies[at], urls[at]];
  assert.ok(proxy && url !== undefined);
  assert.equal(await serves(url), true);
  let over = false;
  const calling = keepCalling(url, () => over);
  await letPass(500, "the calls are under way when the network falls silent");
  proxy.silence();
  const silentAt = performance.now();
  await letPass(silentMs, "the network is silent for this long");
  if (silentMs > ANSWER_MS) {
    const probe = await site.call(url, "GET", "/readyz", { as: "" });
    assert.equal(probe.status, 503);
    assert.match(probe.body.error.details.check, /^(database|pool)$/);
  }
  proxy.heal();
  const healedAt = performance.now();
  await until("the server answers again", 60_000, () => serves(url));
  const recoveredMs = performance.now() - healedAt;
  over = true;
  const answers = (await calling).flat();
  const slowestMs = Math.max(...answers.map(({ tookMs }) => tookMs));
  const refused = answers.filter(({ status }) => status === 503).length;
  console.log(
    `silent for ${Math.round(healedAt - silentAt)} ms · ${answers.length} answers, ${refused} of them 503, the slowest after ${Math.round(slowestMs)} ms · recovered after ${Math.round(recoveredMs)} ms`,
  );
  const failed = answers.map(({ status }) => status).filter((status) => status >= 500);
  assert.deepEqual(
    failed.filter((status) => status !== 503),
    [],
  );
  // A silence that is shorter than what anybody waits need not fail a call.
  if (silentMs > ANSWER_MS) assert.ok(refused > 0, "nobody was refused");
  // How long it takes a machine that has nothing else to do: it says nothing of one that is busy.
  if (!isLong()) return;
  assert.ok(slowestMs < ANSWER_MS, `an answer took ${slowestMs} ms`);
  assert.ok(recoveredMs < RECOVERY_MS, `the server took ${recoveredMs} ms to recover`);
}

async function fallSilentIdle(at: number): Promise<void> {
  const [proxy, url, elsewhere] = [proxies[at], urls[at], urls[SERVERS - 1]];
  assert.ok(proxy && url !== undefined && elsewhere !== undefined);
  // Fills the pool.
  await Promise.all(Array.from({ length: 16 }, () => site.call(url, "GET", "/v1/runs")));
  proxy.silence();
  await letPass(12_000, "the network is silent while the connections are idle");
  proxy.heal();
  const healedAt = performance.now();
  await until("the server answers again", RECOVERY_MS, () => serves(url));
  // A worker that polls the first server is woken by a start at the second, as NOTIFY is heard.
  const { body } = await site.call(elsewhere, "POST", "/v1/tasks/echo/start", { body: {} });
  const run = `/api/runs/${body.id}/events`;
  const follow = await fetch(url + run, {
    headers: { accept: "text/event-stream", authorization: `Bearer ${site.credentials.api_key}` },
  });
  if (follow.status !== 200) assert.fail(`the events were refused: ${follow.status} ${await follow.text()}`);
  const text = new TextDecoderStream();
  const reader = follow.body?.pipeThrough(text).getReader();
  assert.ok(reader);
  const restMs = Math.max(0, RECOVERY_MS - (performance.now() - healedAt));
  await letPass(restMs, "what is claimed is that LISTEN hears again by then");
  const cancelledAt = performance.now();
  await site.call(elsewhere, "POST", `/v1/runs/${body.id}/cancel`);
  let seen = "";
  while (!seen.includes("run.cancelled")) {
    const { value, done } = await reader.read();
    if (done) break;
    seen += value;
  }
  const heardMs = performance.now() - cancelledAt;
  await reader.cancel();
  assert.ok(seen.includes("run.cancelled"), `the stream ended before the cancellation: ${seen}`);
  console.log(`a follower heard of another server's write after ${Math.round(heardMs)} ms`);
  if (isLong())
    assert.ok(heardMs < 1_000, `a follower heard after ${heardMs} ms: by its slow look, not by NOTIFY`);
}

const told = (silence: string): string =>
  `requests get 503 within 15 s, and the server recovers within 5 s, when the silence is ${silence}`;

// Each of the two servers has a network of its own, and its tests one after the other; mostly they wait.
describe("a network that says nothing", { concurrency: true }, () => {
  test(told("longer than any deadline"), () => fallSilent(0, 20_000));

  describe("for a shorter time", { concurrency: false }, () => {
    test(told("shorter than a statement's deadline"), () => fallSilent(1, 5_000));

    test("idle connections that fell silent are not used again, and LISTEN hears again", () =>
      fallSilentIdle(1));
  });
});
