import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { readCredential } from "@keelson/contract";
import { loadConfig } from "@keelson/server";
import { startApiServer } from "../../server/test/support/api-server.ts";
import { createTestDatabase } from "../../server/test/support/database.ts";
import { createFolder, keelson } from "./support.ts";

test("servers without a common folder have the credentials that were made for them", async () => {
  await using folder = await createFolder();
  const made = await keelson(["credentials", "secrets"], { cwd: folder.path });
  const secrets = join(folder.path, "secrets");
  assert.deepEqual([made.code, made.stdout], [0, `${secrets}\n`], made.stderr);
  assert.equal((await stat(secrets)).mode & 0o777, 0o700);

  const { credentials, masterKey } = loadConfig({
    KEELSON_CREDENTIALS_FILE: join(secrets, "credentials"),
    KEELSON_MASTER_KEY_FILE: join(secrets, "master_key"),
  });
  const read = async (name: string): Promise<string> => (await readFile(join(secrets, name), "utf8")).trim();
  assert.equal(credentials?.enrollmentToken, await read("enrollment_token"));
  const database = await createTestDatabase();
  const config = { credentials, masterKey };
  const start = () => startApiServer({ database: { ...database, drop: async () => undefined }, config });
  try {
    const servers = await Promise.all([start(), start()]);
    try {
      for (const server of servers) {
        assert.ok(!(await readdir(server.dataDir)).includes("credentials.json"));
        const me = await server.call("GET", "/api/me", { as: await read("user_token") });
        assert.deepEqual([me.status, me.body.user.email], [200, "owner@localhost"]);
        assert.equal((await server.call("GET", "/v1/tasks")).status, 200);
      }
      const env = {
        KEELSON_URL: servers[0].url,
        KEELSON_USER_TOKEN: await read("user_token"),
        HOME: folder.path,
      };
      const whoami = await keelson(["whoami"], { env });
      assert.equal(whoami.code, 0, whoami.stderr);
      const count = await servers[0].db.query({ name: "", text: "SELECT 1 FROM service_keys", values: [] });
      assert.equal(count.length, 2);
      await servers[0].db.query({
        name: "",
        text: "UPDATE enrollment_tokens SET revoked_at = now()",
        values: [],
      });
    } finally {
      for (const server of servers) await server.stop();
    }
    const later = await start();
    try {
      const body = {
        enrollment_token: await read("enrollment_token"),
        name: "late",
        worker_protocol_version: 1,
      };
      const refused = await later.call("POST", "/api/worker/auth/token", { as: null, body });
      assert.equal(refused.status, 401, "what was revoked stays so");
    } finally {
      await later.stop();
    }
  } finally {
    await database.drop();
  }
});

test("credentials are never written over, and others than those are refused by name", async () => {
  await using folder = await createFolder();
  assert.equal((await keelson(["credentials", "a"], { cwd: folder.path })).code, 0);
  const before = await readFile(join(folder.path, "a/credentials"), "utf8");
  const again = await keelson(["credentials", "a"], { cwd: folder.path });
  assert.deepEqual([again.code, again.stdout], [5, ""]);
  assert.equal(await readFile(join(folder.path, "a/credentials"), "utf8"), before);
  const wrong = { ...(JSON.parse(before) as object), admin_key: "kl_adm_1" };
  assert.throws(() => loadConfig({ KEELSON_CREDENTIALS: JSON.stringify(wrong) }), /because of admin_key/);
  assert.throws(() => loadConfig({ KEELSON_CREDENTIALS: "kl_adm_1" }), /because of its JSON/);
});

test("credentials of a cell carry its tag", async () => {
  await using folder = await createFolder();
  const made = await keelson(["credentials", "a", "--cell", "eu1"], { cwd: folder.path });
  assert.equal(made.code, 0, made.stderr);
  const texts = JSON.parse(await readFile(join(folder.path, "a/credentials"), "utf8")) as Record<
    string,
    string
  >;
  for (const [name, text] of Object.entries(texts)) assert.equal(readCredential(text)?.cell, "eu1", name);
  const refused = await keelson(["credentials", "b", "--cell", "EU"], { cwd: folder.path });
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /2 to 8 lower-case letters and digits/);
});
