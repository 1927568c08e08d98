// A person who is only signed in: no API key is anywhere, and every command works in the environment that they chose.

import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { after, before, suite, test } from "node:test";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { keepLogin } from "../src/user-credentials.ts";
import { checkDeployments } from "./check-deployments.ts";
import { createFolder, keelson, type Outcome } from "./support.ts";

const modules = resolve(import.meta.dirname, "../../../node_modules");

suite("a person who is signed in", () => {
  let scene: RunScene;
  let home: Awaited<ReturnType<typeof createFolder>>;
  const stop = new AbortController();
  let checking: Promise<void>;
  before(async () => {
    scene = await startRunScene({ tasks: [] });
    checking = checkDeployments(scene, stop.signal);
    home = await createFolder();
    keepLogin({ HOME: home.path }, scene.server.url, {
      token: scene.server.credentials.user_token,
      email: "owner@localhost",
    });
    await symlink(modules, join(home.path, "node_modules"));
    await mkdir(join(home.path, "src/tasks"), { recursive: true });
    await writeTask("report");
  });
  after(async () => {
    stop.abort();
    await checking;
    await scene.stop();
    await home[Symbol.asyncDispose]();
  });

  const writeTask = (id: string): Promise<void> =>
    writeFile(
      join(home.path, "src/tasks/a.ts"),
      `import { task } from "@keelson/sdk";\nexport const a = task({ id: "${id}", run: () => 1 });\n`,
    );
  const person = (...args: string[]): Promise<Outcome> =>
    keelson(args, { cwd: home.path, env: { HOME: home.path } });
  const says = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await person(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  // What a command wrote is looked into freely.
  // oxlint-disable-next-line typescript/no-explicit-any
  const json = async (...args: string[]): Promise<any> => JSON.parse(await says(...args, "--json"));

  test("is told which environments there are before one is chosen", async () => {
    const { code, stdout, stderr } = await person("run", "list");
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, /production, development/);
    assert.match(stderr, /keelson environment use/);
    const wrong = await person("run", "list", "--environment", "staging");
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /no environment staging.*production, development/);
    assert.match(wrong.stderr, /`keelson environment create staging`\.\n/);
    const noSlug = await person("run", "list", "--project", "Not A Slug");
    assert.equal(noSlug.code, 2);
    assert.match(
      noSlug.stderr,
      /`keelson project create not-a-slug`\. "Not A Slug" is not a slug: use not-a-slug/,
    );
  });

  test("deploys to production, sets a secret, starts a run, replays it, and rolls back", async () => {
    const place = ["--environment", "production"];
    await says("deploy", ...place);
    const first = await json("deployment", "get", "current", ...place);
    assert.deepEqual(
      first.tasks.map(({ id }: { id: string }) => id),
      ["report"],
    );
    assert.deepEqual((await scene.call("GET", "/v1/deployments/current")).body.tasks, [], "not development");

    const { code, stderr } = await keelson(["secret", "set", "MAIL_PASSWORD", ...place], {
      cwd: home.path,
      env: { HOME: home.path },
      input: "hunter2",
    });
    assert.equal(code, 0, stderr);
    assert.equal((await json("secret", "list", ...place)).secrets[0].name, "MAIL_PASSWORD");
    assert.equal((await json("secret", "revoke", "MAIL_PASSWORD", ...place)).status, "revoked");

    assert.match(await says("environment", "use", "production"), /production/);
    const run = (
      await says("task", "start", "report", "--payload", '{"n":9007199254740991}', "--tag", "x")
    ).trim();
    assert.match(run, /^run_/);
    await says("run", "cancel", run);
    const replayed = (await says("run", "replay", run)).trim();
    assert.notEqual(replayed, run);
    assert.partialDeepStrictEqual(await json("run", "get", replayed), {
      task: "report",
      payload: { n: 9007199254740991 },
      tags: ["x"],
    });
    await says("run", "cancel", replayed);

    await writeTask("summary");
    await says("deploy");
    const second = await json("deployment", "get", "current");
    assert.notEqual(second.id, first.id);
    assert.equal(await says("rollback"), `${first.version} is current\n`);
    assert.equal((await json("deployment", "get", "current")).id, first.id);
    assert.equal(await says("promote", second.version), `${second.version} is current\n`);
    assert.equal((await json("deployment", "get", "current")).id, second.id);
    const absent = await person("promote", "20010101.1");
    assert.deepEqual([absent.code, absent.stdout], [4, ""]);
    assert.match(absent.stderr, /no deployment 20010101\.1.*keelson deployment list/);
  });

  test("follows events and streams as with a key", async () => {
    const run = (await says("task", "start", "summary")).trim();
    await says("run", "cancel", run);
    assert.match(await says("run", "events", run, "--follow"), /cancelled/i);
    const session = await json("session", "start", "--task", "summary");
    assert.equal((await json("session", "get", session.session?.id ?? session.id)).task, "summary");
    const workspace = (await json("workspace", "create")).id as string;
    assert.match(await says("workspace", "list"), new RegExp(workspace));
  });

  test("chooses by flag, then setting, then profile, then what `use` kept", async () => {
    await says("environment", "use", "development");
    const where = async (env: Record<string, string>, ...args: string[]): Promise<string> => {
      const { stdout, stderr } = await keelson(["whoami", "--json", ...args], {
        cwd: home.path,
        env: { HOME: home.path, ...env },
      });
      return (JSON.parse(stdout || stderr) as { environment: { slug: string } }).environment.slug;
    };
    assert.equal(await where({}), "development");
    await says("profile", "set", "live", "--environment", "production");
    assert.match(await says("profile", "list"), /live +.*production/);
    assert.equal(await where({}, "--profile", "live"), "production");
    assert.equal(await where({ KEELSON_PROFILE: "live" }), "production");
    assert.equal(await where({ KEELSON_PROFILE: "live", KEELSON_ENVIRONMENT: "development" }), "development");
    assert.equal(
      await where({ KEELSON_ENVIRONMENT: "development" }, "--environment", "production"),
      "production",
    );
    const absent = await person("whoami", "--profile", "gone");
    assert.equal(absent.code, 2);
    assert.match(absent.stderr, /no profile gone.*keelson profile set/);
    await says("profile", "remove", "live");
    assert.doesNotMatch(await says("profile", "list"), /live/);
  });

  test("is shown the key that is given in its place, which is what commands then use", async () => {
    const { url, credentials } = scene.server;
    const env = { HOME: home.path, KEELSON_URL: url, KEELSON_API_KEY: credentials.api_key };
    const { code, stdout, stderr } = await keelson(["whoami"], { cwd: home.path, env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /api key +First start \(key_\w+\)/);
    assert.match(stdout, new RegExp(`environment +${credentials.environment_id}`));
    assert.doesNotMatch(stdout, /owner@localhost/);
    const bogus = credentials.api_key.replace(/.{4}$/, "aaaa");
    const refused = await keelson(["whoami", "--api-key", bogus], { cwd: home.path, env });
    assert.equal(refused.code, 3, refused.stderr);
  });

  test("is told that a key belongs to one environment", async () => {
    const { code, stderr } = await keelson(["run", "list", "--environment", "production"], {
      env: { KEELSON_URL: scene.server.url, KEELSON_API_KEY: scene.server.credentials.api_key },
    });
    assert.equal(code, 2);
    assert.match(stderr, /API key.*belongs to one environment.*--environment/);
  });

  test("who ended their session is told to sign in again", async () => {
    const { code, stderr } = await keelson(["run", "list", "--environment", "production"], {
      env: { KEELSON_URL: scene.server.url, KEELSON_USER_TOKEN: "kl_usr_gone" },
    });
    assert.equal(code, 3);
    assert.match(stderr, /keelson login/);
  });
});
