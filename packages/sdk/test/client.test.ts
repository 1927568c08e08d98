import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, suite, test } from "node:test";
import {
  AuthenticationError,
  BadRequestError,
  Client,
  ConflictError,
  ConnectionError,
  ApiError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
  type ClientOptions,
  UsageError,
} from "@keelson/sdk";
import { absentRunId, startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { addApiKey } from "../../server/test/support/tenancy.ts";
import { errorOf } from "../src/client/errors.ts";
import { startFaultProxy } from "../../server/test/support/fault-proxy.ts";

let scene: RunScene;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "a" }] });
});
after(() => scene.stop());
afterEach(() => scene.cancelAll());

const connect = (url = scene.server.url, options: ClientOptions = {}): Client =>
  new Client({ url, apiKey: scene.server.credentials.api_key, ...options });

async function rejection(promise: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await promise.then(
    () => assert.fail("must reject"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

async function countRuns(tag: string): Promise<number> {
  return (await connect().runs.list({ tag }).page()).items.length;
}

suite("a request", () => {
  test("carries the credential and the versions", async () => {
    await using proxy = await startFaultProxy(scene.server.url);
    const { id } = await connect(`${proxy.url}/`, { headers: { "service-cli-version": "9" } }).tasks.start(
      "a",
    );
    assert.partialDeepStrictEqual(proxy.seen[0], {
      path: "/v1/tasks/a/start",
      headers: {
        authorization: `Bearer ${scene.server.credentials.api_key}`,
        "service-api-version": "2026-06-06",
        "service-sdk-version": "0.1.0",
        "service-cli-version": "9",
      },
    });
    assert.partialDeepStrictEqual(await scene.get(id), { sdk_version: "0.1.0", cli_version: "9" });
  });

  test("needs a URL and a key, and says which is missing", async () => {
    assert.throws(() => new Client({ apiKey: "x", url: "" }), /KEELSON_URL/);
    assert.throws(() => new Client({ url: "http://127.0.0.1:1", apiKey: "" }), /KEELSON_API_KEY/);
    assert.throws(
      () => new Client({ url: "http://127.0.0.1:1", apiKey: "a b" }),
      /has a character that no key has/,
    );
    const ofFile = connect(undefined, { apiKey: `${scene.server.credentials.api_key}\n` });
    assert.equal(typeof (await ofFile.runs.counts()).queued, "number");
    assert.throws(() => new Client({ url: "ftp://x", apiKey: "x" }), /http/);
  });

  test("asks the environment for nothing when both are given, where it may be refused", () => {
    const env = Object.getOwnPropertyDescriptor(process, "env") as PropertyDescriptor;
    const refuse = (): never => assert.fail("the environment was read");
    Object.defineProperty(process, "env", { configurable: true, get: refuse });
    try {
      connect();
      assert.throws(() => new Client({ url: scene.server.url }), /the environment was read/);
    } finally {
      Object.defineProperty(process, "env", env);
    }
  });

  test("goes through a custom fetch when there is one", async () => {
    const urls: string[] = [];
    const fetch: typeof globalThis.fetch = (input, init) => {
      urls.push(input as string);
      return globalThis.fetch(input, init);
    };
    const { id } = await connect(scene.server.url, { fetch }).tasks.start("a");
    await connect(scene.server.url, { fetch }).runs.get(id);
    assert.deepEqual(urls, [`${scene.server.url}/v1/tasks/a/start`, `${scene.server.url}/v1/runs/${id}`]);
  });

  test("that starts a run sends its options as the wire's fields", async () => {
    await using proxy = await startFaultProxy(scene.server.url);
    const { deploymentVersion } = await connect().tasks.start("a");
    const run = await connect(proxy.url).tasks.start(
      "a",
      { x: 1 },
      {
        queue: "default",
        concurrencyKey: "c",
        priority: 5,
        delay: 90_000,
        ttl: "1h",
        maxDuration: "5m",
        retry: { maxAttempts: 2 },
        metadata: { m: 1 },
        tags: ["t"],
        deploymentVersion,
        idempotencyKey: "k",
        idempotencyKeyTtl: "2d",
      },
    );
    assert.deepEqual(proxy.seen[0]?.body, {
      payload: { x: 1 },
      queue: "default",
      concurrency_key: "c",
      priority: 5,
      delay: "90s",
      ttl: "1h",
      max_duration: "5m",
      retry: { max_attempts: 2 },
      metadata: { m: 1 },
      tags: ["t"],
      deployment_version: deploymentVersion,
      idempotency_key: "k",
      idempotency_key_ttl: "2d",
    });
    assert.partialDeepStrictEqual(run, { payload: { x: 1 }, priority: 5, maxAttempts: 2, tags: ["t"] });
    const startAt = new Date(Date.now() + 3_600_000);
    assert.equal((await connect().tasks.start("a", 1, { startAt })).startAt, startAt.toISOString());
    await assert.rejects(connect().tasks.start("a", 1, { delay: "soon" as never }), UsageError);
    const never = new Date("never");
    await assert.rejects(
      connect().tasks.start("a", 1, { startAt: never }),
      /UsageError: startAt is an invalid Date/,
    );
    await assert.rejects(
      async () => connect().runs.list({ createdAfter: never }).page(),
      /UsageError: createdAfter is/,
    );
  });

  test("for a list is repeated page by page, with its filters on every page", async () => {
    const client = connect();
    const started: string[] = [];
    for (let i = 0; i < 3; i += 1) started.push((await client.tasks.start("a", i, { tags: ["a b"] })).id);
    await client.tasks.start("a", 3);
    const list = client.runs.list({ status: ["queued", "running"], tag: "a b", limit: 1 });
    const ids: string[] = [];
    for await (const { id } of list) ids.push(id);
    assert.deepEqual(ids, started.toReversed());
    const first = await list.page();
    assert.equal(first.items.length, 1);
    assert.equal((await list.page(first.nextCursor ?? "")).items[0]?.id, started[1]);
  });
});

suite("an error", () => {
  test("has the class of the refusal and the server's words", async () => {
    const { id } = await connect().tasks.start("a", 1, { idempotencyKey: "first" });
    const limited = await addApiKey(scene.server, ["tasks.read"]);
    for (const [expected, status, code, call] of [
      [BadRequestError, 400, "invalid_request", (client: Client) => client.runs.list({ limit: 1000 }).page()],
      [PermissionError, 403, "forbidden", () => connect(undefined, { apiKey: limited }).runs.get(id)],
      [AuthenticationError, 401, "unauthenticated", () => connect(undefined, { apiKey: "x" }).runs.get(id)],
      [NotFoundError, 404, "not_found", (client: Client) => client.runs.get(absentRunId(id))],
      [
        ConflictError,
        409,
        "idempotency_conflict",
        (client: Client) => client.tasks.start("a", 2, { idempotencyKey: "first" }),
      ],
    ] as const) {
      const error = await rejection(call(connect()));
      assert.equal(error.constructor, expected);
      assert.deepEqual([error.status, error.code, error.outcomeUnknown], [status, code, false]);
      assert.match(error.requestId ?? "", /./);
      if (status === 400) assert.equal(error.issues[0]?.path, "limit");
      if (status === 403) assert.deepEqual(error.details, { permission: "runs.read" });
    }
  });

  test("has the class of its status", () => {
    for (const [status, expected] of [
      [405, BadRequestError],
      [410, ConflictError],
      [413, BadRequestError],
      [429, RateLimitError],
      [500, ServerError],
      [503, UnavailableError],
    ] as const)
      assert.equal(errorOf(status, { code: "internal", message: "" }).constructor, expected);
  });

  test("says so when an answer is not the server's", async () => {
    await using proxy = await startFaultProxy(scene.server.url, ({ path }) => ({
      status: path.endsWith("bad") ? 502 : 200,
    }));
    const client = connect(proxy.url, { maxRetries: 0 });
    for (const [id, status] of [
      ["bad", 502],
      ["good", 200],
    ] as const) {
      const error = await rejection(client.runs.get(id));
      assert.deepEqual([error.code, error.status], ["unexpected_response", status]);
    }
  });
});

suite("when the network fails", () => {
  test("a read is repeated after 503 and 429 as Retry-After says", async () => {
    const { id } = await connect().tasks.start("a");
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
      index === 0 ? { status: 503 } : index === 1 ? { status: 429, headers: { "retry-after": "1" } } : "pass",
    );
    const begun = performance.now();
    await connect(proxy.url).runs.get(id);
    assert.equal(proxy.seen.length, 3);
    assert.ok(performance.now() - begun >= 1000);
  });

  test("a read whose connection is cut is repeated", async () => {
    const { id } = await connect().tasks.start("a");
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
      index === 0 ? "cut before" : index === 1 ? "cut after" : "pass",
    );
    assert.equal((await connect(proxy.url).runs.get(id)).id, id);
    assert.equal(proxy.seen.length, 3);
  });

  test("a start whose answer is lost after the commit is repeated with its own key and starts once", async () => {
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
      index === 0 ? "cut after" : index === 1 ? { status: 503 } : "pass",
    );
    const run = await connect(proxy.url).tasks.start("a", 1, { tags: ["lost"] });
    const keys = proxy.seen.map(({ body }) => String(body.idempotency_key));
    assert.match(keys[0] ?? "", /^[0-9a-f]{32}$/);
    assert.deepEqual(keys, [keys[0], keys[0], keys[0]]);
    assert.equal(proxy.seen[0]?.body.idempotency_key_ttl, "10m");
    assert.equal(await countRuns("lost"), 1);
    assert.equal((await connect().runs.list({ tag: "lost" }).page()).items[0]?.id, run.id);
  });

  test("two equal starts without keys are two runs", async () => {
    const client = connect();
    const [first, second] = [await client.tasks.start("a", 1), await client.tasks.start("a", 1)];
    assert.notEqual(first.id, second.id);
  });

  test("a start whose answer is lost every time says that its outcome is unknown", async () => {
    await using proxy = await startFaultProxy(scene.server.url, () => "cut after");
    const client = connect(proxy.url, { maxRetries: 1 });
    const error = await rejection(client.tasks.start("a", 1, { tags: ["gone"] }));
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.outcomeUnknown, true);
    assert.equal(proxy.seen.length, 2);
    assert.equal(await countRuns("gone"), 1);
  });

  test("a start with an idempotency key is repeated and starts once", async () => {
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) =>
      index === 0 ? "cut after" : index === 1 ? { status: 503 } : "pass",
    );
    const run = await connect(proxy.url).tasks.start("a", 1, { idempotencyKey: "once", tags: ["once"] });
    assert.deepEqual(
      proxy.seen.map(({ body }) => body.idempotency_key),
      ["once", "once", "once"],
    );
    assert.equal(await countRuns("once"), 1);
    assert.equal((await connect().runs.list({ tag: "once" }).page()).items[0]?.id, run.id);
  });

  test("a 503 leaves the outcome of a write unknown; it, a 408 and a 429 are repeated", async () => {
    await using proxy = await startFaultProxy(scene.server.url, (_seen, index) => ({
      status: [408, 429][index] ?? 503,
    }));
    const error = await rejection(connect(proxy.url, { maxRetries: 3 }).tasks.start("a"));
    assert.equal(proxy.seen.length, 4);
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.outcomeUnknown, true);
  });

  test("a server that cannot be reached had no effect, and is tried again", async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => void probe.listen(0, "127.0.0.1", resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => void probe.close(resolve));
    for (const options of [{}, { fetch: globalThis.fetch }]) {
      const error = await rejection(
        connect(`http://127.0.0.1:${port}`, { maxRetries: 1, ...options }).tasks.start("a"),
      );
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.outcomeUnknown, false);
      assert.match(error.message, /Cannot reach http:\/\/127.*ECONNREFUSED/);
    }
  });

  test("what takes too long is a TimeoutError, what is aborted rejects with the signal's reason", async () => {
    await using proxy = await startFaultProxy(scene.server.url, () => "swallow");
    const client = connect(proxy.url, { maxRetries: 0 });
    const error = await rejection(client.runs.get("run_1", { requestTimeout: "30ms" }));
    assert.ok(error instanceof TimeoutError);
    const controller = new AbortController();
    const pending = client.runs.get("run_1", { signal: controller.signal });
    const reason = new Error("the user left");
    setTimeout(() => controller.abort(reason), 20);
    await assert.rejects(pending, reason);
    await assert.rejects(client.runs.get("run_1", { signal: AbortSignal.abort(reason) }), reason);
  });
});
