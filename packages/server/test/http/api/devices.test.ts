import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { addPerson } from "../../support/tenancy.ts";
import { createTestClock, type TestClock } from "../../support/test-clock.ts";

describe("the sign-in of a device", () => {
  let server: ApiServer;
  let clock: TestClock;
  before(async () => {
    clock = createTestClock();
    server = await startApiServer({ clock: clock.now });
  });
  after(() => server.stop());

  const start = async () => {
    const body = { client_id: "keelson on laptop" };
    const started = await server.call("POST", "/api/auth/device/start", { as: null, body });
    assert.equal(started.status, 200, started.text);
    return started.body;
  };
  const ask = (device_code: string): Promise<Answer> =>
    server.call("POST", "/api/auth/device/token", {
      as: null,
      body: { device_code, grant_type: "urn:ietf:params:oauth:grant-type:device_code" },
    });
  const codeOf = async (device_code: string): Promise<string> => {
    const answer = await ask(device_code);
    assert.equal(answer.status, 400, answer.text);
    return answer.body.error.code;
  };
  const answerCode = (verb: "approve" | "deny", user_code: string, as: string): Promise<Answer> =>
    server.call("POST", `/api/auth/device/${verb}`, { as, body: { user_code } });
  const status = (user_code: string, as: string): Promise<Answer> =>
    server.call("GET", `/api/auth/device/status?${new URLSearchParams({ user_code }).toString()}`, { as });

  test("gets a session of whoever approves it, once", async () => {
    const { token: as, email } = await addPerson(server, "developer");
    const started = await start();
    assert.deepEqual([started.expires_in, started.interval], [900, 5]);
    assert.match(started.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    assert.equal(started.verification_uri, `${server.url}/device`);
    assert.ok(started.verification_uri_complete.endsWith(`/device#user_code=${started.user_code}`));
    assert.equal(await codeOf(started.device_code), "authorization_pending");
    const shown = await status(started.user_code.toLowerCase().replace("-", " "), as);
    assert.deepEqual(
      [shown.body.status, shown.body.client_id, shown.body.user_code],
      ["pending", "keelson on laptop", started.user_code],
    );
    const approved = await answerCode("approve", started.user_code, as);
    assert.deepEqual([approved.status, approved.body.status], [200, "approved"]);
    const [one, two] = await Promise.all([ask(started.device_code), ask(started.device_code)]);
    const [granted, refused] = one.status === 200 ? [one, two] : [two, one];
    assert.equal(granted.status, 200, granted.text);
    assert.equal(refused.body.error.code, "expired_token");
    const { access_token, token_type, expires_in, user } = granted.body;
    assert.deepEqual([token_type, expires_in, user.email], ["Bearer", 30 * 86_400, email]);
    assert.equal(granted.headers.get("cache-control"), "no-store");
    assert.equal((await server.call("GET", "/api/me", { as: access_token })).body.user.email, email);
    assert.equal((await answerCode("deny", started.user_code, as)).body.error.code, "invalid_state");
  });

  test("is told when it asks too often, and to ask less often from then on", async () => {
    const { device_code } = await start();
    assert.equal(await codeOf(device_code), "authorization_pending");
    clock.advance(2_000);
    assert.equal(await codeOf(device_code), "slow_down");
    clock.advance(5_100);
    assert.equal(await codeOf(device_code), "slow_down", "the interval has grown to 10 seconds");
    clock.advance(15_000);
    assert.equal(await codeOf(device_code), "authorization_pending");
  });

  test("ends when it is denied, and after 15 minutes", async () => {
    const { token: as } = await addPerson(server, null);
    const denied = await start();
    assert.equal((await answerCode("deny", denied.user_code, as)).body.status, "denied");
    assert.equal(await codeOf(denied.device_code), "access_denied");
    const late = await start();
    clock.advance(15 * 60_000);
    assert.equal(await codeOf(late.device_code), "expired_token");
    assert.equal((await answerCode("approve", late.user_code, as)).status, 404);
    assert.equal(await codeOf("kl_dev_unknown"), "expired_token");
  });

  test("is approved by people alone", async () => {
    const { user_code } = await start();
    const { api_key, admin_key } = server.credentials;
    for (const as of [api_key, admin_key])
      assert.equal((await answerCode("approve", user_code, as)).status, 401);
  });

  test("few codes may be guessed", async () => {
    const { token: as } = await addPerson(server, null);
    const { user_code } = await start();
    for (let i = 0; i < 10; i += 1)
      assert.equal((await status(`BBBB-BBB${"BCDFGHJKLM"[i]}`, as)).status, 404);
    const limited = await answerCode("approve", user_code, as);
    assert.deepEqual([limited.status, limited.body.error.code], [429, "rate_limited"]);
    const { token: other } = await addPerson(server, null);
    assert.equal((await status(user_code, other)).status, 200);
    clock.advance(15 * 60_000);
    const fresh = await start();
    assert.equal((await answerCode("approve", fresh.user_code, as)).status, 200);
  });
});
