// Many readers of one stream, and some that stall, at a server that is killed once and restarted once while ten thousand
// records are appended.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { openStage, type Stage } from "./support/crash-stage.ts";
import { openSession } from "./support/crash-write.ts";
import { followToEnd } from "./support/event-source.ts";
import { checkInvariants } from "./support/invariants.ts";
import { isLong, newSeed, seededRandom } from "../support/seeded-random.ts";
import type { ServerProcess } from "./support/site.ts";
import { until } from "../support/until.ts";

const READERS = isLong() ? 50 : 5;
/** If the server kept what they do not read, ten would be seen better than one. */
const STALLED = 10;
const RECORDS = 10_000;
const BATCH = 100;
const RECORD_BYTES = 1_500;
/**
 * A server that has just started grows by 70 MiB with the other readers alone, and by as much with forty that stall. One that
 * kept the stream for each of these ten would grow by 150 MiB more.
 */
const MAX_GROWTH_BYTES = 150 * 2 ** 20;
const READ_MS = 60_000;

let stage: Stage;
before(async () => {
  // V8 doubles its young generation when enough objects have survived in it, sooner or later in the life of a process: with
  // a fixed one, growth is what is kept.
  stage = await openStage({
    poolSize: 8,
    proxied: false,
    serverEnv: { NODE_OPTIONS: "--max-semi-space-size=16" },
  });
});
after(() => stage?.stop());

/** Follows the stream from its beginning and, once the answer comes, reads none of it. */
async function stall(server: ServerProcess, path: string): Promise<Socket> {
  const url = new URL(server.url);
  const socket = connect(Number(url.port), url.hostname);
  // The server may end; whoever reads on finds out.
  socket.on("error", () => undefined);
  const authorization = `Bearer ${stage.site.credentials.api_key}`;
  socket.write(
    `GET ${path}?follow=1 HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: ${authorization}\r\nconnection: close\r\n\r\n`,
  );
  await new Promise((resolve) => socket.once("readable", resolve));
  return socket;
}

/** Reads to the end what a stalled reader has left. @returns the ids of the records. */
async function readOn(socket: Socket): Promise<number[]> {
  let text = "";
  for await (const bytes of socket) text += String(bytes);
  const frames = text.split("\n\n").filter((frame) => /^event: record$/m.test(frame));
  return frames.map((frame) => Number(/^id: (\d+)$/m.exec(frame)?.[1]));
}

async function residentBytes({ pid }: ServerProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

async function restart(server: ServerProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  server.signal(signal);
  await server.ended();
  await server.start();
}

test("readers of a stream see each record once and in order while their server is restarted twice", async () => {
  const startedAt = performance.now();
  const seed = newSeed();
  const [server] = stage.site.servers as [ServerProcess];
  const { id } = await openSession(stage);
  const append = (from: number): Promise<unknown> => {
    const records = Array.from({ length: BATCH }, (_, n) => ({
      data: { n: from + n, filler: "x".repeat(RECORD_BYTES) },
    }));
    return stage.make(`/api/sessions/${id}/outputs/output`, { records, idempotency_key: `from ${from}` });
  };
  await append(1);
  const path = `/api/sessions/${id}/outputs/output/read`;
  const over = new AbortController();
  const giveUp = setTimeout(() => over.abort(), READ_MS);
  const readers = Array.from({ length: READERS }, (_, at) =>
    followToEnd({
      urls: [server.url],
      path,
      credential: stage.site.credentials.api_key,
      random: seededRandom(seed + at),
      cutAfterMs: null,
      signal: over.signal,
    }),
  );
  let stalled: Socket[] = [];
  let before = 0;
  for (let from = 1 + BATCH; from <= RECORDS; from += BATCH) {
    await append(from);
    const share = (from - 1) / RECORDS;
    if (share === 0.2) await restart(server, "SIGKILL");
    if (share === 0.4) {
      await restart(server, "SIGTERM");
      stalled = await Promise.all(Array.from({ length: STALLED }, () => stall(server, path)));
      before = await residentBytes(server);
    }
  }
  assert.equal((await stage.insist("POST", `/api/sessions/${id}/cancel`)).status, 200);
  const followed = await Promise.all(readers);
  clearTimeout(giveUp);
  const growth = (await residentBytes(server)) - before;
  const all = Array.from({ length: RECORDS }, (_, n) => n + 1);
  for (const { events, end } of followed) {
    assert.equal(end?.event, "end");
    assert.deepEqual(
      events.map((event) => Number(event.id)),
      all,
    );
    assert.ok(events.every(({ id: at, data }) => data.includes(`"n":${at},`)));
  }
  for (const socket of stalled) assert.deepEqual(await readOn(socket), all);
  const connections = followed.reduce((sum, reader) => sum + reader.connections, 0);
  console.log(
    `${READERS} readers of ${RECORDS} records over ${connections} connections, ${STALLED} stalled since record ${RECORDS * 0.4}: ` +
      `the server grew by ${Math.round(growth / 2 ** 20)} MiB · ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
  );
  assert.ok(growth < MAX_GROWTH_BYTES, `${growth} bytes`);
  await until("nothing is broken", 1_000, async () => {
    await checkInvariants(stage.site.db, "after the restarts");
    return true;
  });
});
