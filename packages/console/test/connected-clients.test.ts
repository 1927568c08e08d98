// A person connects a client of the Model Context Protocol in the console, sees it there, and disconnects it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Page } from "playwright-core";
import { WITHOUT_CHROMIUM } from "../../sdk/test/support/chromium.ts";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import {
  askToken,
  codeFields,
  newVerifier,
  ping,
  register,
  requestOf,
  sendForm,
} from "../../server/test/support/oauth.ts";
import { openConsole, type ConsolePage } from "./support/open-console.ts";

const NAME = "Editor <b>of\u202ethe</b> day";

describe("connected clients in the console", { skip: WITHOUT_CHROMIUM, timeout: 180_000 }, () => {
  let server: ApiServer;
  let console: ConsolePage;
  let page: Page;
  let clientId: string;
  before(async () => {
    server = await startApiServer();
    console = await openConsole(server);
    page = console.page;
    clientId = await register(server, { client_name: NAME });
    // Where the browser is sent on to: nobody listens there.
    await page.route("http://127.0.0.1/callback*", (route) => route.fulfill({ body: "Back at the client" }));
  });
  after(async () => {
    await console?.close();
    await server?.stop();
  });

  const open = (verifier: string, more: object = {}): Promise<unknown> => {
    const query = new URLSearchParams(requestOf(clientId, verifier, more));
    return page.goto(`${server.url}/oauth/authorize?${query.toString()}`);
  };
  async function isClean(): Promise<void> {
    assert.deepEqual(await console.violations(), []);
  }
  /** What the browser was sent on to the client with. */
  async function answer(): Promise<URLSearchParams> {
    await page.waitForURL(/^http:\/\/127\.0\.0\.1\/callback/);
    return new URL(page.url()).searchParams;
  }

  let access: string;

  test("a client is approved for one environment, to look unless the person says more", async () => {
    const verifier = newVerifier();
    await open(verifier);
    await page.getByText("Editor <b>of the</b> day").waitFor();
    await page.getByText("127.0.0.1", { exact: true }).waitFor();
    await isClean();
    await console.screenshot("client-authorize");
    assert.equal(await page.getByLabel("What it may do").inputValue(), "read");
    await page.getByLabel("What it may do").selectOption("write");
    await page.getByRole("button", { name: "Approve" }).click();
    const answered = await answer();
    assert.deepEqual([answered.get("state"), answered.get("iss")], ["a state", server.url]);
    const code = answered.get("code") as string;
    const tokens = await askToken(server, codeFields(clientId, code, verifier));
    assert.equal(tokens.body.scope, "mcp:read mcp:write", tokens.text);
    access = tokens.body.access_token;
    assert.equal((await ping(server, access)).status, 200);
  });

  test("a client is denied, and told so", async () => {
    await open(newVerifier());
    await page.getByRole("button", { name: "Deny" }).click();
    assert.equal((await answer()).get("error"), "access_denied");
  });

  test("a request that may not be answered stays here", async () => {
    await open(newVerifier(), { redirect_uri: "https://evil.example/callback" });
    await page
      .getByRole("alert")
      .getByText(/redirect_uri/)
      .first()
      .waitFor();
    assert.ok(page.url().startsWith(server.url));
    assert.equal(await page.getByRole("button", { name: "Approve" }).count(), 0);
    await isClean();
    await console.screenshot("client-refused");
  });

  test("who is not signed in does so first", async () => {
    const theirs = await openConsole(server, { isStranger: true });
    try {
      const query = new URLSearchParams(requestOf(clientId, newVerifier()));
      await theirs.page.goto(`${server.url}/oauth/authorize?${query.toString()}`);
      await theirs.page.getByText("Sign in first.").waitFor();
      assert.equal(await theirs.page.getByRole("button", { name: "Approve" }).count(), 0);
    } finally {
      await theirs.close();
    }
  });

  test("a client without a browser is approved by its code", async () => {
    const started = await sendForm(server, "/oauth/device_authorization", { client_id: clientId });
    await page.goto(`${server.url}/device#user_code=${started.body.user_code}`);
    await page.getByText("Editor <b>of the</b> day").waitFor();
    await isClean();
    await console.screenshot("client-code");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Approved.").waitFor();
    const tokens = await askToken(server, {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      client_id: clientId,
      device_code: started.body.device_code,
    });
    assert.equal(tokens.body.scope, "mcp:read", tokens.text);
  });

  test("they are listed, and one is disconnected", async () => {
    await page.goto(console.at(""));
    await page.getByRole("button", { name: /^Account of/ }).click();
    await page.getByRole("menuitem", { name: "Connected clients" }).click();
    await page.getByRole("heading", { name: "Connected clients", level: 1 }).waitFor();
    const row = page.getByRole("row", { name: /look and act/ });
    await row.waitFor();
    await isClean();
    await console.screenshot("client-list");
    await row.getByRole("button", { name: "Disconnect" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Disconnect" }).click();
    // What is behind a dialog has no role.
    await dialog.waitFor({ state: "detached" });
    await row.waitFor({ state: "detached" });
    assert.equal((await ping(server, access)).status, 401);
  });

  test("asks nobody but its server, and breaks no rule of its own", () => {
    assert.deepEqual(
      console.foreign.filter((url) => !url.startsWith("http://127.0.0.1/callback")),
      [],
    );
    assert.deepEqual(console.problems, []);
  });
});
