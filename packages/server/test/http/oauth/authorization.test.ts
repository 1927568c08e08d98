// What a client must show to get tokens, and what a person can give it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId } from "@keelson/contract";
import { csrfTokenOf } from "../../../src/http/edge/authenticate/csrf.ts";
import type { Answer, ApiServer } from "../../support/api-server.ts";
import { startApiServer } from "../../support/api-server.ts";
import { newestEvent } from "../../support/audit.ts";
import {
  approve,
  askToken,
  callTool,
  codeFields,
  codeIn,
  connectClient,
  newVerifier,
  ping,
  register,
  requestOf,
  sendForm,
} from "../../support/oauth.ts";
import { addForeignPlace, addPerson, addUser, firstOrganization, place } from "../../support/tenancy.ts";
import { createTestClock, type TestClock } from "../../support/test-clock.ts";

let server: ApiServer;
let clock: TestClock;
before(async () => {
  clock = createTestClock();
  server = await startApiServer({ clock: clock.now });
});
after(() => server.stop());

const errorOf = ({ status, body }: Answer): [number, string] => [status, body.error];
const INVALID_GRANT: [number, string] = [400, "invalid_grant"];

async function asked(more: object): Promise<Answer> {
  const clientId = await register(server, { redirect_uris: ["https://app.example.com/back?x=1"] });
  const request = requestOf(clientId, newVerifier(), {
    redirect_uri: "https://app.example.com/back?x=1",
    ...more,
  }) as Record<string, string>;
  const query = new URLSearchParams(request).toString();
  return server.call("GET", `/api/oauth-authorization?${query}`, { as: server.credentials.user_token });
}

describe("a client registers", () => {
  const post = (body: object): Promise<Answer> => server.call("POST", "/oauth/register", { as: null, body });

  test("with addresses of https or of its own machine, and nothing else", async () => {
    for (const uri of ["https://app.example.com/back", "http://localhost:1/a", "http://[::1]/a"])
      assert.equal((await post({ redirect_uris: [uri] })).status, 201, uri);
    for (const uri of [
      "http://app.example.com/back",
      "https://app.example.com/#a",
      "https://user@app.example.com/",
      "javascript:alert(1)",
      "http://127.0.0.1.example.com/",
      "https://app.example.com/ a",
      "not an address",
    ])
      assert.deepEqual(errorOf(await post({ redirect_uris: [uri] })), [400, "invalid_redirect_uri"], uri);
  });

  test("within bounds, and may say what this server does not know", async () => {
    const uris = Array.from({ length: 11 }, (_, n) => `https://app.example.com/${n}`);
    assert.deepEqual(errorOf(await post({ redirect_uris: uris })), [400, "invalid_client_metadata"]);
    assert.deepEqual(errorOf(await post({ client_name: "x".repeat(129) })), [400, "invalid_client_metadata"]);
    const made = await post({ client_name: "a\u202eb\nc", logo_uri: "https://x.example/", software_id: "s" });
    assert.deepEqual([made.status, made.body.client_name], [201, "a b c"]);
    assert.equal(made.body.token_endpoint_auth_method, "none");
    assert.equal(made.headers.get("access-control-allow-origin"), "*");
  });
});

describe("a stranger", () => {
  test("registers few clients a minute, and is told when to go on", async (t) => {
    const rateLimits = { credential: 0, address: 0, failures: 0, logins: 2 };
    const limited = await startApiServer({ clock: clock.now, config: { rateLimits } });
    t.after(() => limited.stop());
    await register(limited);
    await register(limited);
    const refused = await limited.call("POST", "/oauth/register", { as: null, body: {} });
    assert.deepEqual(errorOf(refused), [429, "temporarily_unavailable"]);
    assert.ok(Number(refused.headers.get("retry-after")) > 0);
    clock.advance(60_000);
    await register(limited);
  });
});

describe("a person is asked", () => {
  test("nothing that the client has not registered, and the client hears nothing of it", async () => {
    assert.equal((await asked({})).body.redirect_host, "app.example.com");
    for (const [more, said] of [
      [{ redirect_uri: "https://app.example.com/back" }, /redirect_uri/],
      [{ redirect_uri: "https://evil.example/back?x=1" }, /redirect_uri/],
      [{ response_type: "token" }, /response_type/],
      [{ code_challenge_method: "plain" }, /code_challenge/],
      [{ code_challenge: "short" }, /code_challenge/],
      [{ resource: "https://elsewhere.example/mcp" }, /resource/],
      [{ scope: "admin" }, /scope/],
    ] as const) {
      const refused = await asked(more);
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.body.error.message, said);
    }
    const unknown = await asked({ client_id: encodeId("ocl", "00000000-0000-7000-8000-000000000000") });
    assert.equal(unknown.status, 404);
  });

  test("for this server's resource, however the client spells it", async () => {
    for (const end of ["/mcp", "/mcp/", "/mcp?readonly=1"])
      assert.equal((await asked({ resource: server.url + end })).status, 200, end);
  });

  test("at any port of the client's own machine", async () => {
    const clientId = await register(server);
    const verifier = newVerifier();
    const redirect_uri = "http://127.0.0.1:5555/callback";
    const answer = await approve(server, clientId, verifier, { more: { redirect_uri } });
    assert.match(answer.body.redirect_to, /^http:\/\/127\.0\.0\.1:5555\/callback\?code=kl_cod_/);
    const elsewhere = await approve(server, clientId, verifier, {
      more: { redirect_uri: "http://127.0.0.1:5555/other" },
    });
    assert.equal(elsewhere.status, 400);
  });

  test("by a page of this server alone", async () => {
    const clientId = await register(server);
    const session = await addUser(server, "owner");
    const answer = (headers: Record<string, string>) =>
      server.call("POST", "/api/oauth-authorization", {
        as: null,
        headers: { cookie: `keelson_session=${session}`, ...headers },
        body: { ...requestOf(clientId, newVerifier()), grant: { ...place(server), access: "read" } },
      });
    const own = { origin: server.url, "x-csrf-token": csrfTokenOf(session) };
    assert.equal((await answer({ ...own, origin: "https://evil.example" })).status, 403);
    assert.equal((await answer({ origin: server.url })).status, 403);
    assert.equal((await answer(own)).status, 200);
  });
});

describe("a person gives a client", () => {
  test("no place that is not theirs", async () => {
    const foreign = await addForeignPlace(server);
    const clientId = await register(server);
    const { project_id, environment_id } = foreign;
    for (const at of [
      { project_id, environment_id },
      { ...place(server), environment_id },
      { ...place(server), project_id },
    ]) {
      const refused = await approve(server, clientId, newVerifier(), { at });
      assert.deepEqual([refused.status, refused.body.error.code], [404, "not_found"]);
    }
    const stranger = await addUser(server, null);
    assert.equal((await approve(server, clientId, newVerifier(), { as: stranger })).status, 404);
  });

  test("no more than it asks for, nor than they may do themselves", async () => {
    const clientId = await register(server);
    const more = { scope: "mcp:read" };
    assert.equal((await approve(server, clientId, newVerifier(), { more })).status, 400);
    const viewer = await addUser(server, "viewer");
    assert.equal((await approve(server, clientId, newVerifier(), { as: viewer })).status, 403);
    const { access } = await connectClient(server, { as: viewer, access: "read" });
    assert.equal((await callTool(server, access, "keelson_list_runs")).status, 200);
    const acted = await callTool(server, access, "keelson_cancel_run", { id: "run_1" });
    assert.equal(acted.status, 200, "the person could not give it either, so it is not asked to come again");
    assert.match(acted.body.error.message, /There is no tool/);
  });

  test("what the audit log tells, with the client's name and without a credential", async () => {
    const { code, access, refresh } = await connectClient(server, { access: "read" });
    const organization = encodeId("org", await firstOrganization(server));
    const event = await newestEvent(server, organization);
    assert.deepEqual(
      [event.action, event.resource.kind, event.details["oauth_client_name"], event.details["access"]],
      ["oauth_grants.create", "oauth_grant", "Test client", "read"],
    );
    for (const secret of [code, access, refresh]) assert.ok(!JSON.stringify(event).includes(secret));
  });
});

describe("a code", () => {
  async function coded(): Promise<{ clientId: string; verifier: string; code: string }> {
    const clientId = await register(server);
    const verifier = newVerifier();
    return { clientId, verifier, code: codeIn(await approve(server, clientId, verifier)) };
  }

  test("is good for its client, its address and its verifier alone, for a minute", async () => {
    const { clientId, verifier, code } = await coded();
    const fields = codeFields(clientId, code, verifier);
    for (const wrong of [
      { code_verifier: newVerifier() },
      { redirect_uri: "http://127.0.0.1:1/callback" },
      { client_id: await register(server) },
      { code: `${code.slice(0, -1)}${code.endsWith("a") ? "b" : "a"}` },
    ])
      assert.deepEqual(errorOf(await askToken(server, { ...fields, ...wrong })), INVALID_GRANT);
    clock.advance(59_000);
    const given = await askToken(server, fields);
    assert.equal(given.status, 200, given.text);
    assert.deepEqual([given.body.token_type, given.body.expires_in], ["Bearer", 3_600]);
    assert.equal(given.headers.get("cache-control"), "no-store");
    const late = await coded();
    clock.advance(60_000);
    const refused = await askToken(server, codeFields(late.clientId, late.code, late.verifier));
    assert.deepEqual(errorOf(refused), INVALID_GRANT);
  });

  test("that is used twice takes back what it gave", async () => {
    const { clientId, verifier, code } = await coded();
    const fields = codeFields(clientId, code, verifier);
    const { body } = await askToken(server, fields);
    assert.equal((await ping(server, body.access_token)).status, 200);
    // Whoever has the code alone.
    const replayed = await askToken(server, { ...fields, code_verifier: newVerifier() });
    assert.deepEqual(errorOf(replayed), INVALID_GRANT);
    assert.equal((await ping(server, body.access_token)).status, 401);
    const event = await newestEvent(server, encodeId("org", await firstOrganization(server)));
    assert.deepEqual([event.action, event.details["reason"]], ["oauth_grants.revoke", "token_reused"]);
  });

  test("that two exchange at once gives one of them tokens, and takes them back", async () => {
    const { clientId, verifier, code } = await coded();
    const fields = codeFields(clientId, code, verifier);
    const answers = await Promise.all([askToken(server, fields), askToken(server, fields)]);
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400],
    );
    const given = answers.find(({ status }) => status === 200);
    assert.equal((await ping(server, given?.body.access_token)).status, 401);
  });

  test("of a person who has left since is good for nothing", async () => {
    const { token: as, user_id } = await addPerson(server, "developer");
    const clientId = await register(server);
    const verifier = newVerifier();
    const code = codeIn(await approve(server, clientId, verifier, { as }));
    const owner = { as: server.credentials.user_token };
    assert.equal((await server.call("DELETE", `/api/members/${user_id}`, owner)).status, 204);
    assert.deepEqual(errorOf(await askToken(server, codeFields(clientId, code, verifier))), INVALID_GRANT);
  });
});

describe("the endpoint of tokens", () => {
  test("refuses in the form of OAuth", async () => {
    const client_id = await register(server);
    for (const [fields, error] of [
      [{ grant_type: "password", client_id }, "unsupported_grant_type"],
      [{ grant_type: "authorization_code", client_id }, "invalid_request"],
      [{ client_id }, "invalid_request"],
      [
        { grant_type: "refresh_token", client_id, refresh_token: "kl_ort_x", resource: "https://x.example/" },
        "invalid_target",
      ],
      [{ grant_type: "refresh_token", client_id, refresh_token: "kl_ort_unknown" }, "invalid_grant"],
    ] as const) {
      const answer = await askToken(server, fields);
      assert.deepEqual(errorOf(answer), [400, error], answer.text);
      assert.ok(answer.body.error_description.length > 10);
    }
    const unknown = await askToken(server, { grant_type: "refresh_token", client_id: "ocl_none" });
    assert.deepEqual(errorOf(unknown), [401, "invalid_client"]);
    const twice = await server.call("POST", "/oauth/token", {
      as: null,
      bytes: Buffer.from("grant_type=refresh_token&client_id=a&client_id=b"),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    assert.deepEqual(errorOf(twice), [400, "invalid_request"]);
  });

  test("takes a form where others refuse one", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const refused = await server.call("POST", "/v1/tokens", { bytes: Buffer.from("a=b"), headers: form });
    assert.deepEqual([refused.status, refused.body.error.code], [415, "unsupported_media_type"]);
    assert.equal((await sendForm(server, "/oauth/revoke", { token: "kl_ort_unknown" })).status, 200);
  });
});

describe("a browser of any origin", () => {
  test("may ask how to sign in, and be told", async () => {
    for (const [method, path] of [
      ["GET", "/.well-known/oauth-protected-resource"],
      ["GET", "/.well-known/oauth-protected-resource/mcp"],
      ["GET", "/.well-known/oauth-authorization-server"],
      ["POST", "/oauth/register"],
      ["POST", "/oauth/token"],
      ["POST", "/mcp"],
    ] as const) {
      const preflight = await server.call("OPTIONS", path, { as: null });
      assert.equal(preflight.status, 204, path);
      assert.match(preflight.headers.get("access-control-allow-methods") ?? "", new RegExp(method));
      assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /mcp-protocol-version/);
    }
    const refused = await ping(server, null);
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("access-control-expose-headers") ?? "", /www-authenticate/);
    assert.match(
      refused.headers.get("www-authenticate") ?? "",
      new RegExp(`resource_metadata="${server.url}/\\.well-known/oauth-protected-resource/mcp"`),
    );
  });

  test("is refused by the routes of the person", async () => {
    const answer = await server.call("GET", "/api/oauth-grants", { as: server.credentials.user_token });
    assert.equal(answer.headers.get("access-control-allow-origin"), null);
  });
});
