import assert from "node:assert/strict";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";

let server: ApiServer;
let stopped = false;

/** Opens a stream and gives the response once its headers are there. */
function open(path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL(path, server.url), {
      headers: { authorization: `Bearer ${server.credentials.api_key}`, ...headers },
    });
    request.on("response", resolve);
    request.on("error", reject);
    request.end();
  });
}

/** Reads until the text holds what is looked for, or the stream ends. */
async function readUntil(response: IncomingMessage, part: string | null): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response.iterator({ destroyOnReturn: false })) {
    text += chunk as string;
    if (part !== null && text.includes(part)) return text;
  }
  return text;
}

const idsOf = (text: string): string[] =>
  [...text.matchAll(/^id: (.*)$/gm)].map((match) => match[1] as string);

async function startRun(): Promise<string> {
  const { status, body, text } = await server.call("POST", "/v1/tasks/report/start", { body: {} });
  assert.equal(status, 201, text);
  return body.id;
}

describe("event streams", () => {
  before(async () => {
    server = await startApiServer();
    const deployment = await createReadyDeployment(server, await startWorker(server), {
      tasks: [{ id: "report" }],
    });
    await promote(server, deployment.id);
  });
  after(async () => {
    if (!stopped) await server.stop();
  });

  test("begin with the retry time, follow live and end with the final state", async () => {
    const run = await startRun();
    const response = await open(`/api/runs/${run}/events?follow=1`);
    assert.equal(response.statusCode, 200);
    assert.match(response.headers["content-type"] ?? "", /^text\/event-stream/);
    assert.equal(response.headers["cache-control"], "no-store");
    assert.equal(response.headers["x-accel-buffering"], "no");
    assert.equal(response.headers["service-api-version"], "2026-06-06");
    const begun = await readUntil(response, "run.created");
    assert.match(begun, /^retry: 1000\n\n/);
    assert.equal((await server.call("POST", `/v1/runs/${run}/cancel`)).status, 200);
    const rest = await readUntil(response, null);
    assert.match(rest, /event: end\ndata: \{.*"status":"cancelled".*\}\n\n$/);
  });

  test("continue after Last-Event-ID, which wins over the cursor, and repeat the end at once", async () => {
    const run = await startRun();
    await server.call("POST", `/v1/runs/${run}/cancel`);
    const all = await readUntil(await open(`/api/runs/${run}/events?follow=1`), null);
    const ids = idsOf(all);
    assert.ok(ids.length >= 3);
    const first = ids[0] as string;
    const resumed = await open(`/api/runs/${run}/events?cursor=0`, {
      accept: "text/event-stream",
      "last-event-id": first,
    });
    assert.deepEqual(idsOf(await readUntil(resumed, null)), ids.slice(1));
    const last = await open(`/api/runs/${run}/events?follow=1&cursor=${ids.at(-1)}`);
    assert.match(await readUntil(last, null), /event: end\n/);
  });

  test("refuse with a status what is refused before the headers", async () => {
    for (const [path, status] of [
      ["/api/runs/run_01kadc5m9sfe7v0k3xw2q8r4nt/events?follow=1", 404],
      [`/api/runs/${await startRun()}/events?follow=1&cursor=abc`, 400],
    ] as const) {
      const response = await open(path);
      response.resume();
      assert.equal(response.statusCode, status);
    }
  });

  test("a HEAD of one is answered and closed", async () => {
    const { status, text } = await server.call("HEAD", `/api/runs/${await startRun()}/events?follow=1`);
    assert.deepEqual([status, text], [200, ""]);
  });

  test("are limited to 1,000 an environment, and a closed one gives its place back", async () => {
    const run = await startRun();
    const path = `/api/runs/${run}/events?follow=1`;
    const streams = await Promise.all(Array.from({ length: 1000 }, () => open(path)));
    assert.deepEqual([...new Set(streams.map(({ statusCode }) => statusCode))], [200]);
    const refused = await server.call("GET", path);
    assert.equal(refused.status, 429);
    assert.equal(refused.body.error.code, "rate_limited");
    assert.ok(refused.headers.get("retry-after"));
    assert.equal(refused.headers.get("ratelimit-limit"), "1000");
    assert.equal(refused.headers.get("ratelimit-remaining"), "0");
    for (const stream of streams) stream.destroy();
    // The server hears of a closed connection a moment later.
    for (let response = await open(path); ; response = await open(path)) {
      response.destroy();
      if (response.statusCode === 200) break;
    }
  });

  test("end when the server stops, which does not wait for their readers", async () => {
    const response = await open(`/api/runs/${await startRun()}/events?follow=1`);
    await readUntil(response, "run.created");
    const rest = readUntil(response, null);
    stopped = true;
    await server.stop();
    assert.doesNotMatch(await rest, /event: (end|error)/);
  });
});
