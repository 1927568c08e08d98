import assert from "node:assert/strict";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import {
  AuthenticationError,
  BadRequestError,
  Client,
  ConflictError,
  ConnectionError,
  KeelsonError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnavailableError,
  type ClientOptions,
} from "@keelson/sdk";
import { answer, errorBody, run, startWireServer } from "./support/wire-server.ts";

const connect = (url: string, options: ClientOptions = {}): Client =>
  new Client({ url, apiKey: "kl_key_test", ...options });

async function rejection(promise: Promise<unknown>): Promise<KeelsonError> {
  const error: unknown = await promise.then(
    () => assert.fail("must reject"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof KeelsonError, String(error));
  return error;
}

const fieldsOf = ({ code, status, requestId, message, outcomeUnknown }: KeelsonError) => ({
  code,
  status,
  requestId,
  message,
  outcomeUnknown,
});

test("a request carries the credential and the versions", async () => {
  await using server = await startWireServer((_seen, response) => answer(response, 200, run("run_1")));
  await connect(`${server.url}/`, { headers: { "service-cli-version": "9" } }).runs.get("run_1");
  assert.partialDeepStrictEqual(server.seen[0], {
    path: "/v1/runs/run_1",
    headers: {
      authorization: "Bearer kl_key_test",
      "service-api-version": "2026-06-06",
      "service-sdk-version": "0.1.0",
      "service-cli-version": "9",
    },
  });
});

test("a client without a URL or a key says which is missing", () => {
  assert.throws(() => new Client({ apiKey: "x", url: "" }), /KEELSON_URL/);
  assert.throws(() => new Client({ url: "http://127.0.0.1:1", apiKey: "" }), /KEELSON_API_KEY/);
  assert.throws(() => new Client({ url: "ftp://x", apiKey: "x" }), /http/);
});

test("an error has the class of its status and the server's words", async () => {
  const classes = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionError,
    404: NotFoundError,
    409: ConflictError,
    410: ConflictError,
    429: RateLimitError,
    500: ServerError,
    503: UnavailableError,
  } as const;
  await using server = await startWireServer(({ path }, response) => {
    answer(
      response,
      Number(path.split("/").at(-1)),
      errorBody("invalid_request", "Fix it", { issues: [{ path: "payload.a", message: "no" }] }),
    );
  });
  const client = connect(server.url, { maxRetries: 0 });
  for (const [status, expected] of Object.entries(classes)) {
    const error = await rejection(client.runs.get(status));
    assert.equal(error.constructor, expected);
    assert.partialDeepStrictEqual(fieldsOf(error), {
      code: "invalid_request",
      status: Number(status),
      requestId: "req-1",
      message: "Fix it",
      outcomeUnknown: false,
    });
    assert.deepEqual(error.issues, [{ path: "payload.a", message: "no" }]);
  }
});

test("an answer that is not the wire's is named as such", async () => {
  await using server = await startWireServer(({ path }, response) => {
    response.writeHead(path.endsWith("bad") ? 502 : 200, { "content-type": "text/html" }).end("<html>");
  });
  const client = connect(server.url, { maxRetries: 0 });
  assert.partialDeepStrictEqual(fieldsOf(await rejection(client.runs.get("bad"))), {
    code: "unexpected_response",
    status: 502,
  });
  assert.partialDeepStrictEqual(fieldsOf(await rejection(client.runs.get("good"))), {
    code: "unexpected_response",
    status: 200,
  });
});

test("a read is repeated after 503 and 429 as Retry-After says", async () => {
  let calls = 0;
  await using server = await startWireServer((_seen, response) => {
    calls += 1;
    if (calls === 1) answer(response, 503, errorBody("unavailable"));
    else if (calls === 2) answer(response, 429, errorBody("rate_limited"), { "retry-after": "1" });
    else answer(response, 200, run("run_1"));
  });
  const begun = performance.now();
  await connect(server.url).runs.get("run_1");
  assert.equal(calls, 3);
  assert.ok(performance.now() - begun >= 1000);
});

test("a read is repeated when its connection is cut", async () => {
  let calls = 0;
  await using server = await startWireServer((_seen, response, request) => {
    calls += 1;
    if (calls === 1) request.socket.destroy();
    else answer(response, 200, run("run_1"));
  });
  await connect(server.url).runs.get("run_1");
  assert.equal(calls, 2);
});

test("a start without a key whose answer is lost is not repeated and says so", async () => {
  let calls = 0;
  await using server = await startWireServer((_seen, _response, request) => {
    calls += 1;
    request.socket.destroy();
  });
  const error = await rejection(connect(server.url).tasks.start("a", 1));
  assert.ok(error instanceof ConnectionError);
  assert.equal(error.outcomeUnknown, true);
  assert.equal(calls, 1);
});

test("a start with an idempotency key is repeated with that key", async () => {
  let calls = 0;
  await using server = await startWireServer((_seen, response, request) => {
    calls += 1;
    if (calls === 1) request.socket.destroy();
    else if (calls === 2) answer(response, 503, errorBody("unavailable"));
    else answer(response, 201, run("run_1"));
  });
  await connect(server.url).tasks.start("a", 1, { idempotencyKey: "k" });
  assert.deepEqual(
    server.seen.map(({ body }) => body),
    Array.from({ length: 3 }, () => ({ payload: 1, idempotency_key: "k" })),
  );
});

test("a 503 to a start without a key leaves its outcome unknown, a 429 is repeated", async () => {
  let calls = 0;
  await using server = await startWireServer((_seen, response) => {
    calls += 1;
    if (calls === 1) answer(response, 429, errorBody("rate_limited"));
    else answer(response, 503, errorBody("unavailable"));
  });
  const error = await rejection(connect(server.url).tasks.start("a"));
  assert.equal(calls, 2);
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

test("a request that takes too long is a TimeoutError, an aborted one rejects with the signal's reason", async () => {
  await using server = await startWireServer(() => undefined);
  const client = connect(server.url, { maxRetries: 0 });
  const error = await rejection(client.runs.get("run_1", { timeoutMs: 30 }));
  assert.ok(error instanceof TimeoutError);
  const controller = new AbortController();
  const pending = client.runs.get("run_1", { signal: controller.signal });
  const reason = new Error("the user left");
  setTimeout(() => controller.abort(reason), 20);
  await assert.rejects(pending, reason);
  await assert.rejects(client.runs.get("run_1", { signal: AbortSignal.abort(reason) }), reason);
});

test("a custom fetch is used for everything", async () => {
  const urls: string[] = [];
  const fetch: typeof globalThis.fetch = async (input) => {
    urls.push(input as string);
    return new Response(JSON.stringify(run("run_1")), { status: 200 });
  };
  await connect("http://example.invalid", { fetch }).runs.get("run_1");
  assert.deepEqual(urls, ["http://example.invalid/v1/runs/run_1"]);
});

test("a list is read page by page, with its filters on every page", async () => {
  await using server = await startWireServer(({ path }, response) => {
    const page = new URL(path, "http://x").searchParams.get("cursor");
    answer(response, 200, {
      runs: [run(`run_${page ?? 0}`)],
      next_cursor: page === null ? "1" : page === "1" ? "2" : null,
    });
  });
  const list = connect(server.url).runs.list({ status: ["queued", "running"], tag: "a b", limit: 1 });
  const ids: string[] = [];
  for await (const { id } of list) ids.push(id);
  assert.deepEqual(ids, ["run_0", "run_1", "run_2"]);
  assert.equal(server.seen[1]?.path, "/v1/runs?limit=1&cursor=1&status=queued&status=running&tag=a+b");
  assert.partialDeepStrictEqual(await list.page(), { next_cursor: "1" });
});

test("a start's options are the wire's fields", async () => {
  await using server = await startWireServer((_seen, response) => answer(response, 201, run("run_1")));
  await connect(server.url).tasks.start(
    "a",
    { x: 1 },
    {
      queue: "q",
      concurrencyKey: "c",
      priority: 5,
      delay: 1500,
      startAt: new Date(0),
      ttl: "1h",
      maxDuration: "5m",
      retry: { maxAttempts: 2 },
      metadata: { m: 1 },
      tags: ["t"],
      deploymentVersion: "20261120.1",
      idempotencyKey: "k",
      idempotencyKeyTtl: "2d",
    },
  );
  assert.deepEqual(server.seen[0]?.body, {
    payload: { x: 1 },
    queue: "q",
    concurrency_key: "c",
    priority: 5,
    delay: "1500ms",
    start_at: "1970-01-01T00:00:00.000Z",
    ttl: "1h",
    max_duration: "5m",
    retry: { max_attempts: 2 },
    metadata: { m: 1 },
    tags: ["t"],
    deployment_version: "20261120.1",
    idempotency_key: "k",
    idempotency_key_ttl: "2d",
  });
  await assert.rejects(connect(server.url).tasks.start("a", 1, { delay: "soon" as never }), RangeError);
});
