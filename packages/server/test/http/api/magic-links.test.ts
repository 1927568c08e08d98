import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createBrowser, type Browser } from "../../support/browser.ts";
import { addPerson, addUser } from "../../support/tenancy.ts";
import { createTestClock, type TestClock } from "../../support/test-clock.ts";
import { until } from "../../support/until.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

let server: ApiServer;
let clock: TestClock;
before(async () => {
  clock = createTestClock();
  server = await startApiServer({ clock: clock.now });
});
after(() => server.stop());

/** Asks for a link and gives the path that the mail leads to. */
async function askForLink(browser: Browser, email: string, extra: object = {}): Promise<string> {
  const before = server.mails.length;
  const asked = await browser.call("POST", "/api/auth/magic-link/start", { body: { email, ...extra } });
  assert.equal(asked.status, 202, asked.text);
  const mail = server.mails[before] ?? "";
  return /https?:\/\/[^/]+(\S+)/.exec(mail)?.[1] ?? "";
}

async function signIn(email: string): Promise<Browser> {
  const browser = createBrowser(server);
  const opened = await browser.call("GET", await askForLink(browser, email));
  assert.equal(opened.status, 303, opened.text);
  return browser;
}

describe("magic links", () => {
  test("a link signs in once, in the browser that asked, and leads on", async () => {
    const { email } = await addPerson(server, "developer");
    const [browser, another] = [createBrowser(server), createBrowser(server)];
    const link = await askForLink(browser, email.toUpperCase(), { return_to: "/device?user_code=X" });
    assert.match(server.mails.at(-1) ?? "", new RegExp(`^\\s*Mail to ${email}:`));
    const elsewhere = await another.call("GET", link);
    assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [401, "unauthenticated"]);
    assert.match(elsewhere.body.error.message, /browser in which you asked/);
    const opened = await browser.call("GET", link);
    assert.equal(opened.status, 303, opened.text);
    assert.equal(opened.headers.get("location"), "/device?user_code=X");
    const [session = ""] = opened.headers.getSetCookie();
    assert.match(session, /^keelson_session=kl_usr_\w+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/);
    assert.equal((await browser.call("GET", "/api/me")).body.user.email, email);
    const again = createBrowser(server);
    for (const who of [browser, again]) assert.equal((await who.call("GET", link)).status, 401);
  });

  test("of links that one browser asked for, each is good", async () => {
    const { email } = await addPerson(server, null);
    const browser = createBrowser(server);
    const [first, second] = [await askForLink(browser, email), await askForLink(browser, email)];
    assert.equal((await browser.call("GET", first)).status, 303);
    assert.equal((await browser.call("GET", second)).status, 303);
  });

  test("a link is of no use after 15 minutes", async () => {
    const { email } = await addPerson(server, null);
    const browser = createBrowser(server);
    const link = await askForLink(browser, email);
    clock.advance(15 * MINUTE_MS);
    assert.equal((await browser.call("GET", link)).status, 401);
  });

  test("two who open one link at once get one session", async () => {
    const { email } = await addPerson(server, null);
    const browser = createBrowser(server);
    const link = await askForLink(browser, email);
    const answers = await Promise.all([1, 2, 3, 4].map(() => browser.call("GET", link)));
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [303, 401, 401, 401],
    );
  });

  test("an unknown address gets the same answer, and no mail", async () => {
    const { email } = await addPerson(server, null);
    const ask = (address: string) =>
      server.call("POST", "/api/auth/magic-link/start", { as: null, body: { email: address } });
    const known = await ask(email);
    const before = server.mails.length;
    const unknown = await ask("nobody@example.com");
    assert.equal(server.mails.length, before);
    assert.deepEqual([unknown.status, Object.keys(unknown.body)], [known.status, Object.keys(known.body)]);
    assert.deepEqual(
      [...unknown.headers.keys()].sort(),
      [...known.headers.keys()].sort(),
      "headers tell them apart",
    );
  });

  test("an address is not mailed without end", async () => {
    const { email } = await addPerson(server, null);
    const before = server.mails.length;
    for (let i = 0; i < 14; i += 1)
      await server.call("POST", "/api/auth/magic-link/start", { as: null, body: { email } });
    assert.ok(server.mails.length - before <= 7, `${server.mails.length - before} mails`);
  });

  test("without a browser the nonce goes along, and the session comes as a token", async () => {
    const { email } = await addPerson(server, "viewer");
    const before = server.mails.length;
    const { body } = await server.call("POST", "/api/auth/magic-link/start", { as: null, body: { email } });
    const token = /token=(\S+)/.exec(server.mails[before] ?? "")?.[1];
    const finish = (nonce: string) =>
      server.call("POST", "/api/auth/magic-link/finish", { as: null, body: { token, nonce } });
    assert.equal((await finish("wrong")).status, 401);
    const finished = await finish(body.nonce);
    assert.equal(finished.status, 200, finished.text);
    assert.deepEqual(finished.headers.getSetCookie(), []);
    assert.equal((await server.call("GET", "/api/me", { as: finished.body.token })).body.user.email, email);
  });

  test("only addresses and paths of ours are taken", async () => {
    for (const body of [
      { email: "not an address" },
      { email: "kelvin@\u212aelvin.example" },
      { email: "a@b.example\r\nBcc: c@d.example" },
      { email: "a@b.example", return_to: "//elsewhere.example" },
      { email: "a@b.example", return_to: "/\\elsewhere.example" },
    ])
      assert.equal((await server.call("POST", "/api/auth/magic-link/start", { as: null, body })).status, 400);
  });
});

describe("a session", () => {
  test("by cookie changes things only from a page of the server, with its token", async () => {
    const { email } = await addPerson(server, "admin");
    const browser = await signIn(email);
    const me = await browser.call("GET", "/api/me");
    const token = me.body.csrf_token as string;
    const create = (headers: Record<string, string>) =>
      browser.call("POST", "/api/projects", { body: { name: `By cookie ${Math.random()}` }, headers });
    const own = { "x-csrf-token": token };
    assert.equal((await create(own)).status, 201);
    const other = await signIn(email);
    const othersToken = (await other.call("GET", "/api/me")).body.csrf_token as string;
    for (const headers of [
      {},
      { "x-csrf-token": "" },
      { "x-csrf-token": othersToken },
      { ...own, origin: "https://elsewhere.example" },
      { ...own, origin: "null" },
      { ...own, "sec-fetch-site": "same-site" },
      { ...own, "sec-fetch-site": "cross-site" },
    ]) {
      const refused = await create(headers);
      assert.deepEqual([refused.status, refused.body.error.code], [403, "csrf_rejected"]);
    }
    // A bearer credential is not sent by a browser on its own, and wins.
    const { token: bearer } = await addPerson(server, "viewer");
    assert.equal((await create({ authorization: `Bearer ${bearer}` })).body.error.code, "forbidden");
    assert.equal((await create({ authorization: "Bearer nonsense" })).status, 401);
  });

  test("by cookie is not taken by the Developer API", async () => {
    const { email } = await addPerson(server, "admin");
    const browser = await signIn(email);
    assert.equal((await browser.call("GET", "/v1/runs")).status, 401);
  });

  test("ends when its user signs out", async () => {
    const { email } = await addPerson(server, "admin");
    const browser = await signIn(email);
    const csrf = (await browser.call("GET", "/api/me")).body.csrf_token as string;
    const session = browser.cookies.get("keelson_session") as string;
    const left = await browser.call("POST", "/api/auth/logout", { headers: { "x-csrf-token": csrf } });
    assert.equal(left.status, 204, left.text);
    assert.equal(browser.cookies.has("keelson_session"), false);
    clock.advance(1_001);
    assert.equal((await server.call("GET", "/api/me", { as: session })).status, 401);
  });

  test("lasts 30 days after its last use", { timeout: 60_000 }, async () => {
    const expiresAt = new Date(clock.now() + 30 * DAY_MS);
    const [used, unused] = [
      await addUser(server, "viewer", { expiresAt }),
      await addUser(server, "viewer", { expiresAt }),
    ];
    const ends = async (): Promise<number> => {
      const rows = await server.db.query<{ count: number }>({
        name: "",
        text: "SELECT count(*) FROM user_sessions WHERE expires_at > $1",
        values: [new Date(expiresAt.getTime() + 1_000)],
      });
      return rows[0]?.count as number;
    };
    clock.advance(20 * DAY_MS);
    const before = await ends();
    assert.equal((await server.call("GET", "/api/me", { as: used })).status, 200);
    await until("the loop that writes it to have come by", 60_000, async () => (await ends()) !== before);
    clock.advance(15 * DAY_MS);
    assert.equal((await server.call("GET", "/api/me", { as: used })).status, 200);
    assert.equal((await server.call("GET", "/api/me", { as: unused })).status, 401);
  });
});

test("on https cookies are for this host and https alone", async () => {
  const secure = await startApiServer({ config: { publicUrl: "https://keelson.example.com" } });
  try {
    const started = await secure.call("POST", "/api/auth/magic-link/start", {
      as: null,
      body: { email: "owner@localhost" },
    });
    const [cookie = ""] = started.headers.getSetCookie();
    assert.match(cookie, /^__Host-keelson_magic_link=\S+; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/);
    const mail = secure.mails.at(-1) ?? "";
    assert.match(mail, /https:\/\/keelson\.example\.com\/api\/auth\/magic-link\/finish\?token=/);
    const session = secure.credentials.user_token;
    const send = (name: string, origin: string) =>
      secure.call("POST", "/api/auth/logout", {
        as: null,
        headers: { cookie: `${name}=${session}`, origin, "x-csrf-token": "wrong" },
      });
    assert.equal((await send("keelson_session", "https://keelson.example.com")).status, 401);
    assert.equal((await send("__Host-keelson_session", "https://keelson.example.com")).status, 403);
  } finally {
    await secure.stop();
  }
});
