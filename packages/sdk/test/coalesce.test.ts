import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { Client, type KeelsonError } from "@keelson/sdk";
import { answer, errorBody, run, startWireServer, type Seen } from "./support/wire-server.ts";

type BatchBody = { starts: { task: string; payload: number; idempotency_key?: string }[] };

const isBatch = ({ path }: Seen): boolean => path === "/v1/tasks/start-batch";
const connect = (url: string): Client => new Client({ url, apiKey: "k" });

/** Starts every run, as the server does: a run named after its payload. */
function startAll(seen: Seen, response: ServerResponse): void {
  if (!isBatch(seen)) {
    answer(response, 201, run(`run_${(seen.body as { payload: number }).payload}`));
    return;
  }
  const { starts } = seen.body as BatchBody;
  answer(response, 200, {
    results: starts.map(({ payload }) => ({ status: 201, run: run(`run_${payload}`), error: null })),
  });
}

test("a lone start goes out alone", async () => {
  await using server = await startWireServer(startAll);
  assert.equal((await connect(server.url).tasks.start("report", 1)).id, "run_1");
  assert.deepEqual(
    server.seen.map(({ path }) => path),
    ["/v1/tasks/report/start"],
  );
});

test("starts of one tick share a request and each gets its own run", async () => {
  await using server = await startWireServer(startAll);
  const client = connect(server.url);
  const runs = await Promise.all(Array.from({ length: 1200 }, (_, i) => client.tasks.start("report", i)));
  assert.deepEqual(
    runs.map(({ id }) => id),
    Array.from({ length: 1200 }, (_, i) => `run_${i}`),
  );
  assert.deepEqual(
    server.seen.map(({ body }) => (body as BatchBody).starts.length),
    [500, 500, 200],
  );
});

test("what is called while two requests are under way is the next batch", async () => {
  const held: (() => void)[] = [];
  await using server = await startWireServer((seen, response) => {
    if (held.length < 2 && !isBatch(seen)) held.push(() => startAll(seen, response));
    else startAll(seen, response);
  });
  const client = connect(server.url);
  const first = [client.tasks.start("a", 0)];
  await new Promise(setImmediate);
  first.push(client.tasks.start("a", 1));
  await new Promise(setImmediate);
  for (let i = 2; i < 10; i += 1) {
    first.push(client.tasks.start("a", i));
    await new Promise(setImmediate);
  }
  while (held.length < 2) await new Promise(setImmediate);
  assert.equal(server.seen.length, 2);
  for (const release of held) release();
  assert.deepEqual(
    (await Promise.all(first)).map(({ id }) => id),
    Array.from({ length: 10 }, (_, i) => `run_${i}`),
  );
  assert.equal((server.seen[2]!.body as BatchBody).starts.length, 8);
});

test("each caller of a batch gets its own error", async () => {
  await using server = await startWireServer((seen, response) => {
    const { starts } = seen.body as BatchBody;
    answer(response, 200, {
      results: starts.map(({ payload }) =>
        payload % 2 === 0
          ? { status: 201, run: run(`run_${payload}`), error: null }
          : {
              status: 404,
              run: null,
              error: { code: "not_found", message: `no ${payload}`, details: null, request_id: "r" },
            },
      ),
    });
  });
  const results = await connect(server.url).tasks.startBatch(
    [0, 1, 2, 3].map((payload) => ({ task: "a", payload })),
  );
  assert.deepEqual(
    results.map(({ run, error }) => run?.id ?? error?.message),
    ["run_0", "no 1", "run_2", "no 3"],
  );
  assert.equal(results[1]?.error?.name, "NotFoundError");
});

test("one start that is refused does not refuse its batch", async () => {
  const refused = (payload: number): boolean => payload === 3 || payload === 77;
  await using server = await startWireServer((seen, response) => {
    const payloads = isBatch(seen)
      ? (seen.body as BatchBody).starts.map(({ payload }) => payload)
      : [(seen.body as { payload: number }).payload];
    if (payloads.some(refused))
      answer(response, 400, errorBody("invalid_request", isBatch(seen) ? "starts/…" : "payload"));
    else startAll(seen, response);
  });
  const client = connect(server.url);
  const results = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => client.tasks.start("a", i)));
  results.forEach((result, i) => {
    if (!refused(i)) assert.equal((result as PromiseFulfilledResult<{ id: string }>).value.id, `run_${i}`);
    else assert.equal(((result as PromiseRejectedResult).reason as KeelsonError).message, "payload");
  });
});

test("starts with and without keys never share a request, and only those with keys are repeated", async () => {
  const cut = new Set<string>();
  await using server = await startWireServer((seen, response, request) => {
    const keyed = (seen.body as BatchBody).starts[0]?.idempotency_key !== undefined;
    if (cut.has(String(keyed))) startAll(seen, response);
    else {
      cut.add(String(keyed));
      request.socket.destroy();
    }
  });
  const client = connect(server.url);
  const results = await Promise.allSettled(
    [0, 1, 2, 3].map((i) => client.tasks.start("a", i, i % 2 === 0 ? { idempotencyKey: `k${i}` } : {})),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "rejected"],
  );
  assert.equal(((results[1] as PromiseRejectedResult).reason as KeelsonError).outcomeUnknown, true);
  assert.equal(server.seen.length, 3);
});

test("a start that is told to come back later is repeated by itself", async () => {
  let calls = 0;
  await using server = await startWireServer((seen, response) => {
    calls += 1;
    if (calls > 1) {
      startAll(seen, response);
      return;
    }
    const error = { code: "rate_limited", message: "later", details: null, request_id: "r" };
    answer(response, 200, {
      results: [
        { status: 429, run: null, error },
        { status: 201, run: run("run_1"), error: null },
      ],
    });
  });
  const client = connect(server.url);
  const runs = await Promise.all([client.tasks.start("a", 0), client.tasks.start("a", 1)]);
  assert.deepEqual(
    runs.map(({ id }) => id),
    ["run_0", "run_1"],
  );
});

test("batches stay under the body limit", async () => {
  let largest = 0;
  await using server = await startWireServer((seen, response, request) => {
    largest = Math.max(largest, Number(request.headers["content-length"]));
    const { starts } = isBatch(seen) ? (seen.body as BatchBody) : { starts: [0] };
    answer(
      response,
      200,
      isBatch(seen)
        ? { results: starts.map(() => ({ status: 201, run: run("run_1"), error: null })) }
        : run("run_1"),
    );
  });
  const client = connect(server.url);
  await Promise.all(Array.from({ length: 40 }, () => client.tasks.start("a", "ü".repeat(50_000))));
  assert.ok(largest > 500_000 && largest < 1024 * 1024, String(largest));
});

test("a payload counts as it was at the call, and one that is not JSON rejects its caller alone", async () => {
  await using server = await startWireServer((seen, response) => startAll(seen, response));
  const client = connect(server.url);
  const payload = { n: 1 };
  const started = client.tasks.start("a", payload);
  payload.n = 2;
  await assert.rejects(client.tasks.start("a", 1n), TypeError);
  await started;
  assert.deepEqual(server.seen[0]?.body, { payload: { n: 1 } });
});

test("an aborted start that waits is not sent", async () => {
  await using server = await startWireServer(startAll);
  const client = connect(server.url);
  const controller = new AbortController();
  const aborted = client.tasks.start("a", 0, { signal: controller.signal });
  const kept = client.tasks.start("a", 1);
  controller.abort(new Error("left"));
  await assert.rejects(aborted, /left/);
  await kept;
  assert.deepEqual(
    server.seen.map(({ path }) => path),
    ["/v1/tasks/a/start"],
  );
});
