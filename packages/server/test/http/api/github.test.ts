import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { createBrowser, type Browser } from "../../support/browser.ts";
import { startGithub, type GithubPerson, type TestGithub } from "../../support/github.ts";
import { addPerson } from "../../support/tenancy.ts";

describe("sign-in by GitHub", () => {
  let server: ApiServer;
  let github: TestGithub;
  before(async () => {
    github = await startGithub();
    const { url, clientId, clientSecret } = github;
    server = await startApiServer({
      config: { github: { url, apiUrl: `${url}/api`, clientId, clientSecret } },
    });
  });
  after(async () => {
    await server.stop();
    await github.stop();
  });

  let ids = 0;
  const person = (email: string, verified = true): GithubPerson => ({
    id: (ids += 1),
    name: "Ada",
    emails: [
      { email: "second@example.com", primary: false, verified: true },
      { email, primary: true, verified },
    ],
  });
  const start = async (browser: Browser, query = ""): Promise<string> => {
    const started = await browser.call("GET", `/api/auth/github/start${query}`);
    assert.equal(started.status, 303, started.text);
    return started.headers.get("location") as string;
  };
  const signIn = async (browser: Browser, who: GithubPerson, query = ""): Promise<Answer> =>
    browser.call("GET", github.agree(await start(browser, query), who));

  test("finds the user by the verified primary address, and by the account from then on", async () => {
    const { email } = await addPerson(server, "viewer");
    const browser = createBrowser(server);
    const who = person(email.toUpperCase());
    const finished = await signIn(browser, who, "?return_to=%2Fdevice%3Fuser_code%3DX");
    assert.equal(finished.status, 303, finished.text);
    assert.equal(finished.headers.get("location"), "/device?user_code=X");
    assert.equal((await browser.call("GET", "/api/me")).body.user.email, email);
    assert.deepEqual([...browser.cookies.keys()], ["keelson_session"]);
    // The address has changed there; the account is the same.
    const later = createBrowser(server);
    await signIn(later, { ...who, emails: [] });
    assert.equal((await later.call("GET", "/api/me")).body.user.email, email);
  });

  test("asks GitHub with state, PKCE and our own address", async () => {
    const query = new URL(await start(createBrowser(server))).searchParams;
    assert.equal(query.get("redirect_uri"), `${server.url}/api/auth/github/finish`);
    assert.equal(query.get("code_challenge_method"), "S256");
    assert.match(query.get("code_challenge") ?? "", /^[\w-]{43}$/);
    assert.match(query.get("state") ?? "", /^[\w-]{43}$/);
  });

  test("lets nobody in whom nobody knows", async () => {
    const { email } = await addPerson(server, "viewer");
    for (const who of [
      person("stranger@example.com"),
      person(email, false),
      person("\u212aate@example.com"),
    ]) {
      const refused = await signIn(createBrowser(server), who);
      assert.deepEqual([refused.status, refused.body.error.code], [403, "forbidden"]);
    }
  });

  test("makes an account for someone who is invited", async () => {
    const email = "invited@example.com";
    const invited = await server.call("POST", "/api/invitations", {
      as: server.credentials.user_token,
      body: { email, role: "developer" },
    });
    assert.equal(invited.status, 201);
    const browser = createBrowser(server);
    assert.equal((await signIn(browser, person(email))).status, 303);
    const { body } = await browser.call("GET", "/api/me");
    assert.deepEqual([body.user.email, body.user.name, body.organizations], [email, "Ada", []]);
  });

  test("comes back only to the browser that left, with the state it left with", async () => {
    const { email } = await addPerson(server, "viewer");
    const [browser, another] = [createBrowser(server), createBrowser(server)];
    const back = github.agree(await start(browser), person(email));
    assert.equal((await another.call("GET", back)).status, 401);
    await start(another);
    assert.equal((await another.call("GET", back)).status, 401);
    assert.equal((await browser.call("GET", `${back}x`)).status, 401);
    const denied = await browser.call("GET", "/api/auth/github/finish?error=access_denied&state=x");
    assert.match(denied.body.error.message, /GitHub ended the sign-in/);
    assert.equal((await browser.call("GET", back)).status, 303);
    assert.equal((await browser.call("GET", back)).status, 401, "a second time");
  });

  test("says so when GitHub refuses the code or does not answer", async () => {
    const browser = createBrowser(server);
    const state = new URL(await start(browser)).searchParams.get("state") ?? "";
    const wrong = await browser.call("GET", `/api/auth/github/finish?code=wrong&state=${state}`);
    assert.equal(wrong.status, 401);
    const silent = await startApiServer({
      config: {
        github: { url: "http://127.0.0.1:1", apiUrl: "http://127.0.0.1:1", clientId: "a", clientSecret: "b" },
      },
    });
    try {
      const other = createBrowser(silent);
      const started = await other.call("GET", "/api/auth/github/start");
      const sent = new URL(started.headers.get("location") ?? "").searchParams.get("state") ?? "";
      const answer = await other.call("GET", `/api/auth/github/finish?code=a&state=${sent}`);
      assert.deepEqual([answer.status, answer.body.error.code], [503, "unavailable"]);
    } finally {
      await silent.stop();
    }
  });
});
