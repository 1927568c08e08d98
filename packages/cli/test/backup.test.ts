import assert from "node:assert/strict";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { loadConfig, loadServer, startEmbeddedServer } from "@keelson/server";
import { makeTestFolder } from "../../server/test/support/test-folder.ts";
import { keelson } from "./support.ts";

test(
  "an installation is backed up while it runs and while it does not, and restored into an empty folder",
  { timeout: 120_000 },
  async () => {
    const folder = await makeTestFolder();
    try {
      const env = { KEELSON_DATA_DIR: join(folder, "data"), PORT: "0", KEELSON_CELL: "eu1" };
      const nothing = await keelson(["backup", folder], { env });
      assert.equal(nothing.code, 1);
      assert.match(nothing.stderr, /data holds no database\. Set KEELSON_DATA_DIR/);

      const postgres = await startEmbeddedServer({ dataDir: join(env.KEELSON_DATA_DIR, "postgres") });
      const config = { ...loadConfig(env), databaseUrl: postgres.url, logLevel: "error" };
      const { startServer } = await loadServer();
      const server = await startServer(config);
      const running = await keelson(["backup", folder, "--json"], { env });
      assert.equal(running.code, 0, running.stderr);
      const written = JSON.parse(running.stdout);
      assert.match(written.file, /keelson-\d{8}T\d{6}Z\.tar$/);
      assert.equal((await stat(written.file)).mode & 0o777, 0o600);
      assert.deepEqual([written.includes_keys, written.size_bytes], [false, (await stat(written.file)).size]);
      const nightly = join(folder, "var", "backups/");
      for (const count of [1, 2]) {
        const made = await keelson(["backup", nightly, "--json"], { env });
        assert.equal(made.code, 0, made.stderr);
        assert.equal(join(JSON.parse(made.stdout).file, "../"), nightly);
        if (count === 1) await rm(JSON.parse(made.stdout).file);
      }
      const ofFile = await keelson(["backup", `${written.file}/`], { env });
      assert.deepEqual([ofFile.code, /names a folder, and a file is there/.test(ofFile.stderr)], [1, true]);
      await server.close();
      await postgres.stop();

      const file = join(folder, "stopped.tar");
      const stopped = await keelson(["backup", file, "--include-keys"], { env });
      assert.equal(stopped.code, 0, stopped.stderr);
      assert.match(stopped.stdout, /Wrote .*stopped\.tar: [\d,]+ rows as of .*, 0 blobs, [\d.]+ KiB/);
      assert.equal((await keelson(["backup", file], { env })).code, 1);

      const target = { KEELSON_DATA_DIR: join(folder, "restored") };
      const keyless = await keelson(["restore", written.file], { env: target });
      assert.equal(keyless.code, 1);
      assert.match(keyless.stderr, /holds no master key/);
      const checked = await keelson(["restore", "--check", folder, "--json"], { env: target });
      assert.deepEqual([checked.code, JSON.parse(checked.stdout).restored], [0, false]);
      const restored = await keelson(["restore", file], { env: target });
      assert.equal(restored.code, 0, restored.stderr);
      assert.match(restored.stdout, /^Restored [\d,]+ rows/);
      assert.deepEqual((await readdir(target.KEELSON_DATA_DIR)).toSorted(), [
        "credentials.json",
        "master.key",
        "postgres",
      ]);
      await keepsItsCell(target.KEELSON_DATA_DIR);
      const again = await keelson(["restore", file], { env: target });
      assert.equal(again.code, 5);
      assert.match(again.stderr, /is not empty/);
      const empty = { KEELSON_DATA_DIR: join(folder, "empty") };
      const absent = await keelson(["restore", join(folder, "absent.tar")], { env: empty });
      assert.equal(absent.code, 1);
      assert.match(absent.stderr, /There is no backup .*absent\.tar/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

/** What is restored is the cell that was backed up, and cannot become another one. */
async function keepsItsCell(dataDir: string): Promise<void> {
  const postgres = await startEmbeddedServer({ dataDir: join(dataDir, "postgres") });
  try {
    const config = loadConfig({ KEELSON_DATA_DIR: dataDir, PORT: "0", KEELSON_CELL: "us1" });
    const other = (await loadServer()).startServer({
      ...config,
      databaseUrl: postgres.url,
      logLevel: "error",
    });
    await assert.rejects(other, /this installation is the cell "eu1"/);
  } finally {
    await postgres.stop();
  }
}
