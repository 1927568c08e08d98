// Readers of a run's events and logs that reconnect at random, to either of two servers, while a worker appends and
// PostgreSQL and a server are killed: every entry once, in order.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { followToEnd, type Followed } from "./support/event-source.ts";
import { killPostmaster } from "./support/kill-at-random.ts";
import { enrollRawWorker, type Lease, type RawWorker } from "./support/raw-worker.ts";
import { crashSeconds, newSeed, pick, seededRandom, type Random } from "../support/seeded-random.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { letPass, until } from "../support/until.ts";

const OUTAGE_MS = 30_000;

let site: Site;
before(async () => (site = await startSite({ servers: 2, leaseDuration: "120s" })));
after(() => site?.stop());

async function leaseRun(worker: RawWorker): Promise<Lease> {
  await createDeployment(site, "export {};\n", [{ id: "talk" }]).then(async (id) => {
    await worker.passCheck(["talk"]);
    await promoteWhenReady(site, id);
  });
  const started = await site.call((site.servers[0] as ServerProcess).url, "POST", "/v1/tasks/talk/start");
  assert.equal(started.status, 201, JSON.stringify(started.body));
  const [lease] = await worker.lease(1, "5s");
  assert.ok(lease);
  return lease;
}

/** Sends operations again, to either server, until they are answered. */
const report = (worker: RawWorker, operations: object[], random: Random): Promise<void> =>
  until("the service comes back", OUTAGE_MS, async () => {
    const answer = await worker
      .post("executions/report", { operations }, { server: pick(random, site.servers) })
      .catch(() => null);
    if (answer?.status !== 200) return false;
    for (const result of answer.body.results as { status: number }[])
      assert.equal(result.status, 200, JSON.stringify(result));
    return true;
  });

/** Appends logs and events for a while and ends the run. Returns the text of each chunk and the messages of the events. */
async function talk(
  worker: RawWorker,
  { fields }: Lease,
  random: Random,
  forMs: number,
): Promise<{ chunks: string[]; messages: string[] }> {
  const chunks: string[] = [];
  const messages: string[] = [];
  let sequence = 0;
  const operation = (kind: string, rest: object): object => ({
    kind,
    ...fields,
    sequence: (sequence += 1),
    at: new Date().toISOString(),
    ...rest,
  });
  await report(worker, [operation("start", {})], random);
  const deadline = performance.now() + forMs;
  while (performance.now() < deadline) {
    const at = new Date().toISOString();
    const texts = Array.from(
      { length: 1 + Math.floor(random() * 30) },
      (_, n) => `chunk ${chunks.length + n} ${"é".repeat(Math.floor(random() * 200))}\n`,
    );
    const said = Array.from(
      { length: 1 + Math.floor(random() * 10) },
      (_, n) => `step ${messages.length + n}`,
    );
    await report(
      worker,
      [
        operation("logs", {
          chunks: texts.map((text) => ({
            stream: random() < 0.8 ? "stdout" : "stderr",
            data: Buffer.from(text).toString("base64"),
            at,
          })),
        }),
        operation("events", { events: said.map((message) => ({ kind: "step.completed", message, at })) }),
      ],
      random,
    );
    chunks.push(...texts);
    messages.push(...said);
    if (random() < 0.3) await letPass(random() * 60, "appends come at random moments");
  }
  await report(worker, [operation("release", { outcome: "succeeded" })], random);
  return { chunks, messages };
}

/** Every id from 1 on, once and in order. */
function checkNumbers(name: string, { events }: Followed): void {
  const ids = events.map(({ id }) => Number(id));
  const wrong = ids.findIndex((id, index) => id !== index + 1);
  assert.equal(
    wrong,
    -1,
    `${name}: … ${ids.slice(Math.max(0, wrong - 3), wrong + 3).join(" ")} … where ${wrong + 1} was due`,
  );
}

const textsOf = ({ events }: Followed): string[] =>
  events.map(({ data }) => Buffer.from((JSON.parse(data) as { data: string }).data, "base64").toString());

/** The steps as they were said, and the run's success last. */
function checkEvents({ events }: Followed, messages: readonly string[]): void {
  const kinds = events.map(({ data }) => JSON.parse(data) as { kind: string; message: string });
  const steps = kinds.filter(({ kind }) => kind === "step.completed").map(({ message }) => message);
  assert.deepEqual(steps, messages);
  assert.equal(kinds.at(-1)?.kind, "run.succeeded");
}

test("a reader of events or logs that reconnects at random meets no gap, no repeat and no other order", async () => {
  const seed = newSeed();
  const random = seededRandom(seed);
  const [first, second] = site.servers as [ServerProcess, ServerProcess];
  const worker = await enrollRawWorker(site, first, "talker");
  const lease = await leaseRun(worker);
  const forMs = crashSeconds(5) * 1_000;
  const over = new AbortController();
  const follow = (
    feed: string,
    cutAfterMs: number | null,
    rest: { after?: string } = {},
  ): Promise<Followed> =>
    followToEnd({
      urls: [first.url, second.url],
      path: `/api/runs/${lease.runId}/${feed}`,
      credential: site.credentials.api_key,
      random,
      cutAfterMs,
      signal: over.signal,
      ...rest,
    });
  // Each feed also has a reader that is never cut on purpose: it meets the killings.
  const readers = Promise.all([
    follow("events", 250),
    follow("logs", 250),
    follow("events", null),
    follow("logs", null),
  ]);
  const talking = talk(worker, lease, random, forMs).catch((error: unknown) => {
    over.abort();
    throw error;
  });
  await letPass(forMs * 0.3, "PostgreSQL is killed in the middle of the appends");
  killPostmaster(site);
  await letPass(forMs * 0.3, "a server is killed some time after PostgreSQL");
  await second.kill();
  await second.start();
  const said = await talking;
  const giveUp = setTimeout(() => over.abort(), OUTAGE_MS);
  const [events, logs, steadyEvents, steadyLogs] = await readers;
  clearTimeout(giveUp);

  console.log(
    `seed ${seed} · events: ${events.events.length} over ${events.connections} connections · logs: ${logs.events.length} over ${logs.connections} connections · ` +
      `steady readers: ${steadyEvents.connections} and ${steadyLogs.connections} connections, ${steadyEvents.failures + steadyLogs.failures} failures met`,
  );
  for (const [name, followed] of Object.entries({ events, logs, steadyEvents, steadyLogs })) {
    checkNumbers(name, followed);
    assert.deepEqual(
      JSON.parse(followed.end?.data ?? "null"),
      { run_id: lease.runId, status: "succeeded" },
      name,
    );
  }
  for (const followed of [logs, steadyLogs]) assert.deepEqual(textsOf(followed), said.chunks);
  for (const followed of [events, steadyEvents]) checkEvents(followed, said.messages);
  assert.ok(events.connections > 10 && logs.connections > 10, "too few reconnections to tell");
  // After the end there is nothing but the end, at once.
  const again = await follow("events", null, { after: events.events.at(-1)?.id ?? "" });
  assert.deepEqual([again.events, again.connections, again.end?.event], [[], 1, "end"]);
});
