// What PostgreSQL rolls back because of other transactions is done again, and no caller is told that we failed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rawSql, sql } from "../../src/db/sql.ts";
import { startApiServer, type Answer, type ApiServer } from "../support/api-server.ts";

let server: ApiServer;
before(async () => {
  server = await startApiServer();
  await server.db.query(sql`CREATE SEQUENCE conflicts`);
  await server.db.query(sql`
    CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('conflicts') <= TG_ARGV[0]::bigint THEN RAISE SQLSTATE '40001'; END IF;
      RETURN NEW;
    END $$`);
});
after(() => server.stop());

/** Creates a token, whose first so many tries meet a conflict. */
async function create(conflicts: number): Promise<Answer> {
  await server.db.query(sql`ALTER SEQUENCE conflicts RESTART`);
  await server.db.query(
    rawSql(`CREATE OR REPLACE TRIGGER conflict BEFORE INSERT ON tokens
      FOR EACH ROW EXECUTE FUNCTION conflict(${conflicts})`),
  );
  return server.call("POST", "/v1/tokens", { body: {} });
}

test("a write that meets conflicts is done once; one that meets them again and again is 503", async () => {
  assert.equal((await create(3)).status, 201);
  const refused = await create(1_000);
  assert.deepEqual([refused.status, refused.body.error.code], [503, "unavailable"]);
  assert.equal(refused.headers.get("retry-after"), "1");
  const { body } = await server.call("GET", "/v1/tokens");
  assert.equal(body.tokens.length, 1);
});
