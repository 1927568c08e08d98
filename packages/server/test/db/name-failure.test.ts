// What a person reads when a PostgreSQL cannot be used names the setting, and says what to do.

import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { migrate } from "../../src/db/migrate.ts";
import { nameFailure } from "../../src/db/name-failure.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const told = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => null,
    (reason: Error) => reason,
  );
  assert.ok(error, "it was not refused");
  assert.ok(!error.message.includes("\n") && !error.message.includes("secret"), error.message);
  return error.message;
};

/** What answers each connection as it likes. */
async function listen(answer: (socket: Socket) => void): Promise<{ url: string; close(): void }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    answer(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://keelson:secret@127.0.0.1:${port}/keelson`, close: () => server.close() };
}

const PLACE = /^Cannot use the PostgreSQL at 127\.0\.0\.1:\d+ \(DATABASE_URL\): /;

describe("a start is refused in one line", () => {
  test("where nothing listens", async () => {
    const message = await told(migrate("postgres://keelson:secret@127.0.0.1:1/keelson"));
    assert.match(message, PLACE);
    assert.match(message, /nothing listens there\. Start PostgreSQL/);
  });

  test("where something else listens", async () => {
    const other = await listen((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const message = await told(migrate(other.url));
    other.close();
    assert.match(message, PLACE);
    assert.match(message, /does not speak as PostgreSQL/);
  });

  test("where PostgreSQL does not encrypt", async () => {
    // As PostgreSQL answers the question.
    const plain = await listen((socket) => socket.once("data", () => socket.write("N")));
    const message = await told(migrate(`${plain.url}?sslmode=require`));
    plain.close();
    assert.match(message, /does not offer TLS.*sslmode=disable/);
  });

  test("where a pooler refuses start-up options", () => {
    const refused = new pg.DatabaseError("unsupported startup parameter: options", 10, "error");
    refused.code = "08P01";
    const named = nameFailure(refused, "postgres://a:secret@pooler.example:6432/k") as Error;
    assert.equal(
      named.message,
      "Cannot use the PostgreSQL at pooler.example:6432 (DATABASE_URL): unsupported startup parameter: options: a connection pooler refuses our start-up options. Set DATABASE_DIRECT_URL to PostgreSQL itself, and KEELSON_STATEMENT_NAMES=off unless the pooler keeps prepared statements.",
    );
  });

  for (const [code, remedy] of [
    ["ENOTFOUND", /nobody knows that host/],
    ["SELF_SIGNED_CERT_IN_CHAIN", /sslrootcert=.*sslmode=require/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", /certificate is for another host/],
    ["28P01", /refuses the password.*percent-encoded/],
    ["53300", /max_connections.*KEELSON_POOL_SIZE/],
  ] as const)
    test(`for ${code}`, () => {
      const named = nameFailure(
        Object.assign(new Error("as it was"), { code }),
        "postgres://a@db/k",
      ) as Error;
      assert.match(named.message, remedy);
      assert.equal((named.cause as Error).message, "as it was");
    });

  test("an error that is no failure to use it is as it was", () => {
    const error = new Error("The migration 0001 was edited");
    assert.equal(nameFailure(error, "postgres://a@db/k"), error);
  });
});

describe("a role that lacks rights", () => {
  let database: TestDatabase;
  let admin: pg.Client;
  const role = `keelson_test_${process.pid}`;
  before(async () => {
    database = await createTestDatabase({ migrated: false });
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
    await admin.query(`CREATE ROLE ${role} LOGIN`);
  });
  after(async () => {
    await admin.query(`DROP ROLE ${role}`);
    await admin.end();
    await database.drop();
  });
  const asRole = (): string => {
    const url = new URL(database.url.replace("postgresql:", "http:").replace("@/", "@socket/"));
    url.username = role;
    return url.href.replace("http:", "postgresql:").replace("@socket/", "@/");
  };

  test("to make tables is told which rights to give it", async () => {
    assert.match(
      await told(migrate(asRole())),
      /^Cannot use the PostgreSQL in .*permission denied for schema public: .*GRANT USAGE, CREATE ON SCHEMA/,
    );
  });

  test("whose search path leads nowhere is told to make a schema", async () => {
    await admin.query(`ALTER ROLE ${role} SET search_path = nowhere`);
    assert.match(await told(migrate(asRole())), /no schema has been selected.*CREATE SCHEMA keelson/);
  });

  test("for a database that is not there is told to make it", async () => {
    const absent = asRole().replace(/\/[^/?]+\?/, "/absent?");
    assert.match(await told(migrate(absent)), /"absent" does not exist: .*CREATE DATABASE/);
  });
});
