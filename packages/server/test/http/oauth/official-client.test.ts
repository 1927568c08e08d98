// The whole way of the official client of the Model Context Protocol, given the address alone. The test is the person's browser.

import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { UnauthorizedError, type OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { newestEvent } from "../../support/audit.ts";
import { sendForm } from "../../support/oauth.ts";
import { startRunScene, type RunScene } from "../../support/run-scene.ts";
import { place } from "../../support/tenancy.ts";

const CALLBACK = "http://127.0.0.1:33418/callback";
const MANIFEST = { tasks: [{ id: "add", mcp: { description: "Adds two numbers." } }, { id: "hidden" }] };

/** What a client remembers of a server, and where it last sent its person's browser. */
class Memory implements OAuthClientProvider {
  client: OAuthClientInformationMixed | undefined;
  kept: OAuthTokens | undefined;
  verifier = "";
  sentTo: URL | undefined;

  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { client_name: "Official client", redirect_uris: [CALLBACK] };
  state = (): string => "of this sign-in";
  clientInformation = () => this.client;
  saveClientInformation = (client: OAuthClientInformationMixed): void => void (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens: OAuthTokens): void => void (this.kept = tokens);
  saveCodeVerifier = (verifier: string): void => void (this.verifier = verifier);
  codeVerifier = (): string => this.verifier;
  redirectToAuthorization = (url: URL): void => void (this.sentTo = url);
  invalidateCredentials = (what: "all" | "client" | "tokens" | "verifier" | "discovery"): void => {
    if (what === "all" || what === "tokens") this.kept = undefined;
    if (what === "all" || what === "client") this.client = undefined;
  };
}

let scene: RunScene;
before(async () => {
  scene = await startRunScene(MANIFEST);
});
after(() => scene.stop());

const transportOf = (authProvider: Memory): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(`${scene.server.url}/mcp`), { authProvider });

const newClient = (): Client => new Client({ name: "test", version: "1" });

/** The page of consent: who asks, and what the person answers. @returns the answer, which the browser takes to the client */
async function decide(url: URL, access: "read" | "write" | null): Promise<URLSearchParams> {
  const { server } = scene;
  const as = server.credentials.user_token;
  assert.equal(`${url.origin}${url.pathname}`, `${server.url}/oauth/authorize`);
  const request = Object.fromEntries(url.searchParams);
  const asked = await server.call("GET", `/api/oauth-authorization?${url.searchParams.toString()}`, { as });
  assert.equal(asked.status, 200, asked.text);
  assert.deepEqual(
    [asked.body.client.name, asked.body.redirect_host, asked.body.access],
    ["Official client", "127.0.0.1:33418", "write"],
  );
  const grant = access === null ? null : { ...place(server), access };
  const body = { ...request, grant };
  const answered = await server.call("POST", "/api/oauth-authorization", { as, body });
  assert.equal(answered.status, 200, answered.text);
  const back = new URL(answered.body.redirect_to);
  assert.equal(`${back.origin}${back.pathname}`, CALLBACK);
  assert.deepEqual(
    [back.searchParams.get("state"), back.searchParams.get("iss")],
    ["of this sign-in", server.url],
  );
  return back.searchParams;
}

/** Signs a client in and connects it. */
async function connect(
  t: TestContext,
  access: "read" | "write",
): Promise<{ client: Client; memory: Memory }> {
  const memory = new Memory();
  const first = transportOf(memory);
  await assert.rejects(newClient().connect(first), UnauthorizedError);
  assert.ok(memory.sentTo !== undefined);
  const answer = await decide(memory.sentTo, access);
  await first.finishAuth(answer.get("code") as string);
  const client = newClient();
  await client.connect(transportOf(memory));
  t.after(() => client.close());
  return { client, memory };
}

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

describe("the official client, given the address alone", () => {
  test("gets a credential with a person's approval, and its tools act as the person", async (t) => {
    const { client, memory } = await connect(t, "write");
    assert.ok((await namesOf(client)).includes("add"));
    const { id } = await scene.start("hidden");
    const cancelled = await client.callTool({ name: "keelson_cancel_run", arguments: { id } });
    assert.equal(cancelled.isError, undefined, JSON.stringify(cancelled));
    const { body: run } = await scene.call("GET", `/v1/runs/${id}`);
    assert.equal(run.status, "cancelled");
    const me = await scene.server.call("GET", "/api/me", { as: scene.server.credentials.user_token });
    const event = await newestEvent(scene.server, me.body.organizations[0].id);
    assert.deepEqual(
      [
        event.actor,
        event.credential?.kind,
        event.details["oauth_client"],
        event.details["oauth_client_name"],
      ],
      [{ kind: "user", id: me.body.user.id }, "oauth_grant", memory.client?.client_id, "Official client"],
    );
  });

  test("refreshes when its hour is over, and signs in again when it was revoked", async (t) => {
    const { client, memory } = await connect(t, "write");
    const before = memory.kept;
    scene.clock.advance(3_600_001);
    assert.ok((await namesOf(client)).includes("add"));
    assert.notEqual(memory.kept?.access_token, before?.access_token);
    assert.notEqual(memory.kept?.refresh_token, before?.refresh_token);
    const revoked = await sendForm(scene.server, "/oauth/revoke", {
      token: memory.kept?.refresh_token as string,
      client_id: memory.client?.client_id as string,
    });
    assert.equal(revoked.status, 200, revoked.text);
    memory.sentTo = undefined;
    await assert.rejects(namesOf(client), UnauthorizedError);
    assert.ok(memory.sentTo !== undefined, "the client asks its person again");
  });

  test("that may look has tools that change nothing, and is told what it would need for the others", async (t) => {
    const { client, memory } = await connect(t, "read");
    assert.equal(memory.kept?.scope, "mcp:read");
    const { tools } = await client.listTools();
    assert.ok(tools.length >= 10, `${tools.length} tools`);
    assert.deepEqual(
      tools.filter(({ annotations }) => annotations?.readOnlyHint !== true),
      [],
    );
    const listed = await client.callTool({ name: "keelson_list_runs", arguments: {} });
    assert.equal(listed.isError, undefined, JSON.stringify(listed));
    for (const name of ["add", "keelson_start_task"])
      await assert.rejects(client.callTool({ name, arguments: {} }), /403/, name);
    await assert.rejects(client.callTool({ name: "none", arguments: {} }), /There is no tool none/);
  });

  test("is told when its person denies it", async () => {
    const memory = new Memory();
    await assert.rejects(newClient().connect(transportOf(memory)), UnauthorizedError);
    const answer = await decide(memory.sentTo as URL, null);
    assert.deepEqual([answer.get("error"), answer.get("code")], ["access_denied", null]);
  });
});
