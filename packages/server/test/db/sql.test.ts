import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createDatabase, type Database } from "../../src/db/pool.ts";
import { joinSql, quoteIdentifier, rawSql, sql, type Sql } from "../../src/db/sql.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { newSeed, seededRandom } from "../support/seeded-random.ts";

describe("the sql tag", () => {
  test("makes every value a parameter and never text", () => {
    const { text, values } = sql`SELECT ${"'; DROP TABLE x; --"}, ${2}`;
    assert.equal(text, "SELECT $1, $2");
    assert.deepEqual(values, ["'; DROP TABLE x; --", 2]);
  });

  test("writes fragments in and renumbers their parameters, at any depth", () => {
    const inner = sql`b = ${2} OR c = ${3}`;
    const outer = sql`(${inner}) AND d = ${4}`;
    const { text, values } = sql`SELECT 1 WHERE a = ${1} AND ${outer} AND e = ${5}`;
    assert.equal(text, "SELECT 1 WHERE a = $1 AND (b = $2 OR c = $3) AND d = $4 AND e = $5");
    assert.deepEqual(values, [1, 2, 3, 4, 5]);
  });

  test("tells a fragment from a value at the same place of the code", () => {
    const make = (value: unknown) => sql`SELECT ${value}`;
    assert.equal(make(1).text, "SELECT $1");
    assert.equal(make(rawSql("now()")).text, "SELECT now()");
    assert.equal(make(2).text, "SELECT $1");
    assert.notEqual(make(1).name, make(rawSql("now()")).name);
  });

  test("composes what it has composed before, with whatever stands where", () => {
    const random = seededRandom(newSeed());
    const below = (count: number): number => Math.floor(random() * count);
    /** What stands at a place, and what becomes of it: `?` for each parameter. */
    type Part = { part: unknown; text: string; values: unknown[] };
    const parameter = (): Part => {
      const value = below(1_000);
      return { part: value, text: "?", values: [value] };
    };
    const either = (one: Part, other: Part): Part => ({
      part: sql`(${one.part} OR ${other.part})`,
      text: `(${one.text} OR ${other.text})`,
      values: [...one.values, ...other.values],
    });
    const all = (parts: Part[]): Part => ({
      part: joinSql(
        parts.map(({ part }) => part as Sql),
        ", ",
      ),
      text: parts.map(({ text }) => text).join(", "),
      values: parts.flatMap(({ values }) => values),
    });
    const fragment = (depth: number): Part => {
      const kind = depth === 0 ? 0 : below(4);
      if (kind === 0) return { part: rawSql("true"), text: "true", values: [] };
      if (kind === 1) return all(Array.from({ length: below(4) }, () => fragment(depth - 1)));
      const place = (): Part => (below(2) === 0 ? parameter() : fragment(depth - 1));
      return either(place(), place());
    };
    for (let count = 0; count < 2_000; count += 1) {
      const { part, text, values } = fragment(4);
      let parameters = 0;
      const statement = part as Sql;
      assert.equal(
        statement.text,
        text.replaceAll("?", () => `$${(parameters += 1)}`),
      );
      assert.deepEqual(statement.values, values);
    }
  });

  test("joins fragments, and an empty list gives an empty fragment", () => {
    const joined = joinSql([sql`a = ${1}`, sql`b IN (${2}, ${3})`], " AND ");
    assert.equal(joined.text, "a = $1 AND b IN ($2, $3)");
    assert.deepEqual(joined.values, [1, 2, 3]);
    assert.equal(joinSql([], " AND ").text, "");
  });

  test("names a statement by its text alone, within the 63 bytes of PostgreSQL", () => {
    const first = sql`SELECT ${1} AS one`;
    const second = sql`SELECT ${2} AS one`;
    assert.equal(first.name, second.name);
    assert.notEqual(first.name, sql`SELECT ${1} AS two`.name);
    assert.ok(first.name.length <= 63);
  });

  test("quotes identifiers", () => {
    assert.equal(quoteIdentifier('a"b'), '"a""b"');
  });
});

describe("values of rows", () => {
  let testDatabase: TestDatabase;
  let database: Database;
  before(async () => {
    testDatabase = await createTestDatabase({ migrated: false });
    database = createDatabase({ url: testDatabase.url, poolSize: 2, statementNames: true });
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
  });

  test("counts and int8 are numbers, and one that is too large is an error", async () => {
    assert.deepEqual(
      await database.query(
        sql`SELECT count(*), ARRAY[1, NULL, 3]::int8[] AS list FROM (VALUES (1), (2)) AS t`,
      ),
      [{ count: 2, list: [1, null, 3] }],
    );
    await assert.rejects(database.query(sql`SELECT 9007199254740993::int8`), /9007199254740993/);
    assert.deepEqual(await database.query(sql`SELECT 1::int8 AS one`), [{ one: 1 }]);
  });

  test("times are whole milliseconds since 1970, whatever the time zone of the session", async () => {
    const statement = sql`SELECT '2026-11-21 09:30:00.123999+05:30'::timestamptz AS at, 'infinity'::timestamptz AS never,
      ARRAY['1969-12-31 23:59:59.999+00'::timestamptz] AS list`;
    const expected = [{ at: Date.parse("2026-11-21T04:00:00.123Z"), never: Infinity, list: [-1] }];
    for (const zone of ["UTC", "America/St_Johns", "Asia/Kathmandu"]) {
      const rows = await database.transaction(async (tx) => {
        await tx.query(sql`SELECT set_config('timezone', ${zone}, true)`);
        return tx.query(statement);
      });
      assert.deepEqual(rows, expected, zone);
    }
  });

  test("columns are camelCase in rows, through a transaction too; other names stay as they are", async () => {
    const statement = sql`SELECT 1 AS environment_id, 2 AS "leaseId", 3 AS sha256_of_it, 4 AS _own, 5 AS at`;
    const expected = [{ environmentId: 1, leaseId: 2, sha256OfIt: 3, _own: 4, at: 5 }];
    assert.deepEqual(await database.query(statement), expected);
    assert.deepEqual(await database.transaction((tx) => tx.query(statement)), expected);
    // Again, now that the statement is prepared.
    assert.deepEqual(await database.query(statement), expected);
  });

  test("JSON comes back as the text that was stored", async () => {
    const text = '{"b": 1.0,  "a": 12345678901234567890}';
    assert.deepEqual(await database.query(sql`SELECT ${text}::json AS document`), [{ document: text }]);
  });

  test("a statement without a name gives the same rows", async () => {
    const unnamed = createDatabase({ url: testDatabase.url, poolSize: 1, statementNames: false });
    try {
      assert.deepEqual(await unnamed.query(sql`SELECT ${7}::int AS seven`), [{ seven: 7 }]);
      assert.deepEqual(await unnamed.query(sql`SELECT count(*) FROM pg_prepared_statements`), [{ count: 0 }]);
    } finally {
      await unnamed.close();
    }
  });
});
