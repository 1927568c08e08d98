// A new PostgreSQL cluster for a test that has one of its own, copied from the first that a run of the suite made.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { migrate } from "../../src/db/migrate.ts";
import { startEmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { makeTestFolder, removeTestFolder } from "./test-folder.ts";

/**
 * Lays a cluster with a migrated, empty database where a built-in server of the folder finds it as its own. To make it there
 * takes a second of processor, and is for the tests of the built-in server. Without a run of the suite it does nothing.
 */
export async function layCluster(dataDir: string): Promise<void> {
  const kept = process.env["KEELSON_TEST_CLUSTER"];
  if (kept === undefined) return;
  if (!existsSync(kept)) await makeCluster(kept);
  // As the built-in server makes it: others pass through, and see nothing.
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  // With its owner: started by root, PostgreSQL runs as another account.
  await promisify(execFile)("cp", ["-a", kept, path.join(dataDir, "cluster")]);
}

async function makeCluster(kept: string): Promise<void> {
  const dir = await makeTestFolder();
  try {
    const server = await startEmbeddedServer({ dataDir: path.join(dir, "postgres") });
    try {
      await migrate(server.url);
    } finally {
      await server.stop();
    }
    await rename(path.join(dir, "postgres", "cluster"), kept).catch((error: NodeJS.ErrnoException) => {
      // Another file began at the same time and was first.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await removeTestFolder(dir);
  }
}
