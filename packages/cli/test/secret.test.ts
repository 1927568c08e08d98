import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import type { Secret } from "@keelson/contract";
import { startRunScene, type RunScene } from "../../server/test/support/run-scene.ts";
import { createFolder, environmentOf, keelson, type CommandOptions, type Outcome } from "./support.ts";

let scene: RunScene;
let env: Record<string, string>;
before(async () => {
  scene = await startRunScene({ tasks: [{ id: "mailer", secrets: ["MAIL_PASSWORD", "SIGNING_KEY"] }] });
  env = environmentOf(scene.server);
});
after(() => scene.stop());

/** Runs `keelson secret …`, which must do what it was asked to. */
async function secret(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const outcome = await keelson(["secret", ...args], { env, ...options });
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome;
}

/** What a run is given. */
async function given(): Promise<unknown> {
  await scene.start("mailer");
  const lease = await scene.worker.takeOne();
  await scene.worker.finish(lease);
  return lease.execution.secrets;
}

const find = async (name: string): Promise<Secret> =>
  (await scene.call("GET", `/api/secrets/${name}`)).body as Secret;

suite("secrets on the command line", () => {
  test("a value comes from standard input without its last newline, or from a file as it is", async () => {
    await using folder = await createFolder();
    await writeFile(join(folder.path, "key.pem"), "line one\nline two\n");
    const set = ["set", "MAIL_PASSWORD"];
    assert.deepEqual(await secret(set, { input: "correct horse\n" }), {
      ...{ code: 0, stdout: "MAIL_PASSWORD version 1\n", stderr: "" },
    });
    await secret(["set", "SIGNING_KEY", "--from-file", "key.pem"], { cwd: folder.path });
    assert.deepEqual(await given(), {
      ...{ MAIL_PASSWORD: "correct horse", SIGNING_KEY: "line one\nline two\n" },
    });
    await writeFile(join(folder.path, "key.der"), Buffer.from([0x30, 0x82, 0xff, 0x41]));
    for (const bytes of ["key.der", "key.nul"]) {
      if (bytes === "key.nul") await writeFile(join(folder.path, bytes), "a\0b");
      const file = ["secret", "set", "SIGNING_KEY", "--from-file", bytes];
      const binary = await keelson(file, { env, cwd: folder.path });
      assert.match(binary.stderr, /SIGNING_KEY is not text in UTF-8\. .*base64/);
      assert.deepEqual([binary.code, (await find("SIGNING_KEY")).version], [2, 1]);
    }
    const empty = await keelson(["secret", ...set], { env, input: "\n" });
    assert.match(empty.stderr, /The value of MAIL_PASSWORD is empty/);
    assert.deepEqual([empty.code, (await find("MAIL_PASSWORD")).version], [2, 1]);
    const typed = await keelson(["secret", ...set, "--value", "correct horse"], { env });
    assert.match(typed.stderr, /leave --value out and type the value, or pipe it/);
    assert.deepEqual([typed.code, (await find("MAIL_PASSWORD")).version], [2, 1]);
  });

  test("rotate and revoke find the secret by its name", async () => {
    assert.equal((await secret(["set", "MAIL_PASSWORD"], { input: "old" })).code, 0);
    await secret(["rotate", "MAIL_PASSWORD"], { input: "new" });
    assert.partialDeepStrictEqual(await given(), { MAIL_PASSWORD: "new" });
    const revoked = await keelson(["secrets", "revoke", "MAIL_PASSWORD"], { env });
    assert.equal(revoked.stdout, "MAIL_PASSWORD revoked\n");
    assert.equal((await find("MAIL_PASSWORD")).status, "revoked");
    const absent = await keelson(["secret", "rotate", "ABSENT"], { env, input: "x" });
    assert.equal(absent.code, 4, absent.stderr);
  });

  test("list shows names, states and versions, and delete is quiet on stdout", async () => {
    await secret(["set", "LISTED"], { input: "never-listed" });
    const { stdout } = await secret(["list"]);
    assert.match(stdout, /^SECRET +STATUS +VERSION +LAST USED +CHANGED\nLISTED +active +1 +never +20/);
    assert.ok(!stdout.includes("never-listed"));
    const gone = await secret(["delete", "LISTED"]);
    assert.deepEqual([gone.stdout, gone.stderr], ["", "Deleted LISTED\n"]);
    assert.equal((await scene.call("GET", "/api/secrets/LISTED")).status, 404);
  });

  test("rewrap wants the next key where the present one is in the environment", async () => {
    const masterKey = {
      KEELSON_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
      DATABASE_URL: "postgres://nowhere:1/x",
    };
    const { code, stderr } = await keelson(["secrets", "rewrap"], { env: masterKey });
    assert.equal(code, 78);
    assert.match(stderr, /KEELSON_NEW_MASTER_KEY is not 32 bytes in base64; make one with/);
  });
});
