// What `keelson up` writes where: credentials on a terminal alone, since a service's output is kept in a journal.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { spawn as spawnOnTerminal } from "@lydell/node-pty";
import { createTestDatabase } from "../../server/test/support/database.ts";
import { makeTestFolder, removeTestFolder } from "../../server/test/support/test-folder.ts";
import { bareEnvironment } from "../../server/test/support/bare-environment.ts";
import { programArguments } from "../../server/test/support/programs.ts";
import { until } from "../../server/test/support/until.ts";

const ARGUMENTS = [...programArguments("cli/src/main.ts"), "up"];
const CREDENTIAL = /kl_[a-z]+_\w+|[#?]token=/;
const READY = /Ctrl-C stops everything|"deployment_version"/;

/** Without examples: the working directory is empty. */
async function placeOf(t: TestContext) {
  const [folder, database] = [await makeTestFolder(), await createTestDatabase()];
  t.after(async () => {
    await database.drop();
    await removeTestFolder(folder);
  });
  const dataDir = join(folder, "data");
  const env = { ...bareEnvironment(), DATABASE_URL: database.url, KEELSON_DATA_DIR: dataDir, PORT: "0" };
  return { folder, dataDir, env };
}

/** Runs it as systemd does, with its output in a file, while `use` is under way; gives all that it wrote. */
async function runAsService(
  { folder, env }: Awaited<ReturnType<typeof placeOf>>,
  extra: readonly string[],
  use: (output: string) => Promise<void>,
): Promise<string> {
  const path = join(folder, "journal");
  await using journal = await open(path, "a");
  const child = spawn(process.execPath, [...ARGUMENTS, ...extra], {
    cwd: folder,
    env,
    stdio: ["ignore", journal.fd, journal.fd],
  });
  const closed = once(child, "close");
  try {
    let output = "";
    await until("everything to run", 60_000, async () => {
      assert.equal(child.exitCode, null, output);
      output = await readFile(path, "utf8");
      return READY.test(output);
    });
    await use(output);
  } finally {
    child.kill("SIGTERM");
    await closed;
  }
  return await readFile(path, "utf8");
}

const urlOf = (output: string): string =>
  /is running at (\S+)|"url":"([^"]+)"/.exec(output)?.slice(1).find(Boolean) ?? "";

/** What only its owner can read. */
async function readPrivate(file: string): Promise<string> {
  assert.equal((await stat(file)).mode & 0o777, 0o600, file);
  return readFile(file, "utf8");
}

test(
  "a service's output has no credential, and says which files have them",
  { timeout: 90_000 },
  async (t) => {
    const place = await placeOf(t);
    const { dataDir } = place;
    const output = await runAsService(place, [], async (shown) => {
      const url = urlOf(shown);
      const link = (await readPrivate(join(dataDir, "login-link"))).trim();
      assert.ok(link.startsWith(`${url}/#token=kl_usr_`), link);
      const { api_key: key, user_token: user } = JSON.parse(
        await readPrivate(join(dataDir, "credentials.json")),
      );
      assert.equal(
        (await fetch(`${url}/v1/runs`, { headers: { authorization: `Bearer ${key}` } })).status,
        200,
      );
      const post = (path: string, body: object): Promise<Response> =>
        fetch(url + path, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${user}` },
          body: JSON.stringify(body),
        });
      assert.equal((await post("/api/auth/magic-link/start", { email: "owner@localhost" })).status, 202);
      assert.equal(
        (await post("/api/invitations", { email: "ada@example.com", role: "viewer" })).status,
        201,
      );
    });
    const mails = await readdir(join(dataDir, "mail"));
    const texts = await Promise.all(mails.map((name) => readPrivate(join(dataDir, "mail", name))));
    assert.equal((await stat(join(dataDir, "mail"))).mode & 0o777, 0o700);
    assert.deepEqual(
      ["kl_lnk_", "kl_inv_"].map((kind) => texts.filter((text) => text.includes(kind)).length),
      [1, 1],
    );
    assert.doesNotMatch(output, CREDENTIAL);
    for (const file of ["login-link", "credentials.json", ...mails.map((name) => join("mail", name))])
      assert.ok(output.includes(join(dataDir, file)), `${file} is not named:\n${output}`);
  },
);

test("JSON for a program names the files, too", { timeout: 90_000 }, async (t) => {
  const place = await placeOf(t);
  const output = await runAsService(place, ["--json"], async (shown) => {
    // The server writes warnings to the same file, as JSON too.
    const line = shown.split("\n").find((text) => text.includes('"deployment_version"')) as string;
    assert.deepEqual(JSON.parse(line), {
      url: urlOf(shown),
      login_url: null,
      login_link_file: join(place.dataDir, "login-link"),
      credentials_file: join(place.dataDir, "credentials.json"),
      deployment_version: null,
    });
  });
  assert.doesNotMatch(output, CREDENTIAL);
});

test("a person at a terminal is shown the login link and the mails", { timeout: 90_000 }, async (t) => {
  const { folder, env } = await placeOf(t);
  const terminal = spawnOnTerminal(process.execPath, ARGUMENTS, {
    cols: 400,
    rows: 50,
    cwd: folder,
    env: { ...env, TERM: "xterm", NO_COLOR: "1" },
  });
  const exited = new Promise<void>((done) => void terminal.onExit(() => done()));
  let screen = "";
  const waiting = new Set<() => void>();
  terminal.onData((part) => {
    screen += part;
    for (const look of waiting) look();
  });
  const shows = (pattern: RegExp): Promise<void> =>
    new Promise((done, fail) => {
      const look = (): void => {
        if (pattern.test(screen)) done();
      };
      void exited.then(() => fail(new Error(screen)));
      waiting.add(look);
      look();
    });
  try {
    await shows(READY);
    assert.match(screen, /Sign in: +http:\S+\/#token=kl_usr_\w+&project_id=proj_\w+/);
    const started = await fetch(`${urlOf(screen)}/api/auth/magic-link/start`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "owner@localhost" }),
    });
    assert.equal(started.status, 202);
    await shows(/Mail to owner@localhost[^]*magic-link\/finish\?token=kl_lnk_\w+/);
    const names = await readdir(join(folder, "data"));
    assert.ok(!names.includes("login-link") && !names.includes("mail"), names.join(" "));
  } finally {
    terminal.kill("SIGTERM");
    await exited;
  }
});
