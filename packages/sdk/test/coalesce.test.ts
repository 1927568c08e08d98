import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Client, type ApiError, type Run, UsageError } from "@keelson/sdk";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import {
  startFaultProxy,
  type Fate,
  type FaultProxy,
  type Seen,
} from "../../server/test/support/fault-proxy.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "a" }] });
});
after(() => scene.stop());

type Start = { idempotency_key: string };

const isBatch = ({ path }: Seen): boolean => path === "/v1/tasks/start-batch";
const watch = (decide?: (seen: Seen, index: number) => Fate): Promise<FaultProxy> =>
  startFaultProxy(scene.server.url, decide);
const connect = (url: string): Client => new Client({ url, apiKey: scene.server.credentials.api_key });
const payloadsOf = (runs: readonly Pick<Run, "payload">[]): unknown[] => runs.map(({ payload }) => payload);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

test("a lone start goes out alone", async () => {
  await using proxy = await watch();
  assert.equal((await connect(proxy.url).tasks.start("a", 1)).payload, 1);
  assert.deepEqual(
    proxy.seen.map(({ path }) => path),
    ["/v1/tasks/a/start"],
  );
});

test("starts of one tick share a request and each gets its own run", async () => {
  await using proxy = await watch();
  const client = connect(proxy.url);
  const runs = await Promise.all(numbers(1200).map((i) => client.tasks.start("a", i)));
  assert.deepEqual(payloadsOf(runs), numbers(1200));
  assert.equal(new Set(runs.map(({ id }) => id)).size, 1200);
  assert.deepEqual(
    proxy.seen.map(({ body }) => body.starts.length),
    [500, 500, 200],
  );
});

test("what is called while two requests are under way is the next batch", async () => {
  const gate = Promise.withResolvers<void>();
  await using proxy = await watch((seen) => (isBatch(seen) ? "pass" : { hold: gate.promise }));
  const client = connect(proxy.url);
  const starts: Promise<Run>[] = [];
  for (const i of numbers(10)) {
    starts.push(client.tasks.start("a", i));
    await setImmediate();
  }
  while (proxy.seen.length < 2) await setImmediate();
  gate.resolve();
  assert.deepEqual(payloadsOf(await Promise.all(starts)), numbers(10));
  assert.equal(proxy.seen.length, 3);
  assert.equal(proxy.seen[2]?.body.starts.length, 8);
});

test("each caller of a batch gets its own error", async () => {
  await using proxy = await watch();
  const results = await connect(proxy.url).tasks.startBatch(
    numbers(4).map((payload) => ({ task: payload % 2 === 0 ? "a" : "absent", payload })),
  );
  assert.deepEqual(
    results.map(({ run, error }) => run?.payload ?? error?.name),
    [0, "NotFoundError", 2, "NotFoundError"],
  );
  assert.equal(proxy.seen.length, 1);
});

test("one start that is refused for its shape does not refuse its batch", async () => {
  const refused = (i: number): boolean => i === 3 || i === 77;
  const client = connect(scene.server.url);
  const results = await Promise.allSettled(
    numbers(100).map((i) => client.tasks.start("a", i, refused(i) ? { queue: "not a name!" } : {})),
  );
  results.forEach((result, i) => {
    if (!refused(i)) assert.equal((result as PromiseFulfilledResult<Run>).value.payload, i);
    else assert.equal(((result as PromiseRejectedResult).reason as ApiError).issues[0]?.path, "queue");
  });
});

test("starts with keys of the caller and with keys of their own share a request, and repeated each starts once", async () => {
  await using proxy = await watch((_seen, index) => (index === 0 ? "cut after" : "pass"));
  const client = connect(proxy.url);
  const runs = await Promise.all(
    numbers(4).map((i) =>
      client.tasks.start("a", i, { tags: ["keys"], ...(i % 2 === 0 && { idempotencyKey: `k${i}` }) }),
    ),
  );
  assert.deepEqual(payloadsOf(runs), numbers(4));
  assert.equal(proxy.seen.length, 2);
  assert.deepEqual(proxy.seen[0]?.body, proxy.seen[1]?.body);
  assert.equal(new Set(proxy.seen[0]?.body.starts.map((start: Start) => start.idempotency_key)).size, 4);
  assert.equal((await connect(scene.server.url).runs.list({ tag: "keys" }).page()).items.length, 4);
});

test("batches stay under the body limit", async () => {
  await using proxy = await watch();
  const client = connect(proxy.url);
  const payload = "ü".repeat(50_000);
  const runs = await Promise.all(numbers(40).map(() => client.tasks.start("a", payload)));
  assert.ok(runs.every((run) => run.payload === payload));
  const largest = Math.max(...proxy.seen.map(({ headers }) => Number(headers["content-length"])));
  assert.ok(largest > 500_000 && largest < 1024 * 1024, String(largest));
});

test("a payload counts as it was at the call, and one that is not JSON rejects its caller alone", async () => {
  const client = connect(scene.server.url);
  const payload = { n: 1 };
  const started = client.tasks.start("a", payload);
  payload.n = 2;
  await assert.rejects(client.tasks.start("a", 1n), UsageError);
  assert.deepEqual((await started).payload, { n: 1 });
});

test("a payload that JSON would change rejects its caller alone, among concurrent starts and in a batch", async () => {
  await using proxy = await watch();
  const client = connect(proxy.url);
  for (const odd of [{ n: Number.NaN }, "half \ud83d", "a\0b", 1n]) {
    const [first, refused, last] = await Promise.allSettled(
      [0, odd, 2].map((each) => client.tasks.start("a", each)),
    );
    assert.deepEqual(
      [first, last].map((each) => each?.status),
      ["fulfilled", "fulfilled"],
    );
    assert.match(
      String((refused as PromiseRejectedResult).reason),
      /UsageError: The body of the request is not JSON: .* at payload/,
    );
    const results = await client.tasks.startBatch([0, odd, 2].map((payload) => ({ task: "a", payload })));
    assert.deepEqual(
      results.map(({ run, error }) => run?.payload ?? error?.code),
      [0, "invalid_request", 2],
    );
  }
  assert.ok(proxy.seen.every(({ body }) => body.starts.length === 2));
});

test("an aborted start that waits is not sent", async () => {
  await using proxy = await watch();
  const client = connect(proxy.url);
  const controller = new AbortController();
  const aborted = client.tasks.start("a", 0, { signal: controller.signal });
  const kept = client.tasks.start("a", 1);
  controller.abort(new Error("left"));
  await assert.rejects(aborted, /left/);
  await kept;
  assert.deepEqual(
    proxy.seen.map(({ path, body }) => [path, body.payload]),
    [["/v1/tasks/a/start", 1]],
  );
});
