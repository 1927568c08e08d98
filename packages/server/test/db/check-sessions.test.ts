// What a start finds out about its connections before it uses them.

import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import path from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { checkSessions } from "../../src/db/check-sessions.ts";
import { createDatabase } from "../../src/db/pool.ts";
import { rawSql, sql } from "../../src/db/sql.ts";
import { createSplitter } from "../crash/support/postgres-messages.ts";
import { startApiServer } from "../support/api-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { makeTestFolder, removeTestFolder } from "../support/test-folder.ts";
import { FORGETS, startPgBouncer, WITHOUT_PGBOUNCER, type PgBouncer } from "./support/pgbouncer.ts";

let database: TestDatabase;

async function check(
  url: string,
  options: { directUrl?: string; statementNames?: boolean; poolSize?: number } = {},
): Promise<string[]> {
  const warnings: string[] = [];
  const all = { url, directUrl: url, statementNames: true, poolSize: 4, ...options };
  await checkSessions(all, (text) => warnings.push(text));
  return warnings;
}

async function setDatabase(settings: Record<string, string>): Promise<void> {
  const admin = createDatabase({ url: database.url, poolSize: 1, statementNames: true });
  const [row] = await admin.query<{ name: string }>(sql`SELECT current_database() AS name`);
  await admin.query(rawSql(`ALTER DATABASE ${row?.name} RESET ALL`));
  for (const [name, value] of Object.entries(settings))
    await admin.query(rawSql(`ALTER DATABASE ${row?.name} SET ${name} = '${value}'`));
  await admin.close();
}

const PLANNED = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
};

/** The first message of a client without the parameter: its keys and values, each with a zero byte behind it. */
function withoutParameter(message: Buffer, key: string): Buffer {
  const texts = message.toString("utf8", 8, message.length - 2).split("\0");
  const kept = texts.filter((_, at) => texts[at - (at % 2)] !== key);
  const body = Buffer.from(`${kept.join("\0")}\0\0`);
  const head = Buffer.from(message.subarray(0, 8));
  head.writeUInt32BE(8 + body.length);
  return Buffer.concat([head, body]);
}

/** As PgBouncer with `ignore_startup_parameters = options`. */
async function dropOptions(url: string): Promise<{ url: string; stop(): Promise<void> }> {
  const target = new URL(url.replace("@/", "@socket/"));
  const socket = path.join(
    target.searchParams.get("host") as string,
    `.s.PGSQL.${target.searchParams.get("port")}`,
  );
  const folder = await makeTestFolder();
  const server = createServer((client) => {
    const backend = connect(socket);
    const split = createSplitter(true);
    let isFirst = true;
    client.on("data", (bytes) => {
      for (const message of split(bytes)) {
        backend.write(isFirst ? withoutParameter(message, "options") : message);
        isFirst = false;
      }
    });
    backend.pipe(client);
    for (const [one, other] of [
      [client, backend],
      [backend, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(path.join(folder, ".s.PGSQL.6432"), resolve));
  target.searchParams.set("host", folder);
  target.searchParams.set("port", "6432");
  return {
    url: target.href.replace("@socket/", "@/"),
    stop: async () => {
      await new Promise((resolve) => server.close(resolve));
      await removeTestFolder(folder);
    },
  };
}

describe("a start", () => {
  before(async () => (database = await createTestDatabase()));
  after(() => database.drop());

  describe("the connections of a server", () => {
    test("are fine where they lead to PostgreSQL, whatever the database is set to", async () => {
      await setDatabase({ DateStyle: "German", bytea_output: "escape", plan_cache_mode: "auto" });
      assert.deepEqual(await check(database.url), []);
    });

    test("have the options of the URL besides ours", async () => {
      const url = `${database.url}&options=-c%20search_path%3Delsewhere%20-c%20statement_timeout%3D1`;
      assert.deepEqual(await check(url), []);
      const pool = createDatabase({ url, poolSize: 1, statementNames: true });
      const [shown] = await pool.query(sql`
      SELECT current_setting('search_path') AS path, current_setting('statement_timeout') AS timeout,
        current_setting('enable_seqscan') AS seqscan`);
      await pool.close();
      assert.deepEqual(shown, { path: "elsewhere", timeout: "8s", seqscan: "off" });
    });

    test("are refused where something on the way drops what they ask for", async () => {
      const pooler = await dropOptions(database.url);
      await assert.rejects(check(pooler.url), /connection pooler at DATABASE_URL drops.*DATABASE_DIRECT_URL/);
      await pooler.stop();
    });

    test("are refused behind a pooler where values come in another form, with what corrects it", async () => {
      await setDatabase({ DateStyle: "German", bytea_output: "escape" });
      await assert.rejects(
        check(database.url, { statementNames: false }),
        /Run ALTER ROLE "\w+" SET DateStyle = 'ISO, MDY'; ALTER ROLE "\w+" SET bytea_output = 'hex';$/,
      );
      await setDatabase({ DateStyle: "ISO, DMY" });
      assert.equal((await check(database.url, { statementNames: false })).length, 1);
    });

    test("are warned of behind a pooler where the role does not set the planner", async () => {
      await setDatabase({});
      const [warning, ...more] = await check(database.url, { statementNames: false });
      assert.match(
        warning ?? "",
        /planner.*SET plan_cache_mode = 'force_generic_plan'; .*SET enable_mergejoin = 'off';$/,
      );
      assert.deepEqual(more, []);
      await setDatabase(PLANNED);
      assert.deepEqual(await check(database.url, { statementNames: false }), []);
    });

    test("are warned of where PostgreSQL has too few of them", async () => {
      const [warning] = await check(database.url, { poolSize: 10_000 });
      assert.match(
        warning ?? "",
        /has \d+ connections for \w+, and this server uses up to 10001\. Raise max_connections/,
      );
    });
  });

  describe("PgBouncer", { skip: WITHOUT_PGBOUNCER }, () => {
    before(() => setDatabase(PLANNED));

    const pool = async (t: TestContext, settings?: Readonly<Record<string, string>>): Promise<PgBouncer> => {
      const pooler = await startPgBouncer(database.url, settings);
      t.after(() => pooler.stop());
      return pooler;
    };

    test("that refuses start-up options is named, and what to set", async (t) => {
      const pooler = await pool(t);
      await assert.rejects(
        check(pooler.url),
        /unsupported startup parameter.*DATABASE_DIRECT_URL.*KEELSON_STATEMENT_NAMES=off/,
      );
    });

    test("that ignores them is found out", async (t) => {
      const pooler = await pool(t, { ignore_startup_parameters: "options" });
      await assert.rejects(check(pooler.url), /drops our start-up options/);
    });

    test("that does not keep prepared statements is found out, and works without names", async (t) => {
      const pooler = await pool(t, {
        default_pool_size: "4",
        ...FORGETS,
      });
      const directUrl = database.url;
      await assert.rejects(check(pooler.url, { directUrl }), /does not keep prepared statements/);
      assert.deepEqual(await check(pooler.url, { directUrl, statementNames: false }), []);
      const server = await startApiServer({
        database: { url: pooler.url, drop: () => Promise.resolve() },
        config: { databaseDirectUrl: directUrl, databaseStatementNames: false },
      });
      assert.equal((await server.call("POST", "/v1/tokens", { body: {} })).status, 201);
      await server.stop();
    });
  });
});
