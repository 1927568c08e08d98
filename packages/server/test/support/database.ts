// A database for one test file: a clone of the migrated template, in tens of milliseconds.

import { randomBytes } from "node:crypto";
import { after } from "node:test";
import pg from "pg";
import { databaseUrl, startTestServer, TEMPLATE_DATABASE, type TestServer } from "./test-server.ts";

export interface TestDatabase {
  /** URL of the database, migrated and empty. */
  readonly url: string;
  /** Ends all its connections and removes it. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** False for a database without our tables. Default true. */
  readonly migrated?: boolean;
}

// Two clonings of one template at a time get in each other's way.
const CLONE_LOCK = 7_233_101_878;

// `npm test` starts one server for all files. A file that is run by hand starts its own.
const givenUrl = process.env["KEELSON_TEST_DATABASE_URL"];
let own: Promise<TestServer> | undefined;
if (givenUrl === undefined) after(async () => (await own)?.stop());

/** Makes a database. Drop it in an `after` hook, once nothing uses it. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const serverUrl = givenUrl ?? (await (own ??= startTestServer())).url;
  const name = `test_${randomBytes(8).toString("hex")}`;
  await runOn(serverUrl, async (client) => {
    await client.query("SELECT pg_advisory_lock($1)", [CLONE_LOCK]);
    const template = options.migrated === false ? "template0" : TEMPLATE_DATABASE;
    // Its files are copied as they are: to write each page of 500 files to the log takes three times as long.
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  });
  return {
    url: databaseUrl(serverUrl, name),
    drop: () =>
      runOn(serverUrl, async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  };
}

async function runOn(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end(); // Also gives the lock back.
  }
}
