// Clients without a browser: a person approves them by the code that they show (RFC 8628).

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { sql } from "../../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { newestEvent } from "../../support/audit.ts";
import { askToken, ping, refresh, register, sendForm } from "../../support/oauth.ts";
import { addUser, firstOrganization, place } from "../../support/tenancy.ts";
import { createTestClock, type TestClock } from "../../support/test-clock.ts";

const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";

describe("a client that shows a code", () => {
  let server: ApiServer;
  let clock: TestClock;
  before(async () => {
    clock = createTestClock();
    server = await startApiServer({ clock: clock.now });
  });
  after(() => server.stop());

  type Started = { clientId: string; device_code: string; user_code: string; verification_uri: string };

  async function start(fields: Record<string, string> = {}): Promise<Started> {
    const clientId = await register(server, { redirect_uris: undefined, client_name: "Terminal" });
    const body = { client_id: clientId, ...fields };
    const started = await sendForm(server, "/oauth/device_authorization", body);
    assert.equal(started.status, 200, started.text);
    return { clientId, ...started.body };
  }
  const ask = ({ clientId, device_code }: Started): Promise<Answer> =>
    askToken(server, { grant_type: DEVICE_CODE, client_id: clientId, device_code });
  const as = (): string => server.credentials.user_token;
  const approve = ({ user_code }: Started, grant?: object): Promise<Answer> =>
    server.call("POST", "/api/auth/device/approve", {
      as: as(),
      body: { user_code, ...(grant !== undefined && { grant }) },
    });
  const errorOf = ({ status, body }: Answer): [number, string] => [status, body.error];

  test("gets what the person chose, once", async () => {
    const started = await start();
    assert.equal(started.verification_uri, `${server.url}/device`);
    assert.deepEqual(errorOf(await ask(started)), [400, "authorization_pending"]);
    assert.deepEqual(errorOf(await ask(started)), [400, "slow_down"]);
    const query = new URLSearchParams({ user_code: started.user_code }).toString();
    const shown = await server.call("GET", `/api/auth/device/status?${query}`, { as: as() });
    assert.deepEqual(shown.body.client, { id: started.clientId, name: "Terminal", access: "write" });
    assert.equal((await approve(started)).status, 400, "the person says where it may act");
    const approved = await approve(started, { ...place(server), access: "read" });
    assert.deepEqual([approved.status, approved.body.status], [200, "approved"], approved.text);
    const event = await newestEvent(server, encodeId("org", await firstOrganization(server)));
    assert.deepEqual(
      [event.action, event.details["oauth_client"], event.details["oauth_client_name"]],
      ["devices.approve", started.clientId, "Terminal"],
    );
    const [one, two] = await Promise.all([ask(started), ask(started)]);
    const [given, refused] = one.status === 200 ? [one, two] : [two, one];
    assert.deepEqual([given.status, given.body.scope], [200, "mcp:read"], given.text);
    assert.deepEqual(errorOf(refused), [400, "expired_token"]);
    assert.equal((await ping(server, given.body.access_token)).status, 200);
    assert.equal((await refresh(server, started.clientId, given.body.refresh_token)).status, 200);
  });

  test("is denied, and is no other client", async () => {
    const started = await start();
    const stranger = await register(server);
    assert.deepEqual(errorOf(await ask({ ...started, clientId: stranger })), [400, "expired_token"]);
    const body = { user_code: started.user_code };
    assert.equal((await server.call("POST", "/api/auth/device/deny", { as: as(), body })).status, 200);
    assert.deepEqual(errorOf(await ask(started)), [400, "access_denied"]);
  });

  test("gets no session, and a device that signs in gets no grant", async () => {
    const started = await start();
    await approve(started, { ...place(server), access: "write" });
    const { device_code } = started;
    const session = await server.call("POST", "/api/auth/device/token", { as: null, body: { device_code } });
    assert.deepEqual([session.status, session.body.error.code], [400, "expired_token"]);
    const plain = await server.call("POST", "/api/auth/device/start", { as: null, body: {} });
    const asGrant = await approve({ ...started, ...plain.body }, { ...place(server), access: "read" });
    assert.equal(asGrant.status, 400, asGrant.text);
    assert.equal((await approve({ ...started, ...plain.body })).status, 200);
    const asked = await ask({ ...started, device_code: plain.body.device_code });
    assert.deepEqual(errorOf(asked), [400, "expired_token"]);
  });

  test("is safe from a server that takes it for a device that signs in", async () => {
    const started = await start();
    const device = sql`user_code = ${started.user_code}`;
    // What a server of the last release writes when a person approves, and when the device asks.
    await assert.rejects(
      server.db.query(sql`
        UPDATE device_authorizations SET status = 'approved', user_id = (SELECT id FROM users LIMIT 1) WHERE ${device}`),
      /check/,
    );
    await approve(started, { ...place(server), access: "read" });
    await assert.rejects(
      server.db.query(sql`UPDATE device_authorizations SET status = 'consumed' WHERE ${device}`),
      /check/,
    );
  });

  test("is bound by the person's own part, and by what it asks for", async () => {
    const started = await start({ scope: "mcp:read" });
    const choice = { ...place(server), access: "write" };
    assert.equal((await approve(started, choice)).status, 400);
    const viewer = await addUser(server, "viewer");
    const wide = await start();
    const body = { user_code: wide.user_code, grant: choice };
    const refused = await server.call("POST", "/api/auth/device/approve", { as: viewer, body });
    assert.equal(refused.status, 403);
    clock.advance(15 * 60_000);
    assert.deepEqual(errorOf(await ask(wide)), [400, "expired_token"]);
  });

  test("must be registered, and ask for what there is", async () => {
    const post = (fields: Record<string, string>) => sendForm(server, "/oauth/device_authorization", fields);
    assert.deepEqual(errorOf(await post({ client_id: "ocl_none" })), [401, "invalid_client"]);
    const client_id = await register(server);
    assert.deepEqual(errorOf(await post({ client_id, scope: "admin" })), [400, "invalid_scope"]);
    const elsewhere = { client_id, resource: "https://elsewhere.example/mcp" };
    assert.deepEqual(errorOf(await post(elsewhere)), [400, "invalid_target"]);
  });
});
