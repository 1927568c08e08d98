import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startApiServer, type Answer, type ApiServer } from "../../support/api-server.ts";
import { createBrowser } from "../../support/browser.ts";
import { startMailbox, type Mailbox } from "../../support/mailbox.ts";
import { addPerson } from "../../support/tenancy.ts";
import { createTestClock, type TestClock } from "../../support/test-clock.ts";

const DAY_MS = 86_400_000;

describe("invitations", () => {
  let server: ApiServer;
  let mailbox: Mailbox;
  let clock: TestClock;
  before(async () => {
    mailbox = await startMailbox();
    clock = createTestClock();
    server = await startApiServer({ clock: clock.now, config: { smtpUrl: mailbox.url } });
  });
  after(async () => {
    await server.stop();
    await mailbox.stop();
  });

  const owner = (method: string, path: string, body?: unknown): Promise<Answer> =>
    server.call(method, path, {
      as: server.credentials.user_token,
      ...(body === undefined ? {} : { body }),
    });
  const invite = async (email: string, role = "developer") => {
    const invited = await owner("POST", "/api/invitations", { email, role });
    assert.equal(invited.status, 201, invited.text);
    const mail = await mailbox.next(email);
    const token = /invitation#token=(kl_inv_\w+)/.exec(mail)?.[1] as string;
    assert.ok(!invited.text.includes(token), "whoever invites sees no token");
    return { invitation: invited.body, token, mail };
  };
  const accept = (token: string, as: string | null, extra: object = {}): Promise<Answer> =>
    server.call("POST", "/api/invitations/accept", { as, body: { token, ...extra } });

  test("someone new gets a mail, an account, a session and a role", async () => {
    const { invitation, token, mail } = await invite("ada@example.com", "viewer");
    assert.match(mail, /^From: Keelson <keelson@example\.com>/m);
    assert.match(mail, /You are invited to join Default\./);
    assert.deepEqual([invitation.status, invitation.role], ["open", "viewer"]);
    const accepted = await accept(token, null);
    assert.equal(accepted.status, 200, accepted.text);
    const { user, organization, token: session } = accepted.body;
    assert.deepEqual([user.email, organization.role], ["ada@example.com", "viewer"]);
    assert.equal((await server.call("GET", "/api/projects", { as: session })).status, 200);
    const refused = await server.call("POST", "/api/projects", { as: session, body: { name: "No" } });
    assert.deepEqual([refused.status, refused.body.error.details.permission], [403, "projects.write"]);
    const item = await owner("GET", `/api/invitations/${invitation.id}`);
    assert.deepEqual([item.body.status, item.body.accepted_at !== null], ["accepted", true]);
    assert.deepEqual((await accept(token, null)).body.error.code, "invalid_state");
    assert.equal((await owner("DELETE", `/api/invitations/${invitation.id}`)).status, 409);
    const again = await owner("POST", "/api/invitations", { email: "ADA@example.com", role: "viewer" });
    assert.deepEqual([again.status, again.body.error.code], [409, "already_exists"]);
  });

  test("a page takes the session as a cookie", async () => {
    const { token } = await invite("cookie@example.com");
    const browser = createBrowser(server);
    const body = { token, session: "cookie" };
    const accepted = await browser.call("POST", "/api/invitations/accept", { body });
    assert.deepEqual([accepted.status, accepted.body.token], [200, null]);
    assert.equal((await browser.call("GET", "/api/me")).body.user.email, "cookie@example.com");
  });

  test("whoever has an account signs in to it first, by the invited address", async () => {
    const known = await addPerson(server, null);
    const other = await addPerson(server, null);
    const { token } = await invite(known.email);
    const code = async (as: string | null) => (await accept(token, as)).body.error?.code;
    assert.equal(await code(null), "unauthenticated");
    assert.equal(await code(other.token), "forbidden");
    assert.equal(await code("kl_usr_wrong"), "unauthenticated");
    const accepted = await accept(token, known.token);
    assert.deepEqual([accepted.status, accepted.body.token], [200, null]);
    assert.equal((await server.call("GET", "/api/projects", { as: known.token })).status, 200);
  });

  test("an invited address may also sign in by a link first", async () => {
    const { token } = await invite("linked@example.com");
    const browser = createBrowser(server);
    const body = { email: "linked@example.com" };
    await browser.call("POST", "/api/auth/magic-link/start", { body });
    const mail = await mailbox.next("linked@example.com");
    const link = /https?:\/\/[^/]+(\/api\S+)/.exec(mail)?.[1] ?? "";
    assert.equal((await browser.call("GET", link)).status, 303);
    const me = await browser.call("GET", "/api/me");
    assert.deepEqual(me.body.organizations, []);
    const headers = { "x-csrf-token": me.body.csrf_token as string };
    const accepted = await browser.call("POST", "/api/invitations/accept", { body: { token }, headers });
    assert.equal(accepted.status, 200, accepted.text);
  });

  test("a new invitation of an address replaces the one before", async () => {
    const first = await invite("twice@example.com");
    const second = await invite("TWICE@example.com", "admin");
    assert.equal((await accept(first.token, null)).body.error.code, "invalid_state");
    assert.equal((await accept(second.token, null)).body.organization.role, "admin");
  });

  test("a revoked one and one older than seven days are of no use", async () => {
    const revoked = await invite("revoked@example.com");
    assert.equal((await owner("DELETE", `/api/invitations/${revoked.invitation.id}`)).status, 204);
    assert.equal((await owner("DELETE", `/api/invitations/${revoked.invitation.id}`)).status, 204);
    const late = await invite("late@example.com");
    clock.advance(7 * DAY_MS);
    for (const { token } of [revoked, late])
      assert.equal((await accept(token, null)).body.error.code, "invalid_state");
    const item = await owner("GET", `/api/invitations/${late.invitation.id}`);
    assert.equal(item.body.status, "expired");
  });

  test("accepting and revoking at once, one of them happens", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { token, invitation } = await invite(`race-${round}@example.com`);
      const [accepted, revoked] = await Promise.all([
        accept(token, null),
        owner("DELETE", `/api/invitations/${invitation.id}`),
      ]);
      assert.equal(accepted.status === 200 ? revoked.status : accepted.status, 409);
      assert.ok(accepted.status === 200 || revoked.status === 204);
    }
  });

  test("no credential of these is in the database", async () => {
    const { token } = await invite("stored@example.com");
    const rows = await server.db.query<{ row: string }>({
      name: "",
      text: "SELECT i::text AS row FROM invitations i UNION ALL SELECT s::text FROM user_sessions s UNION ALL SELECT l::text FROM magic_links l",
      values: [],
    });
    assert.ok(rows.length > 5);
    for (const { row } of rows) assert.doesNotMatch(row, /kl_(inv|usr|lnk)_/);
    assert.ok(!rows.some(({ row }) => row.includes(token)));
  });
});
