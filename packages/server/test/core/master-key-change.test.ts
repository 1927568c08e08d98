import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import path from "node:path";
import { beforeEach, afterEach, test } from "node:test";
import { changeMasterKey, parseMasterKey } from "../../src/index.ts";
import { ensureMasterKey, ensureNextKey, isInstallationKey } from "../../src/core/credentials/master-key.ts";
import { openKeyring } from "../../src/core/secrets/earlier-keys.ts";
import { forgetVersions } from "../../src/core/secrets/forget-versions.ts";
import { resolveSecrets } from "../../src/core/secrets/resolve-secrets.ts";
import { rewrapSecrets } from "../../src/core/secrets/rewrap-secrets.ts";
import { deleteSecret, putSecret } from "../../src/core/secrets/write-secret.ts";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { untilBlocked } from "../support/until-blocked.ts";
import type { NewUuid } from "../../src/uuid.ts";

const NOW = Date.UTC(2026, 10, 20);
const HOUR_MS = 3_600_000;
const newUuid = randomUUID as NewUuid;
const environmentId = newUuid<"env">();
const projectId = newUuid<"proj">();

let database: TestDatabase;
let db: Database;
let dataDir: string;
beforeEach(async () => {
  database = await createTestDatabase();
  db = createDatabase({ url: database.url, poolSize: 2, statementNames: false });
  dataDir = await makeTestFolder();
  const [groupId, organizationId] = [randomUUID(), randomUUID()];
  await db.query(sql`INSERT INTO worker_groups (id, name) VALUES (${groupId}, 'g')`);
  await db.query(sql`INSERT INTO organizations (id, name, slug) VALUES (${organizationId}, 'o', 'o')`);
  await db.query(sql`
    INSERT INTO projects (id, organization_id, name, slug) VALUES (${projectId}, ${organizationId}, 'p', 'p')`);
  await db.query(sql`
    INSERT INTO environments (id, project_id, name, slug, worker_group_id) VALUES (${environmentId}, ${projectId}, 'e', 'e', ${groupId})`);
});
afterEach(async () => {
  await db.close();
  await database.drop();
  await rm(dataDir, { recursive: true });
});

const put = (masterKey: Buffer, name: string, value: string, now = NOW) =>
  db.transaction((tx) =>
    putSecret(tx, { masterKey, newUuid }, { environmentId, projectId, name, value }, now),
  );
const read = (masterKey: Buffer, names: string[], runId = newUuid<"run">()) =>
  db.transaction(async (tx) => {
    const need = { environmentId, runId, attemptNumber: 1, names };
    const found = (await resolveSecrets(tx, masterKey, [need], NOW)).get(runId);
    return found === undefined || "problem" in found ? found : { values: found.values };
  });

const REPLACED = { code: "unavailable", message: /master key was changed.*Restart the server/ };

test("the master key of the data folder is replaced, and every value is still read", async () => {
  const old = await ensureMasterKey(dataDir);
  assert.ok(await isInstallationKey(db, old));
  for (const n of [1, 2, 3]) await put(old, `SECRET_${n}`, `value ${n}`);
  await put(old, "SECRET_1", "newer");
  assert.equal(await changeMasterKey({ databaseUrl: database.url, dataDir, keys: null }), 4);
  const file = path.join(dataDir, "master.key");
  const next = parseMasterKey(await readFile(file, "utf8")) as Buffer;
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.ok(!next.equals(old));
  assert.deepEqual(await read(next, ["SECRET_1", "SECRET_2"]), {
    values: { SECRET_1: "newer", SECRET_2: "value 2" },
  });
  await assert.rejects(read(old, ["SECRET_1"]), REPLACED);
  assert.deepEqual([await isInstallationKey(db, old), await isInstallationKey(db, next)], [false, true]);
});

test("a change that was interrupted is gone on with: before the database knew, and after", async () => {
  const old = await ensureMasterKey(dataDir);
  await isInstallationKey(db, old);
  await put(old, "SECRET", "value");
  const next = await ensureNextKey(dataDir);
  // The database knows the new key, and the file was not moved.
  await db.transaction((tx) => rewrapSecrets(tx, old, next));
  assert.equal(await changeMasterKey({ databaseUrl: database.url, dataDir, keys: null }), 0);
  assert.ok((await ensureMasterKey(dataDir)).equals(next));
  assert.deepEqual(await read(next, ["SECRET"]), { values: { SECRET: "value" } });
});

test("a key that is not the installation's changes nothing", async () => {
  const [present, other, next] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  await isInstallationKey(db, present);
  await put(present, "SECRET", "value");
  const change = { databaseUrl: database.url, dataDir, keys: { present: other, next } };
  await assert.rejects(changeMasterKey(change), /was not set up with the master key/);
  assert.deepEqual(await read(present, ["SECRET"]), { values: { SECRET: "value" } });
  assert.equal(await changeMasterKey({ ...change, keys: { present, next } }), 1);
  assert.deepEqual(await read(next, ["SECRET"]), { values: { SECRET: "value" } });
});

test("a server with the key from before stores no value that nobody could read", async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)];
  await isInstallationKey(db, old);
  await put(old, "SECRET", "one");
  await changeMasterKey({ databaseUrl: database.url, dataDir, keys: { present: old, next } });
  await assert.rejects(put(old, "SECRET", "two"), REPLACED);
  await assert.rejects(put(old, "OTHER", "two"), REPLACED);
  assert.deepEqual(await read(next, ["SECRET"]), { values: { SECRET: "one" } });
});

test("a change of the key waits for a value that is being stored, and takes it with it", async () => {
  const [old, next] = [randomBytes(32), randomBytes(32)];
  await isInstallationKey(db, old);
  const stored = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const storing = db.transaction(async (tx) => {
    await putSecret(
      tx,
      { masterKey: old, newUuid },
      { environmentId, projectId, name: "LATE", value: "v" },
      NOW,
    );
    stored.resolve();
    await released.promise;
  });
  await stored.promise;
  const change = changeMasterKey({ databaseUrl: database.url, dataDir, keys: { present: old, next } });
  await untilBlocked(db, 1);
  released.resolve();
  await storing;
  assert.equal(await change, 1);
  assert.deepEqual(await read(next, ["LATE"]), { values: { LATE: "v" } });
});

test("a value that the key cannot read is named, and nothing is changed until it is gone", async () => {
  const [old, other, next] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  await isInstallationKey(db, old);
  await put(old, "SECRET", "value");
  await put(old, "BROKEN", "value");
  await db.query(sql`
    UPDATE secret_versions v SET wrapped_key = ${other} FROM secrets s WHERE s.id = v.secret_id AND s.name = 'BROKEN'`);
  const change = { databaseUrl: database.url, dataDir, keys: { present: old, next } };
  await assert.rejects(
    changeMasterKey(change),
    /The secret BROKEN of the environment env_\w+ has a value \(version 1\).*nothing was changed.*secret delete BROKEN/,
  );
  assert.deepEqual(await read(old, ["SECRET"]), { values: { SECRET: "value" } });
  await db.transaction((tx) => deleteSecret(tx, environmentId, "BROKEN"));
  assert.equal(await changeMasterKey(change), 1);
});

test("credentials are derived by the key that they were made with, however often it is changed", async () => {
  const keys = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
  await isInstallationKey(db, keys[0]);
  for (const [present, next] of [keys.slice(0, 2), keys.slice(1, 3)] as [Buffer, Buffer][])
    await changeMasterKey({ databaseUrl: database.url, dataDir, keys: { present, next } });
  const { keyring, keyNumber } = await db.transaction((tx) => openKeyring(tx, keys[2]));
  assert.equal(keyNumber, 2);
  assert.deepEqual([0, 1, 2].map(keyring), keys);
  assert.throws(() => keyring(3), REPLACED);
  await assert.rejects(
    db.transaction((tx) => openKeyring(tx, keys[1])),
    REPLACED,
  );
  const stored = await db.query<{ wrapped: Buffer }>(
    sql`SELECT wrapped_key AS wrapped FROM earlier_master_keys`,
  );
  for (const { wrapped } of stored) for (const key of keys) assert.equal(wrapped.indexOf(key), -1);
});

test("a folder without a key has none to replace, and gets none", async () => {
  await isInstallationKey(db, randomBytes(32));
  const change = changeMasterKey({ databaseUrl: database.url, dataDir, keys: null });
  await assert.rejects(change, /has no master\.key to be replaced\. Set KEELSON_DATA_DIR/);
  assert.deepEqual(await readdir(dataDir), []);
});

test("replaced values are forgotten, but not one that a live attempt was given", async () => {
  const key = randomBytes(32);
  await isInstallationKey(db, key);
  await put(key, "SECRET", "one");
  const runId = newUuid<"run">();
  await read(key, ["SECRET"], runId);
  await db.query(sql`
    INSERT INTO executions (environment_id, run_id, worker_group_id, status, ready, priority, queue, limited, admitted,
      attempt_number, event_sequence, updated_at)
    VALUES (${environmentId}, ${runId}, ${randomUUID()}, 'queued', false, 0, 'default', false, false, 1, 2, now())`);
  await put(key, "SECRET", "two", NOW + 1);
  await put(key, "SECRET", "three", NOW + 2);
  const versions = async (): Promise<number[]> =>
    (await db.query<{ version: number }>(sql`SELECT version FROM secret_versions ORDER BY version`)).map(
      ({ version }) => version,
    );
  await forgetVersions(db, NOW + 1000);
  assert.deepEqual(await versions(), [1, 2, 3]);
  await forgetVersions(db, NOW + HOUR_MS);
  assert.deepEqual(await versions(), [1, 3]);
  assert.deepEqual(await read(key, ["SECRET"], runId), { values: { SECRET: "one" } });
  await db.query(sql`DELETE FROM executions WHERE run_id = ${runId}`);
  await forgetVersions(db, NOW + HOUR_MS);
  assert.deepEqual(await versions(), [3]);
});
