import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { after, before, describe, test } from "node:test";
import { API_VERSION } from "@keelson/contract";
import { routes } from "../../src/http/routes.ts";
import { startApiServer, type ApiServer } from "../support/api-server.ts";
import { sendLines } from "../support/raw-http.ts";
import { addUser } from "../support/tenancy.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

const hostOf = ({ url }: ApiServer): string => new URL(url).host;
/** A path of the route that a request can have. */
const pathOf = (path: string): string => path.replaceAll(/:\w+/g, "x");

test("two Authorization, Host or Service-API-Version headers are refused on every route", async () => {
  const host = `Host: ${hostOf(server)}`;
  const key = `Authorization: Bearer ${server.credentials.api_key}`;
  const version = `Service-API-Version: ${API_VERSION}`;
  let refused = 0;
  for (const { method, path, oauth } of [
    ...routes,
    { method: "GET", path: "/nowhere", oauth: undefined },
    { method: "GET", path: "/", oauth: undefined },
  ])
    for (const [name, lines] of [
      ["Authorization", [host, key, "authorization: Bearer other"]],
      ["Host", [host, key, "host: elsewhere.example"]],
      ["Service-API-Version", [host, key, version, version.toLowerCase()]],
    ] as const) {
      const answer = await sendLines(server.url, [`${method} ${pathOf(path)} HTTP/1.1`, ...lines]);
      assert.equal(answer.status, 400, `${method} ${path} with two ${name}: ${answer.text}`);
      if (method !== "HEAD") {
        const { error } = JSON.parse(answer.text);
        refused += 1;
        if (oauth !== undefined) {
          assert.equal(error, oauth);
          continue;
        }
        assert.equal(error.code, "invalid_request");
        assert.deepEqual(error.details.issues, [{ path: name, message: "send this header once" }]);
      } else refused += 1;
    }
  assert.equal(refused, (routes.length + 2) * 3);
});

test("a Content-Encoding of what nobody reads is left alone", async () => {
  const lines = [
    "GET /v1/runs HTTP/1.1",
    `Host: ${hostOf(server)}`,
    `Authorization: Bearer ${server.credentials.api_key}`,
    "Content-Encoding: gzip",
    "Content-Length: 2",
  ];
  const answer = await sendLines(server.url, lines, "{}");
  assert.equal(answer.status, 200, answer.text);
});

test("a Content-Encoding is refused on every route with a body, and the answer says what is understood", async () => {
  const zipped = gzipSync("{}");
  let refused = 0;
  for (const { method, path, oauth } of routes.filter(
    (route) => route.body !== undefined || route.rawBody !== undefined,
  )) {
    const answer = await server.call(method, pathOf(path), {
      bytes: zipped,
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    });
    assert.equal(answer.status, 415, `${method} ${path}: ${answer.text}`);
    const { error, error_description: description } = answer.body;
    if (oauth === undefined) assert.equal(error.code, "unsupported_media_type");
    assert.match(oauth === undefined ? error.message : description, /Content-Encoding/);
    assert.equal(answer.headers.get("accept-encoding"), "identity");
    refused += 1;
  }
  assert.ok(refused > 50, `${refused} routes`);
  const plain = await server.call("POST", "/v1/runs/x/cancel", {
    bytes: Buffer.from("{}"),
    headers: { "content-type": "application/json", "content-encoding": "Identity" },
  });
  assert.equal(plain.status, 404);
});

describe("no cache keeps what a credential gives", () => {
  test("every route's answer is no-store and says what it varies with", async () => {
    const as = await addUser(server, "owner");
    for (const { method, path, family } of routes.filter((route) => route.family !== "system")) {
      const answer = await server.call(method, pathOf(path), { as });
      assert.equal(answer.headers.get("cache-control"), "no-store", `${method} ${path}`);
      const varies =
        family === "api" || family === "admin" ? "Authorization, Cookie, Origin" : "Authorization";
      assert.equal(answer.headers.get("vary"), varies, `${method} ${path}`);
    }
    const unknown = await server.call("GET", "/v1/nowhere");
    assert.equal(unknown.headers.get("cache-control"), "no-store");
  });

  test("an answer with content is, too", async () => {
    const list = await server.call("GET", "/v1/runs");
    assert.deepEqual([list.status, list.headers.get("cache-control")], [200, "no-store"]);
    const me = await server.call("GET", "/api/me", { as: server.credentials.user_token });
    assert.deepEqual([me.status, me.headers.get("vary")], [200, "Authorization, Cookie, Origin"]);
  });

  test("the documents of the server keep their own rules", async () => {
    const document = await server.call("GET", "/openapi.json", { as: null });
    assert.equal(document.headers.get("cache-control"), "no-cache");
    const script = await server.call("GET", "/docs/scalar.js", { as: null });
    assert.equal(script.headers.get("cache-control"), "max-age=86400");
  });
});
