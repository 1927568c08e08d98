import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { pino } from "pino";
import { DomainError } from "../../src/domain-error.ts";
import { createApp } from "../../src/http/app.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { createRateLimit } from "../../src/http/rate-limit.ts";
import { route } from "../../src/http/route.ts";
import type { ServerContext } from "../../src/server-context.ts";

/** Two routes of their own on the real set-up: what holds for every family, without a database behind it. */
const facts = {
  family: "api-public",
  method: "POST",
  summary: "Answer",
  tag: "Test",
  access: { kind: "public" },
  responses: { 200: { description: "An answer." } },
  handle: async () => ({ status: 200, body: { ok: true } }),
} as const;
const routes = [
  route({ ...facts, path: "/open", operationId: "open", cors: "any-origin" }),
  route({ ...facts, path: "/closed", operationId: "closed" }),
  route({
    ...facts,
    path: "/hooks/:id/callback/:secret",
    operationId: "failing",
    handle: async ({ request }) => {
      throw request.requestId === "down" ? new DomainError("unavailable", "Down.") : new Error("broken");
    },
  }),
];

const logged: string[] = [];
const metrics = createMetrics();
let now = 1_000_000;
let url: string;
const app = createApp({
  context: { metrics, clock: () => now } as unknown as ServerContext,
  routes,
  authenticator: { authenticate: () => null },
  connectionLimit: { enter: () => () => undefined },
  rateLimit: createRateLimit(3, () => now),
  newUuid: () => "made",
  log: pino({ level: "trace" }, { write: (line: string) => void logged.push(line) }),
  isSecure: false,
  publicUrl: null,
  trustedProxies: [],
});
before(async () => {
  await app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
after(() => app.close());

const call = (method: string, path: string): Promise<Response> => {
  now += 1_000;
  return fetch(url + path, { method, headers: { origin: "https://elsewhere.example" } });
};

describe("pages of other origins", () => {
  test("may read a route that says so, its refusals included", async () => {
    assert.equal((await call("POST", "/open")).headers.get("access-control-allow-origin"), "*");
    const refused = await call("POST", "/open?nope=1");
    assert.deepEqual([refused.status, refused.headers.get("access-control-allow-origin")], [400, "*"]);
  });

  test("are told by a preflight what they may send", async () => {
    const preflight = await call("OPTIONS", "/open");
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-methods"), "POST");
    assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /authorization.*last-event-id/);
    assert.equal(preflight.headers.get("access-control-max-age"), "600");
    assert.equal(preflight.headers.get("access-control-allow-credentials"), null);
  });

  test("get no such header from any other route", async () => {
    for (const [method, status] of [
      ["POST", 200],
      ["OPTIONS", 405],
    ] as const) {
      const answer = await call(method, "/closed");
      assert.equal(answer.status, status);
      assert.deepEqual(
        [...answer.headers.keys()].filter((name) => name.startsWith("access-control-")),
        [],
      );
    }
  });
});

test("a caller over its limit is told so until the second is over", async () => {
  now += 1_000;
  const ask = (): Promise<Response> => fetch(`${url}/closed`, { method: "POST" });
  const statuses = [await ask(), await ask(), await ask(), await ask()].map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 200, 429]);
  const refused = await ask();
  assert.deepEqual(
    ["retry-after", "ratelimit-limit", "ratelimit-remaining"].map((name) => refused.headers.get(name)),
    ["1", "3", "0"],
  );
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, "rate_limited");
  now += 1_000;
  assert.equal((await ask()).status, 200);
});

test("a secret of a path is in no log, metric or answer, whatever goes wrong", async () => {
  const secret = "kl_tkn_TopSecretTopSecretTopSecretTopSecretTop";
  const texts: string[] = [];
  for (const [path, id] of [
    [`/hooks/one/callback/${secret}`, "broken"],
    [`/hooks/one/%63allback/${secret}?a=${secret}`, "broken"],
    [`/hooks/one/callback/${secret}`, "down"],
    [`/hooks/one/callback/${secret}/more`, "none"],
    [`/hooks/one/callback/${secret}%zz`, "none"],
    [`/hook/one/callback/${secret}?a=${secret}`, "none"],
    [`/hooks/one/callback/${secret.repeat(20)}`, "none"],
  ] as const) {
    now += 1_000;
    for (const method of ["POST", "OPTIONS"]) {
      const answer = await fetch(url + path, { method, headers: { "x-request-id": id } });
      assert.ok(answer.status >= 400);
      texts.push(await answer.text(), JSON.stringify([...answer.headers]));
    }
  }
  const lines = logged.filter((line) => line.includes('"broken"') || line.includes('"down"'));
  assert.equal(lines.length, 2);
  assert.ok(lines.every((line) => line.includes("/hooks/:id/callback/:secret")));
  for (const text of [...logged, ...texts, await metrics.render()]) assert.doesNotMatch(text, /TopSecret/);
});
