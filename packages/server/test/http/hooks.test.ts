import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { pino } from "pino";
import { DomainError } from "../../src/domain-error.ts";
import { createWakes } from "../../src/core/feeds/wakes.ts";
import { createApp } from "../../src/http/edge/app.ts";
import { createFairTurns } from "../../src/http/edge/fair-turns.ts";
import { createInnerCalls } from "../../src/http/edge/inner-calls.ts";
import { createMetrics } from "../../src/http/edge/metrics.ts";
import { createRateLimits } from "../../src/http/edge/rate-limits.ts";
import type { Route } from "../../src/http/edge/route.ts";
import { createLastAsked } from "../../src/last-asked.ts";
import type { ServerContext } from "../../src/server-context.ts";
import type { NewUuid } from "../../src/uuid.ts";

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
const routes: readonly Route[] = [
  { ...facts, path: "/open", operationId: "open", cors: "any-origin" },
  { ...facts, path: "/closed", operationId: "closed" },
  {
    ...facts,
    path: "/hooks/:id/callback/:secret",
    operationId: "failing",
    handle: async ({ request }) => {
      throw request.requestId === "down" ? new DomainError("unavailable", "Down.") : new Error("broken");
    },
  },
];

const logged: string[] = [];
const metrics = createMetrics();
let now = 1_000_000;
let url: string;
const context = {
  metrics,
  innerCalls: createInnerCalls(),
  clock: () => now,
  readiness: { isDraining: () => false },
  turns: createFairTurns(() => now),
  wakes: createWakes(() => undefined),
  lastAsked: createLastAsked(),
} as unknown as ServerContext;
const app = createApp({
  addPages: () => undefined,
  context,
  routes,
  authenticator: { find: () => null },
  rateLimits: createRateLimits({ credential: 0, address: 1, failures: 0, logins: 0 }, context),
  trustedProxies: ["127.0.0.1"],
  connectionLimits: { perAddress: 0, max: 1_000 },
  newUuid: (() => "made") as NewUuid,
  log: pino({ level: "trace" }, { write: (line: string) => void logged.push(line) }),
  isSecure: false,
  publicUrl: null,
});
before(async () => {
  await app.listen({ host: "127.0.0.1", port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});
after(() => app.close());

const call = (method: string, path: string): Promise<Response> => {
  now += 10_000;
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

test("an address over its limit is told so until the window is over", async () => {
  now = Math.ceil(now / 10_000) * 10_000 + 4_500;
  const ask = (from: string): Promise<Response> =>
    fetch(`${url}/closed`, { method: "POST", headers: { "x-forwarded-for": from } });
  const factsOf = ({ status, headers }: Response): unknown[] => [
    status,
    ...["limit", "remaining", "reset"].map((name) => headers.get(`ratelimit-${name}`)),
    headers.get("retry-after"),
  ];
  for (const left of [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    assert.deepEqual(factsOf(await ask("203.0.113.7")), [200, "10", String(left), "6", null]);
  const refused = await ask("203.0.113.7");
  assert.deepEqual(factsOf(refused), [429, "10", "0", "6", "6"]);
  assert.partialDeepStrictEqual(await refused.json(), {
    error: { code: "rate_limited", details: { limit: 10 } },
  });
  assert.equal((await ask("203.0.113.8")).status, 200, "another address has its own limit");
  const forged = await ask("203.0.113.9, 203.0.113.7");
  assert.equal(forged.status, 429, "what a caller wrote before its proxy did is not believed");
  now += 5_500;
  assert.equal((await ask("203.0.113.7")).status, 200);
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
    now += 10_000;
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
