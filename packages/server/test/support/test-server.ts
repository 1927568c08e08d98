// The PostgreSQL of a test run: the built-in server in a folder of its own, with a migrated template to clone.

import { readdir } from "node:fs/promises";
import path from "node:path";
import { startEmbeddedServer } from "../../src/embedded-postgres/embedded-server.ts";
import { migrate } from "../../src/db/migrate.ts";
import { isAlive, isPostmasterOf, readPostmasterPid } from "../../src/embedded-postgres/postmaster-pid.ts";
import { createDatabase } from "../../src/db/pool.ts";
import { quoteIdentifier, rawSql } from "../../src/db/sql.ts";
import { makerOfTestFolder, makeTestFolder, removeTestFolder } from "./test-folder.ts";

/** The database that `createTestDatabase` clones. Nobody stays connected to it. */
export const TEMPLATE_DATABASE = "keelson_template";

export interface TestServer {
  /** URL of a database of the server that holds nothing. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a server with a migrated template; `stop` removes all of it. What is acknowledged is synced, as in earnest. */
export async function startTestServer(): Promise<TestServer> {
  const dir = await makeTestFolder();
  await removeLeftServers(path.dirname(dir));
  try {
    const server = await startEmbeddedServer({
      dataDir: path.join(dir, "postgres"),
      log: console.error,
      settings: { max_connections: "400" },
    });
    const stop = async (): Promise<void> => {
      await server.stop();
      await removeTestFolder(dir);
      // Of test files that were interrupted.
      await removeLeftServers(path.dirname(dir));
    };
    try {
      const database = createDatabase({ url: server.url, poolSize: 1, statementNames: false });
      try {
        await database.query(rawSql(`CREATE DATABASE ${quoteIdentifier(TEMPLATE_DATABASE)}`));
      } finally {
        await database.close();
      }
      await migrate(databaseUrl(server.url, TEMPLATE_DATABASE));
    } catch (error) {
      await stop();
      throw error;
    }
    return { url: server.url, stop };
  } catch (error) {
    await removeTestFolder(dir);
    throw error;
  }
}

/** The URL of another database of the same server. */
export function databaseUrl(url: string, database: string): string {
  return url.replace(
    /^(\w+:\/\/[^/]*\/)[^?]*/,
    (_, start: string) => `${start}${encodeURIComponent(database)}`,
  );
}

/** Ends what a killed test run left behind. */
async function removeLeftServers(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const maker = makerOfTestFolder(name);
    if (maker === null || isAlive(maker)) continue;
    const clusterDir = path.join(parent, name, "postgres", "cluster");
    const claim = await readPostmasterPid(clusterDir);
    if (claim !== null && (await isPostmasterOf(claim.pid, clusterDir))) process.kill(claim.pid, "SIGQUIT");
    await removeTestFolder(path.join(parent, name)).catch((error: unknown) =>
      console.error(`What a killed test run left cannot be removed: ${(error as Error).message}`),
    );
  }
}
