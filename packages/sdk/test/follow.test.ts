import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  Client,
  ConflictError,
  decodeBase64,
  NotFoundError,
  type RunFailedError,
  TimeoutError,
} from "@keelson/sdk";
import { answer, errorBody, run, startWireServer } from "./support/wire-server.ts";

const connect = (url: string): Client => new Client({ url, apiKey: "k" });

function open(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("retry: 1000\n\n: keep-alive\n\n");
}
const send = (response: ServerResponse, event: string, id: string, data: unknown): boolean =>
  response.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

test("a follower resumes after each disconnect and sees every event once, until the end", async () => {
  await using server = await startWireServer(({ headers }, response, request) => {
    open(response);
    const after = Number(headers["last-event-id"] ?? 0);
    for (let id = after + 1; id <= Math.min(after + 2, 5); id += 1)
      send(response, "run_event", String(id), { id: String(id) });
    if (after + 2 >= 5) {
      send(response, "end", "5", { status: "succeeded" });
      response.end();
    } else if (after === 0) response.end();
    else response.write("id: 99\nevent: run_event\ndata: {", () => request.socket.destroy());
  });
  const events = await collect(connect(server.url).runs.events("run_1", { follow: true }));
  assert.deepEqual(
    events.map(({ id }) => id),
    ["1", "2", "3", "4", "5"],
  );
  assert.deepEqual(
    server.seen.map(({ headers }) => headers["last-event-id"]),
    [undefined, "2", "4"],
  );
  assert.partialDeepStrictEqual(server.seen[0], {
    path: "/api/runs/run_1/events?follow=1",
    headers: { accept: "text/event-stream", authorization: "Bearer k" },
  });
});

test("a follower begins after its cursor and stops when its reader does", async () => {
  let closed: () => void = () => undefined;
  const closing = new Promise<void>((resolve) => (closed = resolve));
  await using server = await startWireServer((_seen, response, request) => {
    request.socket.on("close", closed);
    open(response);
    send(response, "run_log", "8", { id: "8", data: "aMO8" });
  });
  for await (const chunk of connect(server.url).runs.logs("run_1", { follow: true, cursor: "7" })) {
    assert.equal(new TextDecoder().decode(decodeBase64(chunk.data)), "hü");
    break;
  }
  await closing;
  assert.equal(server.seen[0]?.headers["last-event-id"], "7");
});

test("a gap ends the follower unless it is told what to do", async () => {
  await using server = await startWireServer((_seen, response) => {
    open(response);
    send(response, "gap", "4", { earliest_cursor: "4" });
    send(response, "run_log", "5", { id: "5" });
    send(response, "end", "5", {});
    response.end();
  });
  const { runs } = connect(server.url);
  await assert.rejects(
    collect(runs.logs("run_1", { follow: true, cursor: "1" })),
    (error: ConflictError) => error instanceof ConflictError && error.code === "cursor_expired",
  );
  const gaps: unknown[] = [];
  assert.equal(
    (await collect(runs.logs("run_1", { follow: true, cursor: "1", onGap: (at) => gaps.push(at) }))).length,
    1,
  );
  assert.deepEqual(gaps, ["4"]);
});

test("a refusal ends the follower, an unavailable server does not", async () => {
  let calls = 0;
  await using server = await startWireServer(({ path }, response) => {
    calls += 1;
    if (path.includes("run_0")) answer(response, 404, errorBody("not_found"));
    else if (calls === 2) answer(response, 503, errorBody("unavailable"));
    else {
      open(response);
      if (calls === 3)
        send(response, "error", "", {
          code: "unavailable",
          message: "down",
          details: null,
          request_id: "req-1",
        });
      else send(response, "end", "1", {});
      response.end();
    }
  });
  const { runs } = connect(server.url);
  await assert.rejects(collect(runs.events("run_0", { follow: true })), NotFoundError);
  assert.deepEqual(await collect(runs.events("run_1", { follow: true })), []);
  assert.equal(calls, 4);
});

test("without follow a feed is what there is, page by page", async () => {
  await using server = await startWireServer(({ path }, response) => {
    const after = new URL(path, "http://x").searchParams.get("cursor");
    answer(response, 200, {
      events: [{ id: after === null ? "1" : "2" }],
      next_cursor: after === null ? "1" : null,
    });
  });
  assert.deepEqual(
    (await collect(connect(server.url).runs.events("run_1"))).map(({ id }) => id),
    ["1", "2"],
  );
  assert.equal(server.seen[1]?.path, "/v1/runs/run_1/events?cursor=1&limit=200");
});

test("wait gives the ended run, or rejects for a failed one when asked to", async () => {
  await using server = await startWireServer(({ path }, response) => {
    if (path.startsWith("/v1/"))
      answer(response, 200, run("run_1", { status: "failed", failure: { message: "disk full" } }));
    else {
      open(response);
      send(response, "end", "3", { status: "failed" });
      response.end();
    }
  });
  const { runs } = connect(server.url);
  assert.equal((await runs.wait("run_1")).status, "failed");
  await assert.rejects(
    runs.wait("run_1", { throwOnFailure: true }),
    (error: RunFailedError) => error.run.id === "run_1" && error.message === "Run run_1 failed: disk full",
  );
});

test("wait asks again and again where streams are refused", async () => {
  let polls = 0;
  await using server = await startWireServer(({ path }, response) => {
    if (path.startsWith("/api/")) answer(response, 405, errorBody("method_not_allowed"));
    else answer(response, 200, run("run_1", { status: (polls += 1) < 3 ? "running" : "succeeded" }));
  });
  assert.equal((await connect(server.url).runs.wait("run_1")).status, "succeeded");
  assert.equal(polls, 3);
});

test("wait gives up after its time and when its signal is aborted", async () => {
  await using server = await startWireServer((_seen, response) => open(response));
  const { runs } = connect(server.url);
  await assert.rejects(runs.wait("run_1", { timeoutMs: 50 }), TimeoutError);
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("left")), 50);
  await assert.rejects(runs.wait("run_1", { signal: controller.signal }), /left/);
});
