// Answers are stopped at random instants while servers and an agent are killed: each ends once, and no other one is stopped.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { sql } from "../../src/db/sql.ts";
import { isLong, newSeed, seededRandom, type Random } from "../support/seeded-random.ts";
import { until } from "../support/until.ts";
import { deployCode } from "./support/deploy-code.ts";
import { checkInvariants } from "./support/invariants.ts";
import { countVictims, killAtRandom } from "./support/kill-at-random.ts";
import { startSite, type ServerProcess, type Site } from "./support/site.ts";
import type { SpawnedProcess } from "./support/spawned-process.ts";

// What a route answered is looked into freely by a test.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

const SESSIONS = isLong() ? 12 : 3;
/** Of each session. */
const INPUTS = 5;
const ENOUGH_INTERRUPTS = isLong() ? 1_000 : 10;
const ENOUGH_KILLS = isLong() ? 30 : 2;
const PIECES = 12;
const SETTLE_MS = 120_000;

const CODE = `
import { setTimeout as after } from "node:timers/promises";
import { actor, InterruptedError } from "@keelson/sdk";

async function* pieces(n, from, to) {
  for (let i = from; i < to; i += 1) {
    yield n + "." + i + " ";
    await after(5 + ((n * 7 + i * 3) % 20));
  }
}

export const writer = actor({
  id: "writer",
  execution: "shared",
  retry: { maxAttempts: 100, initialDelay: "10ms", maxDelay: "50ms" },
  async run(session) {
    for await (const { data: n } of session.input) {
      const answer = await session.output.pipe(pieces(n, 0, ${PIECES}));
      await session.output("log").append({ n, text: answer.join(""), interrupted: answer.interrupted });
    }
  },
});

export const talker = actor({
  id: "talker",
  execution: "shared",
  retry: { maxAttempts: 100, initialDelay: "10ms", maxDelay: "50ms" },
  async run(session, { step, wait }) {
    for await (const { data: n } of session.input) {
      const message = await session.output.message();
      try {
        await step("think", () => message.pipe(pieces(n, 0, ${PIECES / 2})));
        await wait.for("20ms");
        await message.pipe(pieces(n, ${PIECES / 2}, ${PIECES}));
      } catch (error) {
        if (!(error instanceof InterruptedError)) throw error;
      }
      await session.output("log").append({ n, status: await message.end() });
    }
  },
});
`;

let site: Site;
let agent: SpawnedProcess;
before(async () => {
  site = await startSite({ servers: 2, leaseDuration: "6s", hasWitness: true });
  const [server] = site.servers as [ServerProcess];
  agent = site.agent({ name: "agent", server, capacity: SESSIONS * 2 });
  await agent.start();
  await deployCode(site, server, CODE);
});
after(() => site?.stop());

/** A call that one server or the other answers, however often it has to be made. */
async function insist(random: Random, method: string, path: string, body?: object): Promise<Json> {
  let answered: Json;
  await until(`${method} ${path} is answered`, SETTLE_MS, async () => {
    const { url } = site.servers[random() < 0.5 ? 0 : 1] as ServerProcess;
    const answer = await site.call(url, method, path, body === undefined ? {} : { body }).catch(() => null);
    if (answer === null || answer.status >= 500) return false;
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    answered = answer.body;
    return true;
  });
  return answered;
}

/** One conversation, whose answers are stopped or not. @returns which were, and how often somebody asked. */
async function converse(
  random: Random,
  actor: string,
): Promise<{ id: string; stopped: Set<string>; asked: number }> {
  const { id } = await insist(random, "POST", "/v1/sessions", {
    ...{ actor, idempotency_key: `session ${random()}` },
  });
  const path = `/v1/sessions/${id}`;
  const stopped = new Set<string>();
  let asked = 0;
  let before: string | null = null;
  const stop = async (message: string): Promise<void> => {
    asked += 1;
    await insist(random, "POST", `${path}/interrupt`, { message_id: message });
  };
  for (let n = 1; n <= INPUTS; n += 1) {
    await insist(random, "POST", `${path}/inputs`, { data: n, idempotency_key: `input ${n}` });
    const wanted = Math.floor(random() * PIECES);
    let open: Json;
    await until(`answer ${n} has ${wanted} pieces, or has ended`, SETTLE_MS, async () => {
      const log = await insist(random, "GET", `${path}/outputs?stream=log&limit=200`);
      if (log.records.length >= n) return true;
      [open] = (await insist(random, "GET", `${path}/messages?status=open`)).messages;
      if (open === undefined) return false;
      const { records } = await insist(random, "GET", `${path}/outputs?cursor=${open.first_sequence - 1}`);
      return records.length > wanted;
    });
    if (open !== undefined && random() < 0.8) {
      stopped.add(open.id);
      await stop(open.id);
      if (random() < 0.3) await stop(open.id);
    }
    // A late one, which is to stop nothing.
    if (before !== null && random() < 0.3) await stop(before);
    before = open?.id ?? before;
    await until(`answer ${n} has ended`, SETTLE_MS, async () => {
      const { records } = await insist(random, "GET", `${path}/outputs?stream=log&limit=200`);
      return records.length >= n;
    });
  }
  await insist(random, "POST", `${path}/close`, {});
  return { id, stopped, asked };
}

async function check({ id, stopped }: { id: string; stopped: ReadonlySet<string> }): Promise<void> {
  const sessionId = decodeId("sess", id);
  const messages = await site.db.query<Json>(sql`
    SELECT m.id, m.status, m.call, m.data, m.spans, m.first_sequence, m.last_sequence, m.interrupt_requested_at IS NOT NULL AS asked,
      (SELECT count(*) FROM stream_records r WHERE r.environment_id = m.environment_id AND r.stream_id = m.stream_id
        AND r.message_id = m.id AND r.content_type IS NOT NULL AND r.data LIKE '{"event":"ended"%') AS ends,
      (SELECT count(*) FROM stream_records r WHERE r.environment_id = m.environment_id AND r.stream_id = m.stream_id
        AND r.message_id = m.id AND r.sequence > m.last_sequence + 1) AS later
    FROM messages m WHERE m.session_id = ${sessionId} ORDER BY m.first_sequence`);
  const wasStopped = new Set([...stopped].map((message) => decodeId("msg", message)));
  for (const { id: message, status, asked, ends, later, data } of messages) {
    assert.deepEqual([ends, later], [1, 0], `${message} ends once, and nothing of it comes later`);
    assert.notEqual(status, "open");
    if (status === "interrupted") assert.ok(wasStopped.has(message), `nobody stopped ${message}`);
    assert.equal(asked && !wasStopped.has(message), false, `${message} was to be stopped by nobody`);
    if (status === "complete") assert.equal((JSON.parse(data) as string).split(" ").length, PIECES + 1);
  }
  // What was stopped is not written again by a later attempt.
  for (const [index, message] of messages.entries()) {
    const later = messages.slice(index + 1).find(({ call }: Json) => call !== null && call === message.call);
    assert.ok(!message.asked || later === undefined, JSON.stringify([message, later]));
  }
  const spanning = messages.filter(({ spans }: Json) => spans);
  assert.ok(spanning.length === 0 || spanning.length === INPUTS, "each input is answered by one message");
  const log = await site.db.query<{ data: string }>(sql`
    SELECT r.data FROM stream_records r
    JOIN streams s ON s.environment_id = r.environment_id AND s.id = r.stream_id AND s.name = 'log'
    WHERE s.session_id = ${sessionId} ORDER BY r.sequence`);
  assert.deepEqual(
    log.map(({ data }) => (JSON.parse(data) as { n: number }).n),
    Array.from({ length: INPUTS }, (_, n) => n + 1),
    "each input is received once",
  );
}

test("each answer ends once, and only what was stopped, whatever is killed", async (t) => {
  const seed = newSeed();
  t.diagnostic(`seed ${seed}`);
  const counted = { asked: 0, sessions: 0, isKilling: true };
  const everyMs = isLong() ? 4_000 : 2_500;
  const over = new AbortController();
  const killing = killAtRandom(site, [...site.servers, agent], {
    random: seededRandom(seed),
    forMs: ENOUGH_KILLS * everyMs,
    everyMs,
    isEnough: (kills) => kills >= ENOUGH_KILLS,
    signal: over.signal,
    maxDown: 1,
  }).finally(() => {
    counted.isKilling = false;
  });
  const conversing = Array.from({ length: SESSIONS }, async (_, lane) => {
    const random = seededRandom(seed + 1 + lane);
    while (counted.isKilling || counted.asked < ENOUGH_INTERRUPTS) {
      const session = await converse(random, lane % 2 === 0 ? "writer" : "talker");
      counted.asked += session.asked;
      counted.sessions += 1;
      await until("its messages have ended", SETTLE_MS, async () => {
        const { messages } = await insist(random, "GET", `/v1/sessions/${session.id}/messages?status=open`);
        return messages.length === 0;
      });
      await check(session);
    }
  });
  await Promise.all(conversing).finally(() => over.abort());
  const killings = await killing;
  t.diagnostic(
    `${counted.asked} interrupts in ${counted.sessions} sessions, ${killings.victims.length} kills: ${countVictims(killings)}`,
  );
  const [times] = await site.db.query<Json>(sql`
    SELECT count(*) AS count, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY ms) AS p99
    FROM (SELECT extract(epoch FROM ended_at - interrupt_requested_at)::float8 * 1000 AS ms FROM messages
      WHERE interrupt_requested_at IS NOT NULL) m`);
  t.diagnostic(
    `asked → ended, with kills: ${times.count} messages, p50 ${times.p50.toFixed(0)} ms, p99 ${times.p99.toFixed(0)} ms`,
  );
  await checkInvariants(site.db, "after the interrupts");
});
