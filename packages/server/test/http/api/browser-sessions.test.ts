import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createBrowser } from "../../support/browser.ts";
import { addUser } from "../../support/tenancy.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

test("a browser gets a session of its own for one at hand, as a cookie", async () => {
  const browser = createBrowser(server);
  const token = await addUser(server, "developer");
  const started = await browser.call("POST", "/api/auth/session", {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(started.status, 200, started.text);
  assert.equal(started.body.token, null);
  assert.doesNotMatch(started.text, /kl_usr_/);
  assert.match(started.headers.get("set-cookie") ?? "", /HttpOnly; SameSite=Lax/);
  const cookie = browser.cookies.get("keelson_session");
  assert.notEqual(cookie, token);

  const me = await browser.call("GET", "/api/me");
  assert.deepEqual([me.status, me.body.user.id], [200, started.body.user.id]);
  const csrf = { "x-csrf-token": me.body.csrf_token as string };
  assert.equal(
    (await browser.call("POST", "/api/auth/logout")).status,
    403,
    "a cookie needs the CSRF header",
  );
  assert.equal((await browser.call("POST", "/api/auth/logout", { headers: csrf })).status, 204);
  assert.equal((await server.call("GET", "/api/me", { as: token })).status, 200, "the other session goes on");
});

test("nobody gets one without a session", async () => {
  const browser = createBrowser(server);
  assert.equal((await browser.call("POST", "/api/auth/session")).status, 401);
  const { api_key, admin_key } = server.credentials;
  for (const as of [api_key, admin_key])
    assert.equal((await server.call("POST", "/api/auth/session", { as })).status, 401);
  assert.equal(browser.cookies.size, 0);
});
