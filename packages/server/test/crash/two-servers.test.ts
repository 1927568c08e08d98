// Two servers on one database behave as one: what is done at either is seen at both.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { sql } from "../../src/db/sql.ts";
import { bundleOf } from "./support/bundle.ts";
import { followToEnd, type ReceivedEvent } from "./support/event-source.ts";
import {
  createDeployment,
  promoteWhenReady,
  startSite,
  type ServerProcess,
  type Site,
} from "./support/site.ts";
import { isLong } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";

const KEYS = isLong() ? 5_000 : 800;
const CALLERS = 48;
/** Half of the times are shorter: a wake that is lost costs the two to five seconds of the next look. */
const MEDIAN_LATENCY_MS = 1_000;
const ROUNDS = 15;

let site: Site;
let polled: ServerProcess;
let other: ServerProcess;
before(async () => {
  site = await startSite({ servers: 2, leaseDuration: "15s" });
  [polled, other] = site.servers as [ServerProcess, ServerProcess];
  // Every agent of this file talks to one of the servers alone.
  await site.agent({ name: "agent 1", server: polled, capacity: 4 }).start();
  const bundle = bundleOf({
    echo: "return payload;",
    hold: "await new Promise((resolve, reject) => input.signal.addEventListener('abort', () => reject(input.signal.reason)));",
    talk: "for (let n = 0; n < 20; n++) { console.log('line ' + n); await tick(25); }",
  });
  const declared = ["echo", "hold", "talk"].map((id) => ({ id, execution: "shared" as const }));
  await promoteWhenReady(site, await createDeployment(site, bundle, declared));
  // Fetches the code and boots its process, which is not what is timed.
  await follow(other, await startAt(other, "echo"), "events");
});
after(() => site?.stop());

async function startAt(server: ServerProcess, task: string): Promise<string> {
  const answer = await site.call(server.url, "POST", `/v1/tasks/${task}/start`, { body: { payload: null } });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id as string;
}

/** Follows a run's feed at one server, with the time at which each entry came. */
async function follow(
  server: ServerProcess,
  runId: string,
  feed: string,
): Promise<{ events: (ReceivedEvent & { atMs: number })[]; endMs: number }> {
  const arrivals: number[] = [];
  const { events, end } = await followToEnd({
    urls: [server.url],
    path: `/api/runs/${runId}/${feed}`,
    credential: site.credentials.api_key,
    random: () => 0.9,
    cutAfterMs: null,
    signal: AbortSignal.timeout(120_000),
    onReceived: () => void arrivals.push(performance.now()),
  });
  assert.notEqual(end, null, "the feed did not end");
  return {
    events: events.map((event, index) => ({ ...event, atMs: arrivals[index] as number })),
    endMs: performance.now(),
  };
}

const kindOf = (event: ReceivedEvent): string => (JSON.parse(event.data) as { kind: string }).kind;
const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] as number;
const spread = (times: readonly number[]): string =>
  `median ${median(times).toFixed(1)} ms, at most ${Math.max(...times).toFixed(1)} ms`;

/** One late answer tells of the machine, the median of them of a wake. */
function assertWoken(times: readonly number[]): void {
  const all = times.map((time) => time.toFixed(0)).join(", ");
  assert.ok(median(times) < MEDIAN_LATENCY_MS, `nobody was woken: ${all} ms`);
}

test("a start at one server reaches an agent that polls the other, and its end is seen at the first", async () => {
  const toBegin: number[] = [];
  const toEnd: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    const runId = await startAt(other, "echo");
    // The follower is at the server that took the start; the agent leases and reports at the other.
    const { events, endMs } = await follow(other, runId, "events");
    const begun = events.find((event) => kindOf(event) === "run.started");
    assert.ok(begun, events.map(kindOf).join(" "));
    toBegin.push(begun.atMs - startedAt);
    toEnd.push(endMs - startedAt);
  }
  console.log(
    `start at B → run.started, leased and reported at A, followed at B: ${spread(toBegin)} · to its end: ${spread(toEnd)}`,
  );
  assertWoken(toBegin);
});

test("a cancellation at one server reaches an agent that polls the other", async () => {
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const runId = await startAt(other, "hold");
    await until("the run is running", 60_000, async () => {
      const { body } = await site.call(polled.url, "GET", `/api/runs/${runId}/events?limit=50`);
      return (body.events as { kind: string }[]).some(({ kind }) => kind === "run.started");
    });
    const following = follow(other, runId, "events");
    const askedAt = performance.now();
    assert.equal((await site.call(other.url, "POST", `/v1/runs/${runId}/cancel`)).status, 200);
    const { events, endMs } = await following;
    assert.deepEqual(events.slice(-2).map(kindOf), ["run.cancel_requested", "run.cancelled"]);
    times.push(endMs - askedAt);
  }
  console.log(`cancel at B → the agent of A has ended the run: ${spread(times)}`);
  assertWoken(times);
});

test("a follower at one server sees the lines that are reported at the other as they come", async () => {
  const runId = await startAt(other, "talk");
  const { events } = await follow(other, runId, "logs");
  const text = events
    .map(({ data }) => Buffer.from((JSON.parse(data) as { data: string }).data, "base64").toString())
    .join("");
  assert.equal(text, Array.from({ length: 20 }, (_, n) => `line ${n}\n`).join(""));
  // The run talks for half a second: lines came one after the other, not with the follower's own look every 2 s.
  const gaps = events.slice(1).map(({ atMs }, index) => atMs - (events[index] as { atMs: number }).atMs);
  console.log(
    `${events.length} chunks followed across servers, longest gap ${Math.max(...gaps).toFixed(1)} ms`,
  );
  assert.ok(events.length >= 5, `${events.length} chunks`);
  assertWoken(gaps);
});

test(`${KEYS} starts with the same idempotency keys sent twice in parallel make ${KEYS} runs`, async () => {
  const answers: { id: string; replayed: boolean }[][] = Array.from({ length: KEYS }, () => []);
  // Runs that wait for a day: what is counted here is the starts.
  const startOnce = async (server: ServerProcess, key: number): Promise<void> => {
    const body = { payload: { key }, idempotency_key: `key-${key}`, delay: "1d" };
    const answer = await site.call(server.url, "POST", "/v1/tasks/echo/start", { body, timeoutMs: 120_000 });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    answers[key]?.push({ id: answer.body.id as string, replayed: answer.replayed });
  };
  let next = 0;
  const startAll = async (): Promise<void> => {
    while (next < KEYS) {
      const key = next;
      next += 1;
      await Promise.all([startOnce(polled, key), startOnce(other, key)]);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, startAll));
  const elapsedMs = performance.now() - startedAt;

  const [row] = await site.db.query<{ runs: number; payloads: number }>(sql`
    SELECT count(*) AS runs, count(DISTINCT payload) AS payloads FROM runs WHERE payload LIKE '{"key":%'`);
  const differing = answers.filter((pair) => pair.length !== 2 || pair[0]?.id !== pair[1]?.id).length;
  const notOnceReplayed = answers.filter(
    (pair) => pair.filter(({ replayed }) => replayed).length !== 1,
  ).length;
  console.log(
    `${KEYS * 2} starts with ${KEYS} keys through two servers made ${row?.runs} runs (${Math.round((KEYS * 2_000) / elapsedMs)} starts/s)`,
  );
  assert.deepEqual({ ...row }, { runs: KEYS, payloads: KEYS });
  assert.deepEqual({ differing, notOnceReplayed }, { differing: 0, notOnceReplayed: 0 });
});
