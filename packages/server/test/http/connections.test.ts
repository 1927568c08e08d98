// Who holds connections without saying who they are, and whom that must not stop.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase } from "../support/database.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { bareEnvironment } from "../support/bare-environment.ts";
import { programArguments } from "../support/programs.ts";
import { openRaw, readToEnd } from "../support/raw-http.ts";

const ONE_BYTE = "G";
/** After that a request will not be answered any more. */
const PATIENCE_MS = 60_000;

/** The server has not ended it. */
const isOpen = ({ closed, readableEnded }: Socket): boolean => !closed && !readableEnded;

type Crowd = { sockets: Socket[]; open: () => number; close: () => void };

/** Sockets on which the text has been written and nothing follows, from an address of this machine. */
async function openCrowd(
  url: string,
  count: number,
  text: string,
  localAddress = "127.0.0.1",
): Promise<Crowd> {
  const sockets: Socket[] = [];
  // A few at a time: the kernel keeps no order among those for which its queue is full.
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(50, count - sockets.length) }, () => {
      const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1", localAddress });
      socket.on("error", () => undefined);
      // Without a reader the end of the connection is not seen.
      socket.resume();
      socket.write(text);
      return socket;
    });
    sockets.push(...batch);
    const settled = batch.map((socket) => Promise.race([once(socket, "connect"), once(socket, "close")]));
    await Promise.allSettled(settled);
  }
  return {
    sockets,
    open: () => sockets.filter(isOpen).length,
    close: () => sockets.forEach((socket) => socket.destroy()),
  };
}

/** Resolves when no more than so many of them are open. */
async function shrinksTo(crowd: Crowd, count: number): Promise<void> {
  while (crowd.open() > count)
    await Promise.race(crowd.sockets.filter(({ closed }) => !closed).map((socket) => once(socket, "close")));
}

type Options = {
  agent?: Agent | false;
  key?: string;
  localAddress?: string;
  headers?: Record<string, string>;
};

/** A GET on a connection of the agent's, or on a new one; gives the status, and the connection it was on. */
function get(
  url: string,
  path: string,
  { agent = false, key, localAddress = "127.0.0.1", headers = {} }: Options = {},
): Promise<{ status: number; socket: Socket }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url + path,
      {
        agent,
        localAddress,
        headers: { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
        timeout: PATIENCE_MS,
      },
      (response) => {
        const { socket } = response;
        response.resume().once("end", () => resolve({ status: response.statusCode ?? 0, socket }));
      },
    );
    sent.on("timeout", () => sent.destroy(new Error(`${path} was not answered within a minute`)));
    sent.on("error", reject).end();
  });
}

test(
  "600 sockets with one byte each cut nobody off, even where they are more than the process may open",
  {
    timeout: 4 * PATIENCE_MS,
  },
  async () => {
    const database = await createTestDatabase();
    const folder = await makeTestFolder();
    const child = spawn(
      "sh",
      ["-c", 'ulimit -n 400; exec "$0" "$@"', process.execPath, ...programArguments("server/src/main.ts")],
      {
        env: {
          ...bareEnvironment(),
          DATABASE_URL: database.url,
          KEELSON_DATA_DIR: folder,
          PORT: "0",
        },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let crowd: Crowd | undefined;
    try {
      let said = "";
      for await (const part of child.stdout) if (/listening on \S+\n/.test((said += String(part)))) break;
      const url = /listening on (\S+)/.exec(said)?.[1] as string;
      const { default: credentials } = await import(`${folder}/credentials.json`, { with: { type: "json" } });
      const key = credentials.api_key as string;
      crowd = await openCrowd(url, 600, ONE_BYTE);
      for (let n = 0; n < 20; n += 1) {
        assert.equal((await get(url, "/healthz")).status, 200);
        assert.equal((await get(url, "/v1/runs", { key })).status, 200);
        assert.equal((await get(url, "/v1/runs", { key, localAddress: "127.0.0.2" })).status, 200);
      }
    } finally {
      crowd?.close();
      const gone = once(child, "close");
      child.kill("SIGTERM");
      await gone;
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    }
  },
);

describe("an address has 256 connections that have shown no credential", { timeout: 4 * PATIENCE_MS }, () => {
  let server: ApiServer;
  before(async () => {
    server = await startApiServer();
  });
  after(() => server.stop());

  test("the oldest of those that wait are closed, those that have shown one are not counted", async () => {
    const key = server.credentials.api_key;
    const agent = new Agent({ keepAlive: true, maxSockets: 300, maxFreeSockets: 300 });
    const known = await Promise.all(
      Array.from({ length: 300 }, () => get(server.url, "/v1/runs", { agent, key })),
    );
    const elsewhere = await openCrowd(server.url, 200, ONE_BYTE, "127.0.0.2");
    const crowd = await openCrowd(server.url, 600, ONE_BYTE);
    await shrinksTo(crowd, 256);
    // Another look comes by; it finds nothing to close.
    await get(server.url, "/healthz");
    assert.equal((await get(server.url, "/healthz")).status, 200);
    assert.equal(crowd.open(), 256);
    assert.ok(
      !crowd.sockets.slice(0, 300).some(isOpen) && crowd.sockets.slice(-200).every(isOpen),
      "younger connections were closed before older ones",
    );
    assert.equal(elsewhere.open(), 200, "another address is counted apart");
    const sockets = new Set(known.map(({ socket }) => socket));
    assert.equal(sockets.size, 300);
    const again = await Promise.all(
      Array.from({ length: 300 }, () => get(server.url, "/v1/runs", { agent, key })),
    );
    assert.ok(again.every(({ status, socket }) => status === 200 && sockets.has(socket)));
    agent.destroy();
    crowd.close();
    elsewhere.close();
  });
});

describe("behind a trusted proxy", { timeout: 4 * PATIENCE_MS }, () => {
  let server: ApiServer;
  before(async () => {
    server = await startApiServer({ config: { trustedProxies: ["127.0.0.1/32"], addressConnections: 10 } });
  });
  after(() => server.stop());

  const halfOf = (from: string): string =>
    `POST /api/auth/magic-link/start HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: ${from}\r\n` +
    "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{";

  test("a caller is counted by its own address, and the proxy is not", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 40 });
    const headers = { "x-forwarded-for": "203.0.113.9" };
    const idle = await Promise.all(
      Array.from({ length: 40 }, () => get(server.url, "/healthz", { agent, headers })),
    );
    const other = await openCrowd(server.url, 8, halfOf("203.0.113.8"));
    const crowd = await openCrowd(server.url, 40, halfOf("203.0.113.7"));
    await shrinksTo(crowd, 10);
    assert.equal(
      (await get(server.url, "/healthz", { headers: { "x-forwarded-for": "203.0.113.7" } })).status,
      200,
    );
    assert.deepEqual([crowd.open(), other.open()], [10, 8]);
    assert.ok(
      idle.every(({ socket }) => !socket.closed),
      "the proxy's idle connections were closed",
    );
    agent.destroy();
    crowd.close();
    other.close();
  });
});

test("a server that stops waits for requests, and not for connections on which nothing was sent", async () => {
  const server = await startApiServer();
  const unused = await openRaw(server.url, "");
  const begun = await openRaw(server.url, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
  // Both are known to the server.
  assert.equal((await server.call("GET", "/healthz", { as: null })).status, 200);
  const stopped = server.stop();
  await readToEnd(unused);
  begun.write("\r\n");
  assert.match(await readToEnd(begun), /^HTTP\/1\.1 200 /);
  await stopped;
});
