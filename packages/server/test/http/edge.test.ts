import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { API_VERSION, PERMISSIONS } from "@keelson/contract";
import { startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";
import { addApiKey, addForeignPlace, addUser, place } from "../support/tenancy.ts";

let server: ApiServer;

type Options = { method?: string; as?: string | null; body?: unknown; headers?: Record<string, string> };

/** A request that may carry any text as its body. */
function request(path: string, { method, body, ...options }: Options = {}): Promise<Answer> {
  if (body === undefined) return server.call(method ?? "GET", path, options);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    return server.call(method ?? "POST", path, { ...options, body });
  }
  const headers = { "content-type": "application/json", ...options.headers };
  return server.call(method ?? "POST", path, { ...options, headers, bytes: Buffer.from(body) });
}

/** The code of a refusal that has the shape all have. */
function codeOf(answer: Answer): string {
  const { error } = answer.body ?? {};
  assert.ok(error, `no error body: ${answer.text}`);
  assert.deepEqual(Object.keys(error), ["code", "message", "details", "request_id"]);
  assert.ok(error.message.length > 10, error.message);
  assert.equal(answer.headers.get("x-request-id"), error.request_id);
  assert.equal(answer.headers.get("service-api-version"), API_VERSION);
  return error.code;
}

/** Sends header lines as they are, which fetch would join or refuse. */
function sendRaw(
  path: string,
  headers: [string, string][],
  body = "",
): Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    const url = new URL(server.url + path);
    const request = httpRequest(
      {
        host: url.hostname,
        port: url.port,
        path,
        method: body === "" ? "GET" : "POST",
        headers: headers.flat(),
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
        );
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

describe("the HTTP edge", () => {
  before(async () => {
    server = await startApiServer();
  });
  after(() => server.stop());

  describe("the control headers", () => {
    test("an unsupported version is refused before the credential is looked at, on unknown routes too", async () => {
      for (const path of ["/v1/runs", "/nowhere", "/healthz"]) {
        const answer = await request(path, {
          as: null,
          headers: { "service-api-version": "2025-01-01" },
        });
        assert.equal(answer.status, 400);
        assert.equal(codeOf(answer), "unsupported_api_version");
      }
    });

    test("the current, an empty and an absent version are served and echoed", async () => {
      const sent: Record<string, string>[] = [
        {},
        { "service-api-version": "" },
        { "service-api-version": API_VERSION },
      ];
      for (const headers of sent) {
        const answer = await request("/v1/runs", { headers });
        assert.equal(answer.status, 200);
        assert.equal(answer.headers.get("service-api-version"), API_VERSION);
      }
    });

    test("a version or an idempotency key that was sent twice is refused", async () => {
      const authorization = ["Authorization", `Bearer ${server.credentials.api_key}`] as [string, string];
      const version = await sendRaw("/v1/runs", [
        ["Host", "localhost"],
        authorization,
        ["Service-API-Version", API_VERSION],
        ["Service-API-Version", API_VERSION],
      ]);
      assert.equal(version.status, 400);
      assert.match(version.text, /"path":"Service-API-Version","message":"send this header once"/);
      const key = await sendRaw(
        "/v1/tasks/any/start",
        [
          ["Host", "localhost"],
          authorization,
          ["Content-Type", "application/json"],
          ["Idempotency-Key", "a"],
          ["Idempotency-Key", "b"],
          ["Content-Length", "2"],
        ],
        "{}",
      );
      assert.equal(key.status, 400);
      assert.match(key.text, /"path":"Idempotency-Key","message":"send this header once"/);
    });

    test("a visible request id is echoed and another replaced", async () => {
      assert.equal(
        (await request("/healthz", { headers: { "x-request-id": "mine-1" } })).headers.get("x-request-id"),
        "mine-1",
      );
      const replaced = (await request("/healthz", { headers: { "x-request-id": "with space" } })).headers.get(
        "x-request-id",
      );
      assert.ok(replaced !== null && replaced !== "with space");
    });
  });

  describe("failures have the error body", () => {
    test("an unknown route is 404, a known one with another method 405 with what it allows", async () => {
      assert.equal(codeOf(await request("/v1/nothing")), "route_not_found");
      const answer = await request("/v1/runs", { method: "DELETE" });
      assert.equal(answer.status, 405);
      assert.equal(codeOf(answer), "method_not_allowed");
      assert.match(answer.headers.get("allow") ?? "", /GET/);
    });

    test("a URL that cannot be decoded", async () => {
      const answer = await sendRaw("/v1/runs/%zz", [["Host", "localhost"]]);
      assert.ok(answer.status === 400 || answer.status === 404, answer.text);

      assert.ok(JSON.parse(answer.text).error.request_id);
      assert.equal(answer.headers["service-api-version"], API_VERSION);
    });

    test("a request without Host, or with an Expect that nobody knows", async () => {
      for (const headers of [
        [],
        [
          ["Host", "localhost"],
          ["Expect", "miracles"],
        ],
      ] as [string, string][][]) {
        const answer = await sendRaw("/v1/runs", headers);
        assert.ok(JSON.parse(answer.text).error.request_id);
        assert.equal(answer.headers["service-api-version"], API_VERSION);
      }
    });

    test("bytes that are not HTTP", async () => {
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      socket.end("nonsense\r\n\r\n");
      let text = "";
      for await (const chunk of socket) text += String(chunk);
      assert.match(text, /^HTTP\/1.1 400/);
      assert.match(text, /"code":"invalid_request"/);
    });

    for (const [what, body, code] of [
      ["JSON that does not parse", '{"payload": ', "invalid_request"],
      ["a text that is no object", '"text"', "invalid_request"],
      ["a number that is no object", "5", "invalid_request"],
      ["a list", "[]", "invalid_request"],
      ["an unknown field", '{"paylod": 1}', "invalid_request"],
      ["a field of the wrong type, which is not coerced", '{"priority": "1"}', "invalid_request"],
      ["a number beyond a double", '{"payload": 1e400}', "invalid_request"],
      ["a number beyond a double, written out", `{"payload": ${"9".repeat(400)}}`, "invalid_request"],
      [
        "a number beyond a double by its digits and an exponent of one digit",
        `{"payload": ${"9".repeat(305)}e9}`,
        "invalid_request",
      ],
      [
        "a number beyond a double by its digits and its exponent",
        `{"payload": ${"9".repeat(250)}e99}`,
        "invalid_request",
      ],
      ["a tag with NUL", '{"tags": ["a\\u0000b"]}', "invalid_request"],
      ["a tag with half of a surrogate pair", '{"tags": ["a\\ud800b"]}', "invalid_request"],
      ["nesting of 10,000", `{"payload": ${"[".repeat(10_000)}${"]".repeat(10_000)}}`, "invalid_request"],
      [
        "nesting of a million",
        `{"payload": ${"[".repeat(400_000)}${"]".repeat(400_000)}}`,
        "invalid_request",
      ],
      ["two MiB", JSON.stringify({ payload: "x".repeat(2 * 1024 * 1024) }), "payload_too_large"],
    ] as const) {
      test(`a body of ${what}`, async () => {
        const answer = await request("/v1/tasks/any/start", { body });
        assert.equal(codeOf(answer), code, answer.text);
        assert.equal(answer.status, code === "payload_too_large" ? 413 : 400);
      });
    }

    test("the sender of a far too large body reads the answer", async () => {
      const answer = await request("/v1/tasks/any/start", { body: "x".repeat(20 * 1024 * 1024) });
      assert.equal(codeOf(answer), "payload_too_large");
    });

    test("bytes that are not UTF-8", async () => {
      const answer = await request("/v1/tasks/any/start", {
        body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      });
      assert.equal(codeOf(answer), "invalid_request");
    });

    test("another media type is 415", async () => {
      for (const type of [
        "text/plain",
        "application/octet-stream",
        "application/x-www-form-urlencoded",
        "nonsense",
      ]) {
        const answer = await request("/v1/tasks/any/start", {
          body: "{}",
          headers: { "content-type": type },
        });
        assert.equal(answer.status, 415, `${type}: ${answer.text}`);
        assert.equal(codeOf(answer), "unsupported_media_type");
      }
    });

    test("every issue of a body is told, with its path", async () => {
      const answer = await request("/v1/tasks/any/start", {
        body: { priority: 1000, delay: "soon", nope: 1, tags: ["a", "a"] },
      });
      const paths = answer.body.error.details.issues.map((issue: { path: string }) => issue.path);
      assert.deepEqual(paths.sort(), ["delay", "nope", "priority", "tags"]);
    });

    test("of a union only the issues of the branch that was meant are told", async () => {
      const answer = await request("/worker/v1/executions/report", {
        as: await startWorker(server),
        body: { operations: [{ kind: "metadata", changes: [] }] },
      });
      const issues = answer.body.error.details.issues as { path: string }[];
      assert.ok(
        issues.length > 0 && issues.every(({ path }) => path.startsWith("operations.0.")),
        answer.text,
      );
      assert.ok(!issues.some(({ path }) => path === "operations.0.kind"), answer.text);
    });

    test("queries: an unknown parameter, bad limits and cursors", async () => {
      for (const [query, code] of [
        ["?nope=1", "invalid_request"],
        ["?limit=0", "invalid_request"],
        ["?limit=201", "invalid_request"],
        ["?limit=1.5", "invalid_request"],
        ["?limit=1&limit=2", "invalid_request"],
        ["?limit=abc", "invalid_request"],
        ["?cursor=abc", "invalid_cursor"],
        ["?tag=%00", "invalid_request"],
      ]) {
        const answer = await request(`/v1/runs${query}`);
        assert.equal(answer.status, 400, `${query}: ${answer.text}`);
        assert.equal(codeOf(answer), code, query);
      }
    });

    test("a cursor of another list is refused", async () => {
      const manifest = { tasks: [{ id: "a" }, { id: "b" }, { id: "c" }] };
      const deployment = await createReadyDeployment(server, await startWorker(server), manifest);
      await promote(server, deployment.id);
      const { body } = await request("/v1/tasks?limit=1");
      assert.ok(body.next_cursor);
      assert.equal(codeOf(await request(`/v1/runs?cursor=${body.next_cursor}`)), "invalid_cursor");
      assert.equal((await request(`/v1/tasks?limit=1&cursor=${body.next_cursor}`)).status, 200);
    });
  });

  describe("credentials", () => {
    test("none, garbage, a wrong check digit and a wrong kind are 401", async () => {
      const key = server.credentials.api_key;
      const almost = key.slice(0, -1) + (key.endsWith("A") ? "B" : "A");
      for (const as of [
        null,
        "garbage",
        almost,
        server.credentials.user_token,
        server.credentials.admin_key,
      ]) {
        const answer = await request("/v1/runs", { as });
        assert.equal(answer.status, 401);
        assert.equal(codeOf(answer), "unauthenticated");
        assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
      }
    });

    test("an expired and a revoked key are 401", async () => {
      const expired = await addApiKey(server, PERMISSIONS, { expiresAt: new Date(Date.now() - 1_000) });
      const revoked = await addApiKey(server, PERMISSIONS, { revokedAt: new Date() });
      for (const as of [expired, revoked])
        assert.equal(codeOf(await request("/v1/runs", { as })), "unauthenticated");
    });

    test("a key without the permission is 403 that names it", async () => {
      const as = await addApiKey(server, ["tasks.read"]);
      const answer = await request("/v1/runs", { as });
      assert.equal(answer.status, 403);
      assert.equal(answer.body.error.details.permission, "runs.read");
    });

    test("a user names project and environment, and one of another organization is absent", async () => {
      const { user_token: as } = server.credentials;
      const missing = await request("/api/runs", { as });
      assert.equal(missing.status, 400);
      assert.deepEqual(
        missing.body.error.details.issues.map((issue: { path: string }) => issue.path),
        ["project_id", "environment_id"],
      );
      const own = new URLSearchParams(place(server)).toString();
      assert.equal((await request(`/api/runs?${own}`, { as })).status, 200);
      const stranger = await addUser(server, null);
      assert.equal(codeOf(await request(`/api/runs?${own}`, { as: stranger })), "not_found");
      const foreign = await addForeignPlace(server);
      const elsewhere = new URLSearchParams({
        project_id: foreign.project_id,
        environment_id: foreign.environment_id,
      }).toString();
      assert.equal(codeOf(await request(`/api/runs?${elsewhere}`, { as })), "not_found");
      assert.equal((await request(`/api/runs?${elsewhere}`)).status, 403);
    });

    test("a viewer reads and does not cancel", async () => {
      const as = await addUser(server, "viewer");
      assert.equal(
        (await request(`/api/runs?${new URLSearchParams(place(server)).toString()}`, { as })).status,
        200,
      );
      const answer = await request("/api/runs/run_01kadc5m9sfe7v0k3xw2q8r4nt/cancel", {
        as,
        body: place(server),
      });
      assert.equal(answer.status, 403);
      assert.equal(answer.body.error.details.permission, "runs.cancel");
    });
  });

  describe("the server's own routes", () => {
    test("health, readiness and metrics need no credential", async () => {
      assert.equal((await request("/healthz", { as: null })).text, '{"status":"ok"}');
      assert.equal((await request("/readyz", { as: null })).status, 200);
      const metrics = await request("/metrics", { as: null });
      assert.match(
        metrics.text,
        /keelson_http_requests_total\{method="GET",route="\/v1\/runs",status="200"\} \d+/,
      );
      assert.match(metrics.text, /process_resident_memory_bytes/);
    });

    test("HEAD answers as GET without a body", async () => {
      const answer = await request("/healthz", { method: "HEAD", as: null });
      assert.equal(answer.status, 200);
      assert.equal(answer.text, "");
    });

    test("the reference page and the console load nothing from another origin", async () => {
      for (const path of ["/docs", "/"]) {
        const page = await request(path, { as: null });
        assert.equal(page.status, 200);
        assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
        assert.doesNotMatch(page.text, /(src|href)="https?:/);
        assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
        assert.equal(page.headers.get("strict-transport-security"), null);
      }
      const script = await request("/docs/scalar.js", { as: null });
      assert.equal(script.status, 200);
      assert.ok(script.text.length > 100_000);
    });

    test("no answer lets another origin read it", async () => {
      for (const path of ["/v1/runs", "/docs", "/openapi.json", "/nowhere"]) {
        const answer = await request(path, { headers: { origin: "https://elsewhere.example" } });
        assert.equal(answer.headers.get("access-control-allow-origin"), null, path);
      }
    });
  });
});
