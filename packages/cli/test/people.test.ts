import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { startApiServer, type ApiServer } from "../../server/test/support/api-server.ts";
import { createFolder, keelson, type Outcome } from "./support.ts";

suite("people and keys on the command line", () => {
  let server: ApiServer;
  let folder: Awaited<ReturnType<typeof createFolder>>;
  before(async () => {
    server = await startApiServer();
    folder = await createFolder();
  });
  after(async () => {
    await server.stop();
    await folder[Symbol.asyncDispose]();
  });

  const owner = (...args: string[]): Promise<Outcome> =>
    keelson(args, {
      cwd: folder.path,
      env: {
        KEELSON_URL: server.url,
        KEELSON_USER_TOKEN: server.credentials.user_token,
        HOME: folder.path,
      },
    });
  // What a command wrote is looked into freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  const json = async (...args: string[]): Promise<any> => {
    const { code, stdout, stderr } = await owner(...args, "--json");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  /** Signs in by the device flow: a person approves what the command shows. */
  const logIn = async (home: string, approver: string): Promise<Outcome> => {
    const env = { HOME: home };
    const running = keelson(["login", server.url, "--no-browser"], { cwd: home, env });
    let userCode: string | undefined;
    while (userCode === undefined) {
      const rows = await server.db.query<{ code: string }>({
        name: "",
        text: "SELECT user_code AS code FROM device_authorizations WHERE status = 'pending'",
        values: [],
      });
      userCode = rows[0]?.code;
    }
    const approved = await server.call("POST", "/api/auth/device/approve", {
      as: approver,
      body: { user_code: userCode },
    });
    assert.equal(approved.status, 200, approved.text);
    const outcome = await running;
    assert.ok(outcome.stderr.includes(userCode), "the code is shown");
    return outcome;
  };

  test("a newcomer is invited, signs in by the device flow, and is refused what their role does not allow", async () => {
    const project = await json("project", "create", "Reports");
    assert.equal(project.slug, "reports");
    const invited = await owner("invitation", "create", "ada@example.com", "--role", "viewer");
    assert.equal(invited.code, 0, invited.stderr);
    const link = /https?:\S+invitation#token=\S+/.exec(server.mails.at(-1) ?? "")?.[0] as string;
    await using browserHome = await createFolder();
    const accepted = await keelson(["invitation", "accept", link], {
      cwd: browserHome.path,
      env: { HOME: browserHome.path },
    });
    assert.equal(accepted.stdout, "ada@example.com is viewer of Default\n", accepted.stderr);
    const kept = JSON.parse(
      await readFile(join(browserHome.path, ".config/keelson/credentials.json"), "utf8"),
    ) as { servers: Record<string, { token: string }> };
    const session = kept.servers[server.url]?.token as string;

    await using home = await createFolder();
    const signedIn = await logIn(home.path, session);
    assert.deepEqual(
      [signedIn.code, signedIn.stdout],
      [0, `Signed in to ${server.url} as ada@example.com\n`],
    );
    const file = join(home.path, ".config/keelson/credentials.json");
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const ada = (...args: string[]): Promise<Outcome> =>
      keelson(args, { cwd: home.path, env: { HOME: home.path } });
    const whoami = await ada("whoami", "--json");
    const me = JSON.parse(whoami.stdout) as { user: { email: string }; source: string };
    assert.deepEqual([me.user.email, me.source], ["ada@example.com", "login"]);
    assert.match((await ada("project", "list")).stdout, /reports/);
    const refused = await ada("project", "create", "Mine");
    assert.deepEqual([refused.code, refused.stdout], [3, ""]);
    assert.match(refused.stderr, /lacks the permission projects\.write/);
    const key = await ada("key", "create", "Mine", "--project", "reports", "--environment", "production");
    assert.equal(key.code, 3);

    assert.equal((await ada("logout")).stdout, `Signed out of ${server.url}\n`);
    const gone = await ada("whoami");
    assert.deepEqual([gone.code, gone.stderr.includes("Nobody is signed in")], [2, true]);
    assert.equal((await ada("logout")).code, 0);
  });

  test("keys are made, listed and revoked", async () => {
    const place = ["--project", "default", "--environment", "production"];
    const created = await owner("key", "create", "CI", "--permission", "tasks.read", ...place);
    assert.match(created.stdout, /^kl_key_\w+\n$/, created.stderr);
    const as = created.stdout.trim();
    assert.equal((await server.call("GET", "/v1/tasks", { as })).status, 200);
    const { api_keys: keys } = await json("key", "list", ...place);
    assert.deepEqual([keys[0].name, keys[0].permissions], ["CI", ["tasks.read"]]);
    assert.equal((await owner("key", "revoke", keys[0].id, ...place)).code, 0);
    assert.deepEqual((await json("key", "list", ...place)).api_keys, []);
    assert.equal((await owner("key", "revoke", "key_1", ...place)).code, 4);
    const unsaid = await owner("key", "list", "--project", "default");
    assert.deepEqual([unsaid.code, unsaid.stdout], [2, ""]);
    assert.match(unsaid.stderr, /--environment: production, development/);
  });

  test("environments and projects are made and renamed", async () => {
    await json("project", "create", "Second", "--slug", "second");
    const staging = await json("environment", "create", "Staging", "--project", "second");
    await json("environment", "update", "staging", "--slug", "preview", "--project", "second");
    const { environments } = await json("environment", "list", "--project", "second");
    assert.deepEqual(
      environments.map((one: { id: string; slug: string }) => [one.slug, one.id === staging.id]),
      [
        ["preview", true],
        ["production", false],
        ["development", false],
      ],
    );
    assert.equal((await json("project", "update", "second", "--name", "Third")).name, "Third");
    assert.equal((await owner("project", "create", "Second")).code, 5);
  });

  test("members get roles and leave, the last owner stays", async () => {
    await json("invitation", "create", "bob@example.com");
    const token = /#token=(\S+)/.exec(server.mails.at(-1) ?? "")?.[1];
    await server.call("POST", "/api/invitations/accept", { as: null, body: { token } });
    const updated = await json("member", "update", "Bob@example.com", "--role", "admin");
    assert.equal(updated.role, "admin");
    const { members } = await json("member", "list");
    assert.ok(members.some((one: { email: string }) => one.email === "bob@example.com"));
    assert.equal((await owner("member", "remove", "bob@example.com")).code, 0);
    assert.equal((await owner("member", "remove", "bob@example.com")).code, 4);
    assert.equal((await owner("member", "remove", "owner@localhost")).code, 5);
    const odd = await owner("member", "update", "owner@localhost", "--role", "king");
    assert.deepEqual([odd.code, odd.stdout], [2, ""]);
  });

  test("a session goes to its own server only", async () => {
    await using home = await createFolder();
    const outcome = await keelson(["whoami", "--url", "http://127.0.0.1:1"], {
      cwd: home.path,
      env: { HOME: home.path },
    });
    assert.deepEqual([outcome.code, outcome.stdout], [2, ""]);
    assert.match(outcome.stderr, /Nobody is signed in to http:\/\/127\.0\.0\.1:1/);
  });
});
