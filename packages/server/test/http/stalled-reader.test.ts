// A reader that stops reading costs the server one page, whatever is appended meanwhile, and holds nobody up.

import assert from "node:assert/strict";
import { connect, Socket } from "node:net";
import { after, before, test } from "node:test";
import { startRunScene, type RunScene } from "../support/run-scene.ts";
import { readEvents } from "../support/read-events.ts";
import { startSession } from "../support/session-scene.ts";

const READERS = 20;
const RECORDS = 640;
const RECORD_BYTES = 48 * 1024;
const MAX_BUFFERED_BYTES = 256 * 1024;

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] });
});
after(() => scene.stop());

/** Asks for the stream and reads only the head of the answer. */
async function stall(path: string): Promise<Socket> {
  const url = new URL(scene.server.url);
  const socket = connect(Number(url.port), url.hostname);
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${url.host}\r\nauthorization: Bearer ${scene.server.credentials.api_key}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => socket.once("data", () => resolve()));
  socket.pause();
  return socket;
}

/** What the server's ends of the connections hold for them; they are sockets of this very process. */
function bufferedFor(readers: readonly Socket[]): number[] {
  const ports = new Set(readers.map(({ localPort }) => localPort));
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  const ends = handles.filter(
    (handle): handle is Socket => handle instanceof Socket && ports.has(handle.remotePort),
  );
  return ends.map(({ writableLength }) => writableLength);
}

async function append(sessionId: string, stream: string, count: number): Promise<void> {
  const data = "x".repeat(RECORD_BYTES);
  for (let sent = 0; sent < count; sent += 16) {
    const body = { records: Array.from({ length: 16 }, () => ({ data })) };
    const answer = await scene.call("POST", `/api/sessions/${sessionId}/outputs/${stream}`, { body });
    assert.equal(answer.status, 201);
  }
}

test("stalled readers of a stream cost the server a page each, and leave other readers and starts unaffected", async (context) => {
  const session = await startSession(scene);
  const path = `/api/sessions/${session.id}/outputs/output/read?follow=1`;
  const stalled = await Promise.all(Array.from({ length: READERS }, () => stall(path)));
  const reading = readEvents(scene.server, path, { until: ({ id }) => id === String(RECORDS) });
  await append(session.id, "output", RECORDS);
  const events = await reading;
  assert.deepEqual(
    events.map(({ id }) => Number(id)),
    Array.from({ length: RECORDS }, (_, n) => n + 1),
  );
  await scene.start("plain");
  const buffered = bufferedFor(stalled);
  context.diagnostic(
    `${READERS} stalled readers of ${Math.round((RECORDS * RECORD_BYTES) / 2 ** 20)} MiB: at most ${Math.max(...buffered)} bytes buffered for one`,
  );
  assert.equal(buffered.length, READERS);
  assert.ok(Math.max(...buffered) <= MAX_BUFFERED_BYTES, String(buffered));
  for (const socket of stalled) socket.destroy();
});

test("stalled readers of ten streams cost no more, and another one gets all of each", async (context) => {
  const session = await startSession(scene);
  const names = Array.from({ length: 10 }, (_, n) => `s${n}`);
  const path = `/api/sessions/${session.id}/outputs/${names.join(",")}/read?follow=1`;
  const stalled = await Promise.all(Array.from({ length: 5 }, () => stall(path)));
  const each = 64;
  const all = names.map((name) => `${name}:${each}`).join(",");
  const reading = readEvents(scene.server, path, { until: ({ id }) => id === all });
  await Promise.all(names.map((name) => append(session.id, name, each)));
  const events = await reading;
  for (const name of names)
    assert.deepEqual(
      events.filter(({ data }) => data.stream === name).map(({ data }) => data.sequence),
      Array.from({ length: each }, (_, n) => n + 1),
    );
  const buffered = bufferedFor(stalled);
  context.diagnostic(`at most ${Math.max(...buffered)} bytes buffered for one of ${buffered.length}`);
  assert.equal(buffered.length, 5);
  assert.ok(Math.max(...buffered) <= MAX_BUFFERED_BYTES, String(buffered));
  for (const socket of stalled) socket.destroy();
});
