// Two servers on one database take together what one may take.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { addApiKey } from "../support/tenancy.ts";
import { letPass } from "../support/until.ts";

let database: TestDatabase;
/** Stands still but when a test moves it: no window is over in the middle of a test. */
let now = Math.ceil(Date.now() / 60_000) * 60_000;
let servers: ApiServer[];
before(async () => {
  database = await createTestDatabase();
  const shared = { ...database, drop: () => Promise.resolve() };
  const config = {
    rateLimits: { credential: 40, address: 4, failures: 12, logins: 6 },
    trustedProxies: ["127.0.0.1"],
  };
  servers = [];
  for (let n = 0; n < 2; n += 1)
    servers.push(await startApiServer({ database: shared, clock: () => now, config }));
});
after(async () => {
  for (const server of servers ?? []) await server.stop();
  await database?.drop();
});

const first = (): ApiServer => servers[0] as ApiServer;
let addresses = 0;
/** An address that nothing has been counted of. */
const freshAddress = (): string => `203.0.113.${(addresses += 1)}`;
const nextMinute = (): void => {
  now += 60_000;
};

/** Calls the servers in turn, one call after the other. */
async function callInTurn(
  count: number,
  path: string,
  options: { method?: string; as?: string | null; from?: string; body?: unknown },
): Promise<Answer[]> {
  const { method = "GET", as = null, from, body } = options;
  const answers: Answer[] = [];
  for (let n = 0; n < count; n += 1) {
    const server = servers[n % servers.length] as ApiServer;
    const headers: Record<string, string> = from === undefined ? {} : { "x-forwarded-for": from };
    answers.push(await server.call(method, path, { as, headers, ...(body === undefined ? {} : { body }) }));
  }
  return answers;
}

const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

describe("sign-ins", () => {
  const start = { method: "POST", body: { email: "nobody@example.com" } };

  test("of an address are counted exactly over all servers", async () => {
    nextMinute();
    const from = freshAddress();
    const answers = await callInTurn(10, "/api/auth/magic-link/start", { ...start, from });
    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 202, 202, 202, 202, 202, 429, 429, 429, 429],
    );
    assert.deepEqual(
      answers.slice(0, 7).map(({ headers }) => headers.get("ratelimit-remaining")),
      ["5", "4", "3", "2", "1", "0", "0"],
    );
    const refused = answers[6] as Answer;
    assert.equal(refused.body.error.code, "rate_limited");
    assert.equal(refused.headers.get("ratelimit-limit"), "6");
    assert.equal(refused.headers.get("retry-after"), refused.headers.get("ratelimit-reset"));
    assert.ok(Number(refused.headers.get("retry-after")) >= 1);
  });

  test("are counted exactly when they race", async () => {
    nextMinute();
    const headers = { "x-forwarded-for": freshAddress() };
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        (servers[n % 2] as ApiServer).call("POST", "/api/auth/device/start", { as: null, body: {}, headers }),
      ),
    );
    assert.deepEqual([countOf(answers, 200), countOf(answers, 429)], [6, 18]);
  });

  test("of another address, and in the next minute, are taken", async () => {
    nextMinute();
    const from = freshAddress();
    await callInTurn(7, "/api/auth/magic-link/start", { ...start, from });
    const [other] = await callInTurn(1, "/api/auth/magic-link/start", { ...start, from: freshAddress() });
    assert.equal(other?.status, 202);
    nextMinute();
    const [later] = await callInTurn(1, "/api/auth/magic-link/start", { ...start, from });
    assert.equal(later?.status, 202);
  });

  test("of workers are many at once behind one address", async () => {
    nextMinute();
    const body = {
      enrollment_token: first().credentials.enrollment_token,
      name: "one",
      worker_protocol_version: 1,
    };
    const options = { method: "POST", body, from: freshAddress() };
    const answers = await callInTurn(12, "/worker/v1/auth/token", options);
    assert.equal(countOf(answers, 200), 12);
    assert.equal(answers[11]?.headers.get("ratelimit-limit"), "60");
  });
});

test("a credential has its limit over all servers", async () => {
  nextMinute();
  const [one, other] = servers as [ApiServer, ApiServer];
  const as = await addApiKey(one, ["runs.read"]);
  const callOf = (server: ApiServer): Promise<Answer> => server.call("GET", "/v1/runs?limit=1", { as });
  for (let n = 0; n < 300; n += 1) assert.equal((await callOf(one)).status, 200);
  // What the one has taken, but for a last few that it keeps to itself, is known to the other after a moment.
  let taken = 300;
  for (let left = 400; left > 100;) {
    const { status, headers } = await callOf(other);
    assert.equal(status, 200, "the servers do not tell each other");
    taken += 1;
    left = Number(headers.get("ratelimit-remaining"));
    await letPass(50, "the servers tell each other meanwhile");
  }
  for (;;) {
    const { status, headers } = await callOf(other);
    if (status === 429) {
      assert.equal(headers.get("ratelimit-limit"), "400");
      break;
    }
    taken += 1;
  }
  assert.ok(taken >= 400 && taken <= 420, `${taken} were taken`);
  const others = await addApiKey(one, ["runs.read"]);
  assert.equal((await one.call("GET", "/v1/runs", { as: others })).status, 200);
});

test("credentials that are not valid are refused as such a few times, and then as too many", async () => {
  nextMinute();
  const from = freshAddress();
  const as = `kl_key_${"A".repeat(32)}000000`;
  const answers = await callInTurn(40, "/v1/runs", { as, from });
  assert.ok(countOf(answers, 401) >= 12 && countOf(answers, 401) <= 24);
  assert.equal(answers.at(-1)?.status, 429);
  const valid = await callInTurn(1, "/v1/runs", { as: first().credentials.api_key, from });
  assert.equal(valid[0]?.status, 200, "a valid credential of the same address is not held up");
});

test("health and the server's own pages are not limited", async () => {
  const answers = await callInTurn(50, "/healthz", { from: freshAddress() });
  assert.equal(countOf(answers, 200), 50);
  assert.equal(answers[0]?.headers.get("ratelimit-limit"), null);
});
