// The path of two people from nothing, with processes, mails and a database as they are: nothing is given to them but
// what a terminal prints and a mailbox receives.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import type { Answer } from "../../server/test/support/api-server.ts";
import { createBrowser, type Browser } from "../../server/test/support/browser.ts";
import { createTestDatabase, type TestDatabase } from "../../server/test/support/database.ts";
import { startMailbox, type Mailbox } from "../../server/test/support/mailbox.ts";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";
import { until } from "../../server/test/support/until.ts";
import { describeProcess, type SpawnedProcess } from "../../server/test/crash/support/spawned-process.ts";
import { spawnKeelson, type Outcome } from "./support.ts";

let folder: string;
let database: TestDatabase;
let mailbox: Mailbox;
let server: SpawnedProcess | undefined;
let url: string;
before(async () => {
  folder = await makeTestFolder();
  database = await createTestDatabase();
  mailbox = await startMailbox();
});
after(async () => {
  await server?.end();
  await mailbox?.stop();
  await database?.drop();
  await removeTestFolder(folder);
});

async function startServer(env: Record<string, string>): Promise<void> {
  server = describeProcess({
    name: "the server",
    main: "server/src/main.ts",
    readyWhen: /listening on http:\S+\n/,
    env: {
      DATABASE_URL: database.url,
      HOST: "127.0.0.1",
      KEELSON_DATA_DIR: path.join(folder, "data"),
      ...env,
    },
  });
  await server.start();
  url = /listening on (http:\S+)/.exec(server.output())?.[1] as string;
}

/** A browser of somebody: cookies, and what it sends by itself. */
const openBrowser = (): Browser =>
  createBrowser({
    url,
    call: async (method, address, { body, headers = {} } = {}): Promise<Answer> => {
      const response = await fetch(url + address, {
        method,
        redirect: "manual",
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson ? JSON.parse(text) : text,
      };
    },
  });

/** Of somebody's processes; what was compiled for one is there for all. */
const environmentOf = (name: string): Record<string, string> => ({
  HOME: path.join(folder, name),
  XDG_CACHE_HOME: path.join(folder, "cache"),
});

/** `keelson` in the terminal of somebody. */
const terminalOf =
  (name: string) =>
  (...args: string[]): Promise<Outcome> =>
    spawnKeelson(args, { cwd: folder, env: environmentOf(name) });

/** Signs a terminal in: the code it shows is approved in the browser. */
async function logIn(name: string, browser: Browser): Promise<Outcome> {
  const { body: me } = await browser.call("GET", "/api/me");
  let approval: Promise<Answer> | undefined;
  const outcome = await spawnKeelson(["login", url, "--no-browser"], {
    cwd: folder,
    env: environmentOf(name),
    onSpawn: (child) => {
      let shown = "";
      child.stderr?.on("data", (bytes: Buffer) => {
        shown += bytes.toString();
        const user_code = /[A-Z]{4}-[A-Z]{4}/.exec(shown)?.[0];
        if (user_code === undefined) return;
        approval ??= browser.call("POST", "/api/auth/device/approve", {
          body: { user_code },
          headers: { "x-csrf-token": me.csrf_token as string },
        });
      });
    },
  });
  assert.equal((await approval)?.status, 200, outcome.stderr);
  return outcome;
}

test("the owner signs in by the kept link and invites somebody, who may do what their role allows", async () => {
  await startServer({ PORT: "0" });
  const owners = openBrowser();
  const asked = await owners.call("POST", "/api/auth/magic-link/start", {
    body: { email: "owner@localhost" },
  });
  assert.equal(asked.status, 202, asked.text);
  const mail = await readFile(await heard(/"file":"([^"]+)","msg":"mail kept/), "utf8");
  const link =
    /Mail to owner@localhost[^]*?https?:\/\/[^/\s]+(\/api\/auth\/magic-link\/finish\S+)\s/.exec(mail)?.[1] ??
    "";
  assert.equal((await owners.call("GET", link)).status, 303);

  // With a mail server from here on.
  await server?.end();
  await startServer({ PORT: new URL(url).port, SMTP_URL: mailbox.url });
  const owner = terminalOf("owner");
  assert.equal((await logIn("owner", owners)).stdout, `Signed in to ${url} as owner@localhost\n`);
  assert.match((await owner("project", "create", "Reports")).stdout, /^proj_\w+ reports\n$/);
  const place = ["--project", "reports", "--environment", "production"];
  const key = (await owner("key", "create", "CI", ...place)).stdout.trim();
  const tasks = await spawnKeelson(["task", "list", "--json"], {
    cwd: folder,
    env: { ...environmentOf("ci"), KEELSON_URL: url, KEELSON_API_KEY: key },
  });
  assert.equal(tasks.code, 0, tasks.stderr);
  assert.equal((await owner("invitation", "create", "ada@example.com", "--role", "viewer")).code, 0);

  const invited = await mailbox.next("ada@example.com");
  const token = /invitation#token=(\S+)/.exec(invited)?.[1];
  const adas = openBrowser();
  const accepted = await adas.call("POST", "/api/invitations/accept", { body: { token, session: "cookie" } });
  assert.equal(accepted.status, 200, accepted.text);
  assert.equal((await logIn("ada", adas)).stdout, `Signed in to ${url} as ada@example.com\n`);
  const ada = terminalOf("ada");
  assert.match((await ada("project", "list")).stdout, /reports/);
  assert.match((await ada("member", "list")).stdout, /ada@example\.com\s+.*viewer/);
  for (const [permission, ...command] of [
    ["projects.write", "project", "create", "Mine"],
    ["api_keys.write", "key", "create", "Mine", ...place],
    ["members.write", "invitation", "create", "eve@example.com"],
  ] as const) {
    const refused = await ada(...command);
    assert.deepEqual([refused.code, refused.stdout], [3, ""], refused.stderr);
    assert.ok(refused.stderr.includes(`lacks the permission ${permission}`), refused.stderr);
  }
});

/** What the server prints, once it has. */
async function heard(what: RegExp): Promise<string> {
  const find = (): string | undefined => what.exec(server?.output() ?? "")?.[1];
  await until(`${what} to be printed`, 60_000, async () => {
    if (find() === undefined) throw new Error(`This was printed:\n${server?.output()}`);
    return true;
  });
  return find() as string;
}
