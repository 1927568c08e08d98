import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId, encodeId, PERMISSIONS } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { addApiKey, addForeignPlace, place } from "../../support/tenancy.ts";
import { createTestClock } from "../../support/test-clock.ts";
import { until } from "../../support/until.ts";

const clock = createTestClock();
let server: ApiServer;
before(async () => {
  server = await startApiServer({ clock: clock.now });
});
after(() => server.stop());

type Created = { id: string; public_access_token: string; callback_url: string };

async function create(body: object = {}): Promise<Created> {
  const answer = await server.call("POST", "/v1/tokens", { body });
  assert.equal(answer.status, 201, answer.text);
  return answer.body as Created;
}

const complete = (id: string, body: object = {}): Promise<Answer> =>
  server.call("POST", `/v1/tokens/${id}/complete`, { body });

/** Sends the text of a completion as it is. */
const completeWithText = (id: string, text: string): Promise<Answer> =>
  server.call("POST", `/v1/tokens/${id}/complete`, {
    bytes: Buffer.from(text),
    headers: { "content-type": "application/json" },
  });

const codeOf = ({ status, body }: Answer): string => (status < 400 ? body.status : body.error.code);

describe("creating a token", () => {
  test("gives a pending one with its secrets, which no later answer has", async () => {
    const before = clock.now();
    const answer = await server.call("POST", "/v1/tokens", {
      body: { metadata: { ask: "Go?" }, tags: ["a", "b"] },
    });
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const { public_access_token, callback_url, ...token } = answer.body;
    assert.match(public_access_token, /^kl_tkn_[0-9A-Za-z]{38}$/);
    assert.match(
      callback_url,
      new RegExp(`^${server.url}/api/v1/tokens/${token.id}/callback/kl_tkn_[0-9A-Za-z]{38}$`),
    );
    assert.equal(callback_url.includes(public_access_token), false);
    assert.deepEqual(
      [token.status, token.data, token.run_id, token.completed_at, token.completed_by],
      ["pending", null, null, null, null],
    );
    assert.deepEqual([token.metadata, token.tags], [{ ask: "Go?" }, ["a", "b"]]);
    const timeoutMs = Date.parse(token.timeout_at) - Date.parse(token.created_at);
    assert.equal(timeoutMs, 24 * 3_600_000);
    assert.ok(Date.parse(token.created_at) >= before);
    const item = await server.call("GET", `/v1/tokens/${token.id}`);
    assert.deepEqual(item.body, token);
  });

  test("again with the same key gives the same answer, secrets included", async () => {
    const body = { idempotency_key: "once", tags: ["keyed"] };
    const first = await server.call("POST", "/v1/tokens", { body });
    assert.equal((await complete(first.body.id)).status, 200);
    const again = await server.call("POST", "/v1/tokens", { body });
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    const other = await server.call("POST", "/v1/tokens", { body: { ...body, tags: [] } });
    assert.equal(codeOf(other), "idempotency_conflict");
    const [stored] = await server.db.query<{ body: string }>(
      sql`SELECT response_body AS body FROM idempotency_keys WHERE scope = 'tokens.create'`,
    );
    assert.doesNotMatch(stored?.body ?? "kl_", /kl_/);
  });

  for (const [what, body, status] of [
    ["a timeout of nothing", { timeout: "0s" }, 400],
    ["a timeout of 31 days", { timeout: "31d" }, 400],
    ["a timeout without a unit", { timeout: "30" }, 400],
    ["an unknown field", { data: 1 }, 400],
    ["metadata over 16 KiB", { metadata: { text: "x".repeat(16 * 1024) } }, 413],
  ] as const) {
    test(`is refused with ${what}`, async () => {
      const answer = await server.call("POST", "/v1/tokens", { body });
      assert.equal(answer.status, status, answer.text);
    });
  }

  test("stores neither secret, only their digests", async () => {
    const token = await create();
    const [row] = await server.db.query<{ row: string }>(
      sql`SELECT t::text AS row FROM tokens t WHERE id = ${decodeId("tok", token.id)}`,
    );
    for (const secret of [token.public_access_token, token.callback_url.split("/").at(-1) ?? ""])
      assert.equal(row?.row.includes(secret.slice(7)), false);
  });
});

describe("the list of tokens", () => {
  test("is filtered by status, run and tags, newest first, in pages", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift((await create({ tags: ["listed", `n${n % 2}`] })).id);
    assert.equal((await complete(ids[0] as string)).status, 200);
    const idsOf = async (query: string): Promise<string[]> => {
      const { status, body, text } = await server.call("GET", `/v1/tokens?tag=listed${query}`);
      assert.equal(status, 200, text);
      return body.tokens.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await idsOf(""), ids);
    assert.deepEqual(await idsOf("&status=pending"), ids.slice(1));
    assert.deepEqual(await idsOf("&status=completed"), ids.slice(0, 1));
    assert.deepEqual(await idsOf("&status=completed&status=pending"), ids);
    assert.deepEqual(await idsOf("&tag=n1"), [ids[1], ids[3]]);
    assert.deepEqual(await idsOf(`&run_id=${encodeId("run", "00000000-0000-7000-8000-000000000000")}`), []);
    const first = await server.call("GET", "/v1/tokens?tag=listed&limit=3");
    assert.deepEqual(await idsOf(`&limit=3&cursor=${first.body.next_cursor}`), ids.slice(3));
    assert.deepEqual(await idsOf("&order=oldest"), ids.toReversed());
    const oldest = await server.call("GET", "/v1/tokens?tag=listed&order=oldest&limit=3");
    const { next_cursor: next } = oldest.body;
    assert.deepEqual(await idsOf(`&order=oldest&limit=3&cursor=${next}`), ids.toReversed().slice(3));
    assert.equal((await server.call("GET", `/v1/tokens?cursor=${next}`)).status, 400, "another order's");
    const elsewhere = await server.call("GET", `/v1/runs?cursor=${first.body.next_cursor}`);
    assert.equal(codeOf(elsewhere), "invalid_cursor");
    assert.equal((await server.call("GET", "/v1/tokens?run_id=x")).status, 400);
  });

  test("on /api is of the environment that a user names", async () => {
    const as = server.credentials.user_token;
    const here = new URLSearchParams(place(server)).toString();
    const answer = await server.call("GET", `/api/tokens?${here}&limit=1`, { as });
    assert.equal(answer.body.tokens.length, 1, answer.text);
    const foreign = await addForeignPlace(server);
    const key = await addApiKey(server, PERMISSIONS, { environmentId: foreign.environmentId });
    assert.deepEqual((await server.call("GET", "/v1/tokens", { as: key })).body.tokens, []);
  });
});

describe("completing a token", () => {
  test("stores the first data for ever", async () => {
    const { id } = await create();
    const first = await complete(id, { data: { b: 1, a: [true, null] } });
    assert.equal(codeOf(first), "completed", first.text);
    const { token } = first.body;
    assert.deepEqual(token.data, { b: 1, a: [true, null] });
    assert.equal(token.status, "completed");
    assert.equal(token.completed_by.kind, "api_key");
    assert.match(token.completed_by.id, /^key_/);
    const again = await completeWithText(id, '{ "data": {"a":[true,null], "b":1.0e0} }');
    assert.deepEqual(again.body, { status: "already_completed", token });
    for (const data of [null, { b: 1, a: [true] }, { b: "1", a: [true, null] }])
      assert.equal(codeOf(await complete(id, { data })), "token_completion_conflict");
    assert.deepEqual((await server.call("GET", `/v1/tokens/${id}`)).body, token);
  });

  test("without data completes it with null", async () => {
    const { id } = await create();
    assert.equal((await complete(id)).body.token.data, null);
    assert.equal(codeOf(await complete(id, { data: null })), "already_completed");
  });

  test("by a user says who", async () => {
    const { id } = await create();
    const answer = await server.call("POST", `/api/tokens/${id}/complete`, {
      as: server.credentials.user_token,
      body: { data: 1, ...place(server) },
    });
    assert.equal(answer.body.token.completed_by.kind, "user", answer.text);
    assert.match(answer.body.token.completed_by.id, /^user_/);
  });

  test("compares canonical forms: the order of keys, the writing of numbers and escapes do not count", async () => {
    const { id } = await create();
    const first = String.raw`{"data":{"\u20ac":"Euro","\r":"CR","\ufb33":"Hebrew","1":"One","\ud83d\ude00":"Smiley","\u0080":"Control","\u00f6":"Latin"}}`;
    assert.equal(codeOf(await completeWithText(id, first)), "completed");
    const second = `{"data":{"1":"\\u004fne","\u0080":"Control","€":"Euro","😀":"Smiley","\ufb33":"Hebrew","ö":"L\\u0061tin","\\r":"CR"}}`;
    assert.equal(codeOf(await completeWithText(id, second)), "already_completed");
    const numbers = await create();
    const rfc = '{"data":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0]}';
    assert.equal(codeOf(await completeWithText(numbers.id, rfc)), "completed");
    const canonical = '{"data":[333333333.3333333,1e+30,4.5,0.002,1e-27,0]}';
    assert.equal(codeOf(await completeWithText(numbers.id, canonical)), "already_completed");
  });

  for (const [what, text, path] of [
    ["a key that is there twice", '{"data":{"a":1,"a":1}}', "data.a"],
    ["data that is there twice", '{"data":1,"data":1}', "data"],
    ["half of a surrogate pair", String.raw`{"data":"\ud800"}`, "data"],
    ["half of a surrogate pair in a key", String.raw`{"data":{"\udfff":1}}`, "data.\udfff"],
    ["NUL in a text", String.raw`{"data":["a\u0000"]}`, "data.0"],
    ["an integer that a double does not hold", '{"data":9007199254740993}', "data"],
    ["more digits than a double has", '{"data":3.141592653589793238462643383279}', "data"],
    ["a number out of range", '{"data":1e400}', "body.data"],
    ["an unknown field", '{"value":1}', "value"],
  ] as const) {
    test(`is refused with ${what}`, async () => {
      const { id } = await create();
      const answer = await completeWithText(id, text);
      assert.equal(answer.status, 400, answer.text);
      // A lone surrogate does not survive being written as UTF-8.
      assert.equal(answer.body.error.details.issues[0].path, path.toWellFormed());
      assert.equal((await server.call("GET", `/v1/tokens/${id}`)).body.status, "pending");
    });
  }

  test("takes 512 KiB of data and no more", async () => {
    const { id } = await create();
    assert.equal((await complete(id, { data: "x".repeat(512 * 1024 - 1) })).status, 413);
    assert.equal((await complete(id, { data: "x".repeat(512 * 1024 - 2) })).status, 200);
  });

  test("by sixteen callers at once has one winner", async () => {
    const { id } = await create();
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, n) => complete(id, { data: { choice: n % 2 } })),
    );
    const winner = answers.find((answer) => codeOf(answer) === "completed");
    const { choice } = winner?.body.token.data ?? {};
    for (const [n, answer] of answers.entries()) {
      const expected =
        answer === winner
          ? "completed"
          : n % 2 === choice
            ? "already_completed"
            : "token_completion_conflict";
      assert.equal(codeOf(answer), expected);
    }
    assert.deepEqual((await server.call("GET", `/v1/tokens/${id}`)).body, winner?.body.token);
  });
});

describe("cancelling a token", () => {
  test("ends it, and again changes nothing", async () => {
    const { id } = await create();
    const first = await server.call("POST", `/v1/tokens/${id}/cancel`);
    assert.deepEqual([first.status, first.body.status, first.body.completed_at], [200, "cancelled", null]);
    assert.equal((await server.call("POST", `/v1/tokens/${id}/cancel`)).text, first.text);
    assert.equal(codeOf(await complete(id)), "token_cancelled");
  });

  test("is refused for a completed one", async () => {
    const { id } = await create();
    await complete(id, { data: 7 });
    assert.equal(codeOf(await server.call("POST", `/v1/tokens/${id}/cancel`)), "invalid_state");
    assert.equal((await server.call("GET", `/v1/tokens/${id}`)).body.data, 7);
  });

  test("and completing at once have one winner", async () => {
    for (let round = 0; round < 8; round += 1) {
      const { id } = await create();
      const [completed, cancelled] = await Promise.all([
        complete(id, { data: round }),
        server.call("POST", `/v1/tokens/${id}/cancel`),
      ]);
      const { status } = (await server.call("GET", `/v1/tokens/${id}`)).body;
      assert.deepEqual(
        [codeOf(completed), codeOf(cancelled)],
        status === "completed" ? ["completed", "invalid_state"] : ["token_cancelled", "cancelled"],
      );
    }
  });
});

describe("a token whose time has run out", () => {
  test("is refused at once, and is expired from then on", async () => {
    const { id } = await create({ timeout: "10m" });
    clock.advance(10 * 60_000);
    assert.equal(codeOf(await complete(id)), "token_expired");
    assert.equal((await server.call("GET", `/v1/tokens/${id}`)).body.status, "expired");
    assert.equal(codeOf(await server.call("POST", `/v1/tokens/${id}/cancel`)), "invalid_state");
  });

  test("is expired when a cancellation comes too late", async () => {
    const { id } = await create({ timeout: "10m" });
    clock.advance(10 * 60_000);
    assert.equal(codeOf(await server.call("POST", `/v1/tokens/${id}/cancel`)), "invalid_state");
    assert.equal((await server.call("GET", `/v1/tokens/${id}`)).body.status, "expired");
  });

  test("is expired without anybody asking, and the others are left", async () => {
    const [short, long] = [await create({ timeout: "10m" }), await create({ timeout: "11m" })];
    clock.advance(10 * 60_000);
    const statusOf = async ({ id }: Created): Promise<string> =>
      (await server.call("GET", `/v1/tokens/${id}`)).body.status;
    await until("the token to expire", 60_000, async () => (await statusOf(short)) !== "pending");
    assert.deepEqual([await statusOf(short), await statusOf(long)], ["expired", "pending"]);
  });
});
