// How long the server waits for its callers, by the real clock: never less than the contract says. That
// it is not more is shown by given times (body-deadline), because a loaded machine looks late.

import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { startWorker } from "../support/deploy.ts";
import { openRaw, parseAnswer, readToEnd, type RawAnswer } from "../support/raw-http.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

const timeout = 90_000;
const concurrency = 10;

/** Sends `bytes` every 200 ms while the connection is open; gives the answer, and how long it took. */
async function trickle(socket: Socket, bytes: Buffer): Promise<RawAnswer & { seconds: number }> {
  const begun = performance.now();
  const timer = setInterval(() => bytes.length > 0 && socket.writable && socket.write(bytes), 200);
  try {
    return { ...parseAnswer(await readToEnd(socket)), seconds: (performance.now() - begun) / 1_000 };
  } finally {
    clearInterval(timer);
  }
}

const postTo = (path: string, length: number, type = "application/json"): string =>
  [
    `POST ${path} HTTP/1.1`,
    `Host: ${new URL(server.url).host}`,
    `Authorization: Bearer ${server.credentials.api_key}`,
    `Content-Type: ${type}`,
    `Content-Length: ${length}`,
    "",
    "",
  ].join("\r\n");

const putBundle = (length: number): string =>
  postTo(`/v1/deployment-bundles/${"a".repeat(64)}`, length, "application/octet-stream").replace(
    "POST",
    "PUT",
  );

function assertTimedOut(answer: RawAnswer & { seconds: number }, atLeast: number): void {
  assert.equal(answer.status, 408, `${answer.text} after ${answer.seconds} s`);
  const { error } = JSON.parse(answer.text);
  assert.equal(error.code, "request_timeout");
  assert.equal(answer.headers.get("x-request-id"), error.request_id);
  assert.equal(answer.headers.get("connection")?.toLowerCase(), "close");
  assert.ok(answer.seconds > atLeast, `closed after ${answer.seconds} s`);
}

// All of them wait: those that are too slow beside those that are not.
describe("how long a caller may take", { timeout, concurrency }, () => {
  describe(
    "a caller that is too slow is answered 408, and its connection closed",
    { timeout, concurrency },
    () => {
      test("headers have 20 s, however they trickle in", async () => {
        const socket = await openRaw(server.url, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
        assertTimedOut(await trickle(socket, Buffer.from("x")), 19);
      });

      test("a connection on which nothing comes is closed after 20 s", async () => {
        const { text, seconds } = await trickle(await openRaw(server.url, ""), Buffer.alloc(0));
        assert.equal(text, "");
        assert.ok(seconds > 19, `${seconds} s`);
      });

      test("a body's first byte has 10 s", async () => {
        const socket = await openRaw(server.url, postTo("/v1/tasks/any/start", 10));
        assertTimedOut(await trickle(socket, Buffer.alloc(0)), 9.5);
      });

      test("a body comes with 1 KiB/s, averaged over 10 s", async () => {
        const socket = await openRaw(server.url, postTo("/v1/tasks/any/start", 100_000));
        assertTimedOut(await trickle(socket, Buffer.from("  ")), 9.5);
      });

      test("an unauthenticated body has the same deadlines", async () => {
        const socket = await openRaw(server.url, postTo("/api/auth/magic-link/start", 1_000));
        assertTimedOut(await trickle(socket, Buffer.from(" ")), 9.5);
      });

      test("an upload comes with 16 KiB/s after 30 s", async () => {
        // 4 KiB/s.
        const socket = await openRaw(server.url, putBundle(1_000_000));
        assertTimedOut(await trickle(socket, Buffer.alloc(820)), 38);
      });

      test("what is sent after a refusal has them too", async () => {
        const socket = await openRaw(server.url, putBundle(1_000_000).replace(/Bearer \S+/, "Bearer none"));
        const { status, seconds } = await trickle(socket, Buffer.alloc(1));
        assert.equal(status, 401);
        assert.ok(seconds > 9.5, `closed after ${seconds} s`);
      });
    },
  );

  describe("a caller that is slow enough is served", { timeout, concurrency }, () => {
    test("a body of 2 KiB/s", async () => {
      const body = Buffer.from(`{"payload": "${"x".repeat(40_000)}"}`);
      const socket = await openRaw(server.url, postTo("/v1/tasks/any/start", body.length));
      let sent = 0;
      const timer = setInterval(() => socket.write(body.subarray(sent, (sent += 410))), 200);
      try {
        const [head] = await Promise.race([once(socket, "data"), once(socket, "close")]);
        assert.match(String(head), /^HTTP\/1.1 404/);
      } finally {
        clearInterval(timer);
        socket.destroy();
      }
    });

    test("an upload of 20 KiB/s for 50 s", async () => {
      const socket = await openRaw(server.url, putBundle(1_024_000));
      let sent = 0;
      const timer = setInterval(() => socket.write(Buffer.alloc(4_096), () => (sent += 4_096)), 200);
      try {
        const [head] = await Promise.race([once(socket, "data"), once(socket, "close")]);
        // All of it came: it has another digest.
        assert.match(String(head), /^HTTP\/1.1 400/);
        assert.ok(sent >= 1_000_000, `${sent} bytes`);
      } finally {
        clearInterval(timer);
        socket.destroy();
      }
    });

    test("a long poll of more than 20 s", async () => {
      const as = await startWorker(server);
      const begun = performance.now();
      const polled = await server.call("POST", "/worker/v1/executions/lease", {
        as,
        body: { limit: 1, wait: "25s", lease_request_id: "slow" },
      });
      assert.equal(polled.status, 200, polled.text);
      assert.ok(performance.now() - begun > 20_000);
    });
  });
});
