// A list that is empty and an id that is wrong: both say which command comes next.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { createFolder, environmentOf, keelson, type Outcome } from "./support.ts";

suite("what comes next", () => {
  let scene: RunScene;
  let home: Awaited<ReturnType<typeof createFolder>>;
  before(async () => {
    scene = await startRunScene({ tasks: [] });
    home = await createFolder();
  });
  after(async () => {
    await scene.stop();
    await home[Symbol.asyncDispose]();
  });

  const withKey = (...args: string[]): Promise<Outcome> =>
    keelson(args, { cwd: home.path, env: { HOME: home.path, ...environmentOf(scene.server) } });
  const asOwner = (...args: string[]): Promise<Outcome> =>
    keelson(args, {
      cwd: home.path,
      env: {
        HOME: home.path,
        KEELSON_URL: scene.server.url,
        KEELSON_USER_TOKEN: scene.server.credentials.user_token,
      },
    });

  test("an empty list says how to get the first item", async () => {
    for (const [noun, command] of [
      ["run", "keelson task start"],
      ["session", "keelson session start --actor"],
      ["schedule", "keelson schedule create --key"],
      ["secret", "keelson secret set"],
      ["token", "keelson token create"],
      ["workspace", "keelson workspace create"],
      ["task", "keelson deploy"],
      ["actor", "keelson deploy"],
      ["profile", "keelson profile set"],
    ] as const) {
      const { code, stdout, stderr } = await withKey(noun, "list");
      assert.deepEqual([code, stdout], [0, ""], stderr);
      assert.match(stderr, new RegExp(`^No ${noun}s [^]*\`${command}`));
    }
    await asOwner("project", "create", "Reports");
    for (const [args, command] of [
      [["key", "list", "--project", "reports", "--environment", "production"], "keelson key create"],
      [["invitation", "list"], "keelson invitation create"],
    ] as const) {
      const { code, stderr } = await asOwner(...args);
      assert.equal(code, 0, stderr);
      assert.match(stderr, new RegExp(`^No .* yet\\. .*\`${command}`));
    }
  });

  test("a list that filters leave empty does not say that there is nothing", async () => {
    for (const args of ["run list --status failed", "session list --tag a", "schedule list --task x"]) {
      const { code, stderr } = await withKey(...args.split(" "));
      assert.equal(code, 0, stderr);
      assert.match(stderr, /^No \w+s match these options\./);
    }
  });

  test("an id that nothing has names the list of what there is", async () => {
    const id = (prefix: string): string => `${prefix}_01kb0000000000000000000000`;
    for (const [command, noun] of [
      [`run get ${id("run")}`, "run"],
      [`run cancel ${id("run")}`, "run"],
      [`session get ${id("sess")}`, "session"],
      [`schedule get ${id("sched")}`, "schedule"],
      [`token get ${id("tok")}`, "token"],
      [`workspace get ${id("ws")}`, "workspace"],
      [`promote ${id("dep")}`, "deployment"],
      ["secret revoke NO_SUCH", "secret"],
    ] as const) {
      const { code, stderr } = await withKey(...command.split(" "));
      assert.equal(code, 4, `${command}: ${stderr}`);
      assert.match(stderr, new RegExp(`\n {2}List the ${noun}s: \`keelson ${noun} list\`\\.\n`));
    }
    const { stderr } = await withKey("workspace", "cat", id("ws"), "a");
    assert.match(stderr, /`keelson workspace list`/);
  });
});
