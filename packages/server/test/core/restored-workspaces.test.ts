// A restored server knows which workspaces were made for runs, and when others were deleted: retention goes on where it was.

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { decodeId } from "@keelson/contract";
import { loadConfig } from "../../src/config.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { runBackup } from "../../src/run-backup.ts";
import { runRestore } from "../../src/run-restore.ts";
import { startApiServer, TEST_MASTER_KEY } from "../support/api-server.ts";
import { createTestDatabase } from "../support/database.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { workspaceCalls } from "../support/workspaces.ts";

const ofAll = (db: Database): Promise<unknown[]> =>
  db.query(sql`SELECT id, status, made_for_run_id, deleted_at, last_activity_at FROM workspaces ORDER BY id`);

test("a backup has what the retention of workspaces goes by", async (t) => {
  const [database, empty] = [await createTestDatabase(), await createTestDatabase({ migrated: false })];
  const server = await startApiServer({ database });
  const [folder, dataDir] = [await makeTestFolder(), await makeTestFolder()];
  t.after(async () => {
    await server.stop();
    await empty.drop();
    for (const made of [folder, dataDir]) await rm(made, { recursive: true });
  });
  const calls = workspaceCalls(server);
  const [made, deleted] = [await calls.create(), await calls.create()];
  await server.db.query(sql`
    UPDATE workspaces SET made_for_run_id = gen_random_uuid() WHERE id = ${decodeId("ws", made.id)}`);
  await server.call("DELETE", `/api/workspaces/${deleted.id}`);
  const before = await ofAll(server.db);

  const configOf = (url: string, dataFolder: string) =>
    loadConfig({
      DATABASE_URL: url,
      KEELSON_DATA_DIR: dataFolder,
      KEELSON_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
    });
  const common = { signal: new AbortController().signal, tell: () => undefined, notice: () => undefined };
  const place = path.join(folder, "backup.tar");
  const { file } = await runBackup(configOf(database.url, server.dataDir), {
    ...{ place, includeKeys: false, version: "test" },
    ...common,
  });
  await runRestore(configOf(empty.url, dataDir), {
    place: file,
    checkOnly: false,
    ...common,
  });
  const restored = createDatabase({ url: empty.url, poolSize: 1, statementNames: true });
  try {
    assert.deepEqual(await ofAll(restored), before);
  } finally {
    await restored.close();
  }
  assert.equal(before.length, 2);
});
