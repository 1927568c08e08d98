import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import {
  Client,
  ConflictError,
  decodeBase64,
  NotFoundError,
  type RunFailedError,
  TimeoutError,
} from "@keelson/sdk";
import type { HeldLease } from "../../server/test/support/raw-worker.ts";
import { absentRunId, startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import {
  startFaultProxy,
  type Fate,
  type FaultProxy,
  type Seen,
} from "../../server/test/support/fault-proxy.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "a", retry: { max_attempts: 1 } }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const watch = (decide?: (seen: Seen, index: number) => Fate): Promise<FaultProxy> =>
  startFaultProxy(scene.server.url, decide);
const connect = (url = scene.server.url): Client =>
  new Client({ url, apiKey: scene.server.credentials.api_key });

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
}

/** A run whose attempt has begun. */
async function begin(): Promise<HeldLease> {
  await scene.start("a");
  const lease = await scene.worker.takeOne();
  await scene.worker.report(lease.operation("start"));
  return lease;
}

const write = (lease: HeldLease, ...texts: string[]): Promise<unknown> =>
  scene.worker.report(
    lease.operation("logs", {
      chunks: texts.map((text) => ({
        stream: "stdout",
        data: Buffer.from(text).toString("base64"),
        at: "2026-11-20T09:15:00.123Z",
      })),
    }),
  );

const end = (lease: HeldLease, outcome = "succeeded", extra = {}): Promise<unknown> =>
  scene.worker.report(lease.operation("release", { outcome, ...extra }));

const textOf = (chunk: { data: string }): string => new TextDecoder().decode(decodeBase64(chunk.data));

test("a follower resumes after each disconnect and sees every event once, until the end", async () => {
  const lease = await begin();
  await write(lease, "1", "2", "3", "4", "5");
  await end(lease);
  const failures: unknown[] = [];
  await using proxy = await watch((_seen, index) => (index < 2 ? { events: 2 } : "pass"));
  const onReconnect = (failure: unknown): void => void failures.push(failure);
  const chunks = await collect(connect(proxy.url).runs.logs(lease.runId, { follow: true, onReconnect }));
  assert.deepEqual(chunks.map(textOf), ["1", "2", "3", "4", "5"]);
  assert.deepEqual(
    proxy.seen.map(({ headers }) => headers["last-event-id"]),
    [undefined, "2", "4"],
  );
  assert.equal(failures.length, 2);
  assert.partialDeepStrictEqual(proxy.seen[0], {
    path: `/api/runs/${lease.runId}/logs?follow=1`,
    headers: { accept: "text/event-stream" },
  });
});

test("a follower begins after its cursor and hangs up when its reader leaves", async () => {
  const lease = await begin();
  await write(lease, "one", "hü");
  await using proxy = await watch();
  for await (const chunk of connect(proxy.url).runs.logs(lease.runId, { follow: true, cursor: "1" })) {
    assert.equal(textOf(chunk), "hü");
    break;
  }
  await proxy.seen[0]?.left;
});

test("a slow reader loses nothing and keeps its connection", async () => {
  const lease = await begin();
  await write(lease, "1", "2");
  await using proxy = await watch();
  const seen: string[] = [];
  for await (const chunk of connect(proxy.url).runs.logs(lease.runId, { follow: true })) {
    seen.push(textOf(chunk));
    if (seen.length === 1) await write(lease, "3");
    if (seen.length === 3) await end(lease);
  }
  assert.deepEqual(seen, ["1", "2", "3"]);
  assert.equal(proxy.seen.length, 1);
});

test("a gap ends the follower unless it is told what to do", async () => {
  const wire = [
    `id: 4\nevent: gap\ndata: {"earliest_cursor":"4"}\n\n`,
    `id: 5\nevent: run_log\ndata: {"id":"5"}\n\n`,
    `id: 5\nevent: end\ndata: {}\n\n`,
  ].join("");
  const fetch = async (): Promise<Response> => new Response(wire);
  const { runs } = new Client({ url: scene.server.url, apiKey: "k", fetch });
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
  const lease = await begin();
  await end(lease);
  await using proxy = await watch((_seen, index) =>
    index === 0 ? { status: 503 } : index === 1 ? "cut before" : "pass",
  );
  const events = await collect(connect(proxy.url).runs.events(lease.runId, { follow: true }));
  assert.equal(events.at(-1)?.kind, "run.succeeded");
  assert.equal(proxy.seen.length, 3);
  await assert.rejects(
    collect(connect().runs.events(absentRunId(lease.runId), { follow: true })),
    NotFoundError,
  );
});

test("without follow a feed is what there is, page by page", async () => {
  const lease = await begin();
  const texts = Array.from({ length: 250 }, (_, i) => `${i}`);
  await write(lease, ...texts);
  await using proxy = await watch();
  assert.deepEqual((await collect(connect(proxy.url).runs.logs(lease.runId))).map(textOf), texts);
  assert.match(proxy.seen[1]?.path ?? "", /\/logs\?cursor=200&limit=200$/);
});

test("wait gives the ended run, or rejects for a failed one when asked to", async () => {
  const lease = await begin();
  const { runs } = connect();
  const waiting = runs.wait(lease.runId);
  const failure = { kind: "application_error", message: "disk full", stack: null, retryable: false };
  await end(lease, "failed", { failure });
  assert.equal((await waiting).status, "failed");
  await assert.rejects(
    runs.wait(lease.runId, { throwOnFailure: true }),
    (error: RunFailedError) =>
      error.run.id === lease.runId && error.message === `Run ${lease.runId} failed: disk full`,
  );
});

test("wait asks again and again where streams are refused", async () => {
  const lease = await begin();
  let polls = 0;
  await using proxy = await watch(({ path }) => {
    if (path.startsWith("/api/")) return { status: 405 };
    polls += 1;
    return polls < 3 ? "pass" : { hold: end(lease) };
  });
  assert.equal((await connect(proxy.url).runs.wait(lease.runId)).status, "succeeded");
  assert.equal(polls, 3);
});

test("wait gives up after its time and when its signal is aborted", async () => {
  const { id } = await scene.start("a");
  const { runs } = connect();
  await assert.rejects(runs.wait(id, { timeout: "50ms" }), TimeoutError);
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("left")), 50);
  await assert.rejects(runs.wait(id, { signal: controller.signal }), /left/);
});
