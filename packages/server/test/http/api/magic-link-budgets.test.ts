// Strangers ask for links in somebody's name: neither a mailbox is filled nor a person kept out.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApiServer, type ApiServer } from "../../support/api-server.ts";
import { createBrowser, type Browser } from "../../support/browser.ts";
import { addPerson } from "../../support/tenancy.ts";

const MINUTE_MS = 60_000;

let server: ApiServer;
/** Stands still but when a test moves it: no window is over in the middle of a test. */
let now = Math.ceil(Date.now() / (15 * MINUTE_MS)) * 15 * MINUTE_MS;
before(async () => {
  server = await startApiServer({ clock: () => now, config: { trustedProxies: ["127.0.0.1"] } });
});
after(() => server.stop());

/** Asks for a link; gives the path that a mail leads to, or null when none was sent. */
async function ask(
  email: string,
  from: string,
  browser: Browser = createBrowser(server),
): Promise<string | null> {
  const before = server.mails.length;
  const asked = await browser.call("POST", "/api/auth/magic-link/start", {
    body: { email },
    headers: { "x-forwarded-for": from },
  });
  assert.equal(asked.status, 202, asked.text);
  assert.deepEqual(Object.keys(asked.body), ["nonce", "expires_at"]);
  return /https?:\/\/[^/]+(\S+)/.exec(server.mails[before] ?? "")?.[1] ?? null;
}

const mailsOf = (links: readonly (string | null)[]): number => links.filter((link) => link !== null).length;

async function askOften(email: string, count: number, fromOf: (n: number) => string): Promise<number> {
  const links: (string | null)[] = [];
  for (let n = 0; n < count; n += 1) links.push(await ask(email, fromOf(n)));
  return mailsOf(links);
}

test("a stranger who asks 100 times keeps nobody from signing in elsewhere", async () => {
  const { email } = await addPerson(server, "developer");
  const browser = createBrowser(server);
  const early = (await ask(email, "198.51.100.7", browser)) as string;
  // Five, and one when the first minute's late one is due.
  assert.equal(await askOften(email, 100, () => "203.0.113.7"), 6);
  for (const link of [early, (await ask(email, "198.51.100.7", browser)) as string])
    assert.equal((await browser.call("GET", link)).status, 303);
});

test("a person behind the stranger's address gets a link once the stranger pauses for a minute", async () => {
  const { email } = await addPerson(server, "developer");
  await askOften(email, 20, () => "203.0.113.8");
  const browser = createBrowser(server);
  assert.equal(await ask(email, "203.0.113.8", browser), null);
  now += MINUTE_MS;
  const link = (await ask(email, "203.0.113.8", browser)) as string;
  assert.equal((await browser.call("GET", link)).status, 303);
});

test("a mailbox is not filled from many addresses, and the person's own browser gets its link all the same", async () => {
  const { email } = await addPerson(server, "developer");
  const { email: another } = await addPerson(server, "developer");
  const own = createBrowser(server);
  const first = (await ask(email, "198.51.100.9", own)) as string;
  const opened = await own.call("GET", first);
  assert.match(
    opened.headers.getSetCookie()[1] ?? "",
    /^keelson_browser=[^;]+; Path=\/; .*HttpOnly; SameSite=Lax$/,
  );
  now += 15 * MINUTE_MS;
  assert.equal(await askOften(email, 200, (n) => `203.0.113.${n}`), 21);
  assert.equal(await ask(email, "198.51.100.10"), null, "the budget of strangers is not used up");
  const link = (await ask(email, "198.51.100.11", own)) as string;
  assert.equal((await own.call("GET", link)).status, 303);
  // A browser is known for its own person only, and until the next sign-in not without limit.
  assert.equal(await askOften(another, 100, (n) => `203.0.113.${n}`), 21);
  assert.equal(await ask(another, "198.51.100.11", own), null);
  const more = [];
  for (let n = 0; n < 10; n += 1) more.push(await ask(email, "203.0.113.5", own));
  assert.equal(mailsOf(more), 5);
});

test("a browser that makes up its cookie is not known", async () => {
  const { email } = await addPerson(server, "developer");
  await askOften(email, 100, (n) => `203.0.113.${n}`);
  for (const cookie of ["x", "x.y", `${"A".repeat(22)}.${"B".repeat(43)}`]) {
    const before = server.mails.length;
    const asked = await server.call("POST", "/api/auth/magic-link/start", {
      as: null,
      body: { email },
      headers: { "x-forwarded-for": "198.51.100.12", cookie: `keelson_browser=${cookie}` },
    });
    assert.deepEqual([asked.status, server.mails.length], [202, before]);
  }
});

test("requests that send no mail leave no rows, for people and for nobody alike", async () => {
  const { email } = await addPerson(server, "developer");
  const rowsOf = async (address: string): Promise<number> => {
    const [row] = await server.db.query<{ count: number }>({
      name: "",
      text: "SELECT count(*) FROM magic_links WHERE email = $1",
      values: [address],
    });
    return row?.count as number;
  };
  for (const address of [email, "nobody-at-all@example.com"]) {
    await askOften(address, 100, (n) => `203.0.113.${n}`);
    assert.equal(await rowsOf(address), 21, address);
  }
});
