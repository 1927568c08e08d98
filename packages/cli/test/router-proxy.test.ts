// What a router does to requests and replies on their way: nothing but what a proxy has to.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as startRequest, type IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { digestOf, type ApiServer } from "../../server/test/support/api-server.ts";
import { newestEvent } from "../../server/test/support/audit.ts";
import { openRaw, readToEnd, sendLines } from "../../server/test/support/raw-http.ts";
import { readEvents } from "../../server/test/support/read-events.ts";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { firstOrganization } from "../../server/test/support/tenancy.ts";
import { until } from "../../server/test/support/until.ts";
import { startRouter, type RouterOptions, type RunningRouter } from "../src/router/start-router.ts";

let scene: RunScene;
let server: ApiServer;
let router: RunningRouter;
let bearer: string;

const optionsOf = (address: string): RouterOptions => ({
  cells: { addresses: new Map([["eu1", new URL(address)]]), byDefault: "eu1" },
  host: "127.0.0.1",
  port: 0,
  drainDelayMs: 0,
  onUnknownCell: () => undefined,
});

before(async () => {
  const config = { cell: "eu1", trustedProxies: ["127.0.0.1"] };
  scene = await startRunScene({ tasks: [{ id: "plain" }], actors: [{ id: "chat" }] }, { config });
  ({ server } = scene);
  router = await startRouter(optionsOf(server.url));
  bearer = `Authorization: Bearer ${server.credentials.api_key}`;
});
after(async () => {
  await router.close();
  await scene.stop();
});

const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)`, "m").exec(text)?.[1]);
};

describe("a request through the router", () => {
  test("keeps its bytes, however large, and the reply its own", async () => {
    const bytes = randomBytes(8 * 1024 * 1024);
    const digest = digestOf(bytes);
    const put = await fetch(`${router.url}/v1/deployment-bundles/${digest}`, {
      method: "PUT",
      headers: {
        authorization: `Bearer ${server.credentials.api_key}`,
        "content-type": "application/octet-stream",
      },
      // In pieces, and without a length.
      body: new ReadableStream({
        start: (controller) => {
          for (let at = 0; at < bytes.length; at += 65_536)
            controller.enqueue(bytes.subarray(at, at + 65_536));
          controller.close();
        },
      }),
      duplex: "half",
    } as RequestInit);
    assert.equal(put.status, 200, await put.text());
  });

  test("with Expect: 100-continue is asked for its body by the cell", async () => {
    const body = JSON.stringify({ payload: 1 });
    const socket = await openRaw(
      router.url,
      [
        ...["POST /v1/tasks/plain/start HTTP/1.1", "Host: x", bearer, "Content-Type: application/json"],
        ...[`Content-Length: ${body.length}`, "Expect: 100-continue", "Connection: close", "", ""],
      ].join("\r\n"),
    );
    let text = "";
    const ended = readToEnd(socket);
    socket.on("data", (part: Buffer) => (text += part.toString()));
    await until("the cell asks for the body", 10_000, async () => text.startsWith("HTTP/1.1 100 Continue"));
    socket.write(body);
    assert.match(await ended, /HTTP\/1\.1 201 Created/);
    await scene.cancelAll();
  });

  test("that is refused before its body comes gets the refusal", async () => {
    const answer = await sendLines(router.url, [
      ...["POST /v1/tasks/plain/start HTTP/1.1", "Host: x", "Content-Type: application/json"],
      ...["Authorization: Bearer wrong", "Content-Length: 10"],
    ]);
    assert.equal(answer.status, 401);
  });

  test("without a body needs none", async () => {
    const answer = await sendLines(router.url, ["POST /api/sessions/x/close HTTP/1.1", "Host: x", bearer]);
    assert.equal(answer.status, 404);
  });

  test("keeps header lines that stand twice, for the cell to refuse", async () => {
    const answer = await sendLines(router.url, ["GET /v1/runs HTTP/1.1", "Host: x", bearer, bearer]);
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /"path":"Authorization"/);
  });

  // Other systems have no second address of the loopback device.
  const skip = process.platform !== "linux";
  test("says to the cell whom the router heard, after whatever a caller claims", { skip }, async () => {
    const put = async (from: string, claimed: string | null): Promise<string | null> => {
      const request = startRequest(`${router.url}/api/secrets/FROM`, {
        method: "PUT",
        localAddress: from,
        headers: {
          authorization: `Bearer ${server.credentials.api_key}`,
          "content-type": "application/json",
          ...(claimed !== null && { "x-forwarded-for": claimed }),
        },
      });
      request.end(JSON.stringify({ value: "x" }));
      const [response] = (await once(request, "response")) as [IncomingMessage];
      response.resume();
      assert.ok((response.statusCode ?? 500) < 300);
      return (await newestEvent(server, encodeId("org", await firstOrganization(server)))).address;
    };
    assert.equal(await put("127.0.0.2", null), "127.0.0.2");
    assert.equal(await put("127.0.0.2", "203.0.113.7"), "127.0.0.2");
    // The cell trusts the first address of this machine, as that of a proxy in front of the router.
    assert.equal(await put("127.0.0.1", "203.0.113.9, 203.0.113.7"), "203.0.113.7");
  });

  test("has a long poll answered when there is something", async () => {
    const { worker } = scene;
    const leased = fetch(`${router.url}/worker/v1/executions/lease`, {
      method: "POST",
      headers: { authorization: `Bearer ${worker.token}`, "content-type": "application/json" },
      body: JSON.stringify({ lease_request_id: "routed", limit: 1, wait: "30s" }),
    });
    await worker.seesRequest("routed");
    const run = await scene.start("plain");
    const { executions } = (await (await leased).json()) as { executions: { run: { id: string } }[] };
    assert.deepEqual(
      executions.map(({ run: { id } }) => id),
      [run.id],
    );
    worker.hold(executions[0]);
    await worker.releaseAll();
  });

  test("whose caller leaves is left at the cell too", async () => {
    const { body: session } = await scene.call("POST", "/v1/sessions", { body: { actor: "chat" } });
    const follow = startRequest(`${router.url}/api/sessions/${session.id}/outputs/output/read?follow=1`, {
      headers: { authorization: `Bearer ${server.credentials.api_key}` },
    });
    follow.end();
    const [response] = (await once(follow, "response")) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    await until("the cell has the stream", 10_000, async () => (await metric("keelson_event_streams")) === 1);
    follow.on("error", () => undefined);
    follow.destroy();
    await until(
      "the stream has ended at the cell",
      10_000,
      async () => (await metric("keelson_event_streams")) === 0,
    );
  });

  test("follows a stream, whose events come one by one", async () => {
    const { body: session } = await scene.call("POST", "/v1/sessions", { body: { actor: "chat" } });
    const say = (data: number) =>
      scene.call("POST", `/api/sessions/${session.id}/outputs/output`, { body: { records: [{ data }] } });
    const heard: number[] = [];
    const reading = readEvents(
      { ...server, url: router.url },
      `/api/sessions/${session.id}/outputs/output/read?follow=1`,
      {
        until: ({ data }) => {
          heard.push(data.data as number);
          return heard.length === 3;
        },
      },
    );
    for (const data of [1, 2, 3]) {
      await say(data);
      await until(`${data} is heard`, 10_000, async () => heard.includes(data));
    }
    await reading;
    assert.deepEqual(heard, [1, 2, 3]);
    await scene.cancelAll();
  });
});

describe("a router", () => {
  test("answers 503 for a cell that it cannot reach, to pages of any origin too", async () => {
    const lone = await startRouter(optionsOf("http://127.0.0.1:1"));
    try {
      for (const path of ["/v1/runs", "/"]) {
        const response = await fetch(lone.url + path);
        assert.deepEqual(
          [
            response.status,
            response.headers.get("retry-after"),
            response.headers.get("access-control-allow-origin"),
          ],
          [503, "1", "*"],
        );
        const { error } = (await response.json()) as { error: { code: string; request_id: string } };
        assert.equal(error.code, "unavailable");
        assert.equal(error.request_id, response.headers.get("x-request-id"));
      }
      assert.equal((await fetch(`${lone.url}/healthz`)).status, 200);
      assert.equal((await fetch(`${lone.url}/readyz`)).status, 200);
    } finally {
      await lone.close();
    }
  });

  test("answers 503 for a cell that ended, on connections that it kept to the cell", async () => {
    const replica = await server.startReplica();
    const kept = await startRouter(optionsOf(replica.url));
    try {
      const ask = () =>
        fetch(`${kept.url}/v1/runs`, { headers: { authorization: `Bearer ${server.credentials.api_key}` } });
      assert.equal((await ask()).status, 200);
      await replica.stop();
      assert.equal((await ask()).status, 503);
    } finally {
      await kept.close();
    }
  });

  test("that stops is not ready, and serves on for its delay", async () => {
    const stopping = await startRouter({ ...optionsOf(server.url), drainDelayMs: 2_000 });
    const closed = stopping.close();
    const ready = await fetch(`${stopping.url}/readyz`);
    assert.deepEqual([ready.status, ready.headers.get("retry-after")], [503, "1"]);
    const served = await fetch(`${stopping.url}/v1/runs`, {
      headers: { authorization: `Bearer ${server.credentials.api_key}` },
    });
    assert.deepEqual([served.status, served.headers.get("connection")], [200, "close"]);
    await closed;
    await assert.rejects(fetch(stopping.url));
  });
});
