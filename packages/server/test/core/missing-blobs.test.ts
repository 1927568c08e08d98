import assert from "node:assert/strict";
import { readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { decodeId } from "@keelson/contract";
import { loadConfig } from "../../src/config.ts";
import { runBackup } from "../../src/run-backup.ts";
import { runRestore } from "../../src/run-restore.ts";
import { digestOf, startApiServer, TEST_MASTER_KEY, type ApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createReadyDeployment, promote, startWorker } from "../support/deploy.ts";
import { makeTestFolder } from "../support/test-folder.ts";
import { workspaceCalls, type WorkspaceCalls } from "../support/workspaces.ts";

let database: TestDatabase;
let empty: TestDatabase;
let server: ApiServer;
let calls: WorkspaceCalls;
let folder: string;
before(async () => {
  database = await createTestDatabase();
  empty = await createTestDatabase({ migrated: false });
  server = await startApiServer({ database });
  calls = workspaceCalls(server);
  folder = await makeTestFolder();
});
after(async () => {
  await server.stop();
  await empty.drop();
  await rm(folder, { recursive: true });
});

const configOf = (url: string, dataDir: string) =>
  loadConfig({
    DATABASE_URL: url,
    KEELSON_DATA_DIR: dataDir,
    KEELSON_MASTER_KEY: TEST_MASTER_KEY.toString("base64"),
  });
const common = { signal: new AbortController().signal, tell: () => undefined, notice: () => undefined };
const backup = (name: string) =>
  runBackup(configOf(database.url, server.dataDir), {
    place: path.join(folder, name),
    includeKeys: false,
    version: "test",
    ...common,
  });

/** @returns its digest. */
async function removeBlobWith(content: string): Promise<string> {
  const root = path.join(server.dataDir, "workspaces");
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const bytes = await readFile(file);
    if (!bytes.includes(content)) continue;
    await rm(file);
    return digestOf(bytes);
  }
  throw new Error("No blob has the content.");
}

test("a backup names a blob that is missing and has the rest; the next commit of the content stores it", async () => {
  const content = "the only copy";
  const workspace = await calls.create();
  await calls.write(workspace.id, "lost.txt", content);
  await calls.write(workspace.id, "kept.txt", "kept");
  const digest = await removeBlobWith(content);

  const first = await backup("first.tar");
  const environment = decodeId("env", server.credentials.environment_id);
  const missing = [{ environment_id: environment, digest, problem: "missing" }];
  assert.deepEqual(first.manifest.missing_blobs, missing);
  assert.equal(await calls.read(workspace.id, "kept.txt"), "kept");

  // Other files of the workspace can be changed meanwhile.
  await calls.write(workspace.id, "other.txt", "other");
  await calls.write(workspace.id, "again.txt", content);
  assert.equal(await calls.read(workspace.id, "lost.txt"), content);
  assert.equal((await backup("second.tar")).manifest.missing_blobs, undefined);

  const dataDir = await makeTestFolder();
  const restored = await runRestore(configOf(empty.url, dataDir), {
    place: first.file,
    checkOnly: false,
    ...common,
  });
  assert.deepEqual(restored.affected, [
    { ...missing[0], workspaces: [decodeId("ws", workspace.id)], deployments: [], runs: [], sessions: [] },
  ]);
  await rm(dataDir, { recursive: true });
});

test("a restore names the session whose file is missing; uploading the file again stores it", async () => {
  const deployment = await createReadyDeployment(server, await startWorker(server), {
    tasks: [],
    actors: [{ id: "chat" }],
  });
  await promote(server, deployment.id);
  const session = (await server.call("POST", "/api/sessions", { body: { actor: "chat" } })).body;
  const bytes = Buffer.from("an attachment that is lost");
  const place = `/api/sessions/${session.id}/files/`;
  const upload = () => server.call("PUT", place + digestOf(bytes), { bytes });
  const { id } = (await upload()).body;
  await removeBlobWith(bytes.toString());

  const lost = await backup("lost.tar");
  assert.deepEqual(
    lost.manifest.missing_blobs?.map(({ digest }) => digest),
    [digestOf(bytes)],
  );
  const again = await upload();
  assert.deepEqual([again.status, again.body.id], [200, id]);
  assert.equal((await server.call("GET", `${place}${id}/content`)).text, bytes.toString());
  const whole = await backup("whole.tar");
  assert.equal(whole.manifest.missing_blobs, undefined);
  assert.equal(whole.manifest.tables.find(({ name }) => name === "session_files")?.rows, 1);

  const another = await createTestDatabase({ migrated: false });
  const dataDir = await makeTestFolder();
  const restored = await runRestore(configOf(another.url, dataDir), {
    place: lost.file,
    checkOnly: false,
    ...common,
  });
  const environment = decodeId("env", server.credentials.environment_id);
  assert.deepEqual(restored.affected, [
    {
      ...{ environment_id: environment, digest: digestOf(bytes), problem: "missing" },
      ...{ workspaces: [], deployments: [], runs: [], sessions: [decodeId("sess", session.id)] },
    },
  ]);
  await another.drop();
  await rm(dataDir, { recursive: true });
});
